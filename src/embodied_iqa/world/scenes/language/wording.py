"""Wording of tasks in varied natural language, from a seed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

import numpy as np

from embodied_iqa.world.scenes.language.referring import Form, Reference, head_of
from embodied_iqa.world.scenes.scene_graph import Extreme, Head, Side
from embodied_iqa.world.tasks.instruction import Instruction, Thing, describe
from embodied_iqa.world.tasks.vocabulary import Category, Colour, Kind, Verb

_T = TypeVar("_T")

_PHRASES: Final[dict[Verb, tuple[str, ...]]] = {
    Verb.COVER: ("cover {d} with {o}", "put {o} on {d}", "close {d} with {o}", "place {o} on top of {d}"),
    Verb.INSERT: ("insert {o} in {d}", "insert {o} into {d}", "plug {o} into {d}", "put {o} into {d}"),
    Verb.MOVE: ("move {o} to {d}", "bring {o} to {d}", "put {o} on {d}", "carry {o} onto {d}"),
    Verb.PICK: ("pick {o}", "pick up {o}", "grasp {o}", "lift {o}", "take {o}", "grab {o}"),
    Verb.PLACE: ("place {o} in {d}", "put {o} into {d}", "drop {o} into {d}", "set {o} in {d}"),
    Verb.POUR: ("pour {o} into {d}", "empty {o} into {d}", "tip {o} into {d}"),
    Verb.PRESS: ("press {o}", "press down {o}", "hit {o}", "push down {o}"),
    Verb.PULL: ("pull {o}", "open {o}", "pull out {o}", "draw {o}"),
    Verb.PUSH: ("push {o}", "push away {o}", "shove {o}", "slide away {o}"),
    Verb.TWIST: ("twist {o}", "turn {o}", "rotate {o}"),
}
_FRONTED: Final[dict[Verb, tuple[str, ...]]] = {
    Verb.INSERT: ("into {d}, insert {o}",),
    Verb.MOVE: ("onto {d}, move {o}",),
    Verb.PLACE: ("into {d}, put {o}", "in {d}, place {o}"),
    Verb.POUR: ("into {d}, pour {o}",),
}
"""The destination first: `parse_instruction` does not support this order."""

_KIND_WORDS: Final[dict[Kind, str]] = {
    Kind.BALL: "sphere",
    Kind.BOWL: "dish",
    Kind.BUTTON: "switch",
    Kind.CUP: "mug",
    Kind.LID: "cap",
    Kind.POT: "pan",
    Kind.PEG: "pin",
    Kind.MAT: "pad",
    Kind.KNOB: "dial",
}
"""Synonyms that are unambiguous beside the other kinds; a can might be a toy or a vessel."""

_CATEGORY_WORDS: Final[dict[Category, str]] = {
    Category.TOY: "toy",
    Category.DISH: "kitchen item",
    Category.PART: "machine part",
    Category.CONTROL: "control",
}
_EXTREME_WORDS: Final[dict[Extreme, tuple[str, ...]]] = {
    Extreme.LEFTMOST: ("the leftmost {n}", "the {n} furthest to the left"),
    Extreme.RIGHTMOST: ("the rightmost {n}", "the {n} furthest to the right"),
    Extreme.NEAREST: ("the {n} nearest to you", "the {n} closest to you"),
    Extreme.FARTHEST: ("the {n} farthest from you", "the {n} furthest away from you"),
    Extreme.TALLEST: ("the tallest {n}",),
    Extreme.FLATTEST: ("the flattest {n}",),
    Extreme.WIDEST: ("the widest {n}", "the broadest {n}"),
    Extreme.SLIMMEST: ("the slimmest {n}", "the narrowest {n}"),
}
_SIDE_WORDS: Final[dict[Side, tuple[str, ...]]] = {
    Side.LEFT: ("left of", "to the left of"),
    Side.RIGHT: ("right of", "to the right of"),
    Side.FRONT: ("in front of",),
    Side.BEHIND: ("behind",),
}
_POLITE: Final = ("please {t}", "could you {t}?", "robot, {t}", "{t}, please", "now {t}")
_SEQUENCES: Final = (
    "{a}, then {b}",
    "first {a}, then {b}",
    "{a} and then {b}",
    "{a}, and after that {b}",
    "before you {b}, {a}",
)
_POLITE_PART: Final = 0.25
_FRONTED_PART: Final = 0.15
_OTHER_KIND_PART: Final = 0.2


class Wording:
    """Generator of sentences.

    Args:
        rng: Source of the choices.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def single(
        self, verb: Verb, thing: Reference, destination: Reference | None, *, canonical: bool = False
    ) -> str:
        """Return the sentence of one step.

        Args:
            verb: What to do.
            thing: The handled object.
            destination: Where it goes, for verbs with a destination.
            canonical: Use an order that `parse_instruction` supports.
        """
        fronted = not canonical and verb in _FRONTED and self._chance(_FRONTED_PART)
        phrase = self._choice(_FRONTED[verb] if fronted else _PHRASES[verb])
        goal = "" if destination is None else self.reference(destination)
        text = phrase.format(o=self.reference(thing), d=goal)
        return text if fronted else self._politely(text)

    def sequence(self, first: Instruction, second: Instruction) -> str:
        """Return the sentence of two steps, each in plain words."""
        if first.object == second.object:
            return self._politely(f"{self._step(first)} and {self._step(second, it=True)}")
        text = self._choice(_SEQUENCES).format(a=self._step(first), b=self._step(second))
        return text if text.startswith(("before", "first")) else self._politely(text)

    def reference(self, reference: Reference) -> str:
        """Return the description of one object."""
        noun = self._noun(reference.head)
        names = [self._name(thing) for thing in reference.anchors]
        match reference.form:
            case Form.SIZE | Form.POSITION if reference.extreme is not None:
                return self._choice(_EXTREME_WORDS[reference.extreme]).format(n=noun)
            case Form.SIDE if reference.side is not None:
                link = self._choice(("", "that is ", "which is "))
                return f"the {noun} {link}{self._choice(_SIDE_WORDS[reference.side])} {names[0]}"
            case Form.NEAREST:
                return f"the {noun} {self._choice(('nearest to', 'closest to'))} {names[0]}"
            case Form.BETWEEN:
                return f"the {noun} {self._choice(('', 'that is '))}between {names[0]} and {names[1]}"
            case Form.EXCLUSION:
                return f"the {noun} {self._choice(('that is', 'which is'))} {_excluded(reference.excluded)}"
        return f"the {noun}"

    def _step(self, task: Instruction, *, it: bool = False) -> str:
        phrases = _PHRASES[task.verb][:1] if it else _PHRASES[task.verb]
        goal = "" if task.destination is None else self._name(task.destination)
        return self._choice(phrases).format(o="it" if it else self._name(task.object), d=goal)

    def _name(self, thing: Thing) -> str:
        return f"the {self._noun(head_of(thing))}"

    def _noun(self, head: Head) -> str:
        if head.kind is not None:
            other = head.kind in _KIND_WORDS and self._chance(_OTHER_KIND_PART)
            noun = _KIND_WORDS[head.kind] if other else str(head.kind)
        elif head.category is not None:
            noun = _CATEGORY_WORDS[head.category]
        else:
            noun = self._choice(("object", "thing"))
        return describe(noun, head.colour, head.mark, head.size)

    def _politely(self, text: str) -> str:
        return self._choice(_POLITE).format(t=text) if self._chance(_POLITE_PART) else text

    def _chance(self, part: float) -> bool:
        return bool(self._rng.random() < part)

    def _choice(self, options: Sequence[_T]) -> _T:
        return options[int(self._rng.integers(len(options)))]


def _excluded(excluded: Sequence[Colour | Kind]) -> str:
    words = [_with_article(item) if isinstance(item, Kind) else str(item) for item in excluded]
    return f"not {words[0]}" if len(words) == 1 else f"neither {' nor '.join(words)}"


def _with_article(kind: Kind) -> str:
    return f"{'an' if str(kind)[0] in 'aeiou' else 'a'} {kind}"
