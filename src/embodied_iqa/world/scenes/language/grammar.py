"""Grammar of tasks in natural language: steps, and the descriptions of their objects.

Independent of the templates in `wording`::

    task    = [courtesy] step ["," | "and"] ["then" | "after that"] step [courtesy]
            | "before you" step "," step
    step    = verb object [preposition object] | preposition object "," verb object
    object  = "it" | "the" [extreme] [size] [pattern] [colour] noun ["marked" character] [clause]
    clause  = ["that is" | "which is"] (side "the" colour noun | "between" ... "and" ... | "not" ... | ...)
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NoReturn, TypeVar

from embodied_iqa.base.errors import UsageError
from embodied_iqa.world.scenes.scene_graph import Extreme, Head, Side
from embodied_iqa.world.tasks.instruction import MARKED, Thing
from embodied_iqa.world.tasks.vocabulary import (
    CHARACTERS,
    COLOUR_WORDS,
    KIND_WORDS,
    PATTERN_WORDS,
    REVERSING_WORDS,
    SIZE_WORDS,
    VERB_WORDS,
    Category,
    Colour,
    Kind,
    Mark,
)

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Described:
    """Description of an object in a sentence.

    Attributes:
        head: Its noun.
        extreme: Property in which it differs from the other objects that the noun applies to.
        side: Its side of the only anchor.
        nearest: Whether it is the nearest to the only anchor.
        between: Whether it is between the two anchors.
        anchors: Other objects, by colour and kind.
        not_colours: Excluded colours.
        not_kinds: Excluded kinds.
    """

    head: Head
    extreme: Extreme | None = None
    side: Side | None = None
    nearest: bool = False
    between: bool = False
    anchors: tuple[Thing, ...] = ()
    not_colours: tuple[Colour, ...] = ()
    not_kinds: tuple[Kind, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """One parsed step of a sentence.

    Attributes:
        verb: The word.
        object: The first object after the verb; None for "it".
        other: The object after a preposition.
        reverses: The preposition makes ``other`` the handled object: "cover the pot with the lid".
    """

    verb: str
    object: Described | None
    other: Described | None = None
    reverses: bool = False


_TOKEN: Final = re.compile(r"[a-z]+|[0-9]+|,")
_COURTESIES: Final = frozenset({"please", "could", "can", "would", "you", "robot", "now", "first", ","})
_PARTICLES: Final = frozenset({"up", "away", "down", "out", "over", "off"})
_ANYTHING: Final = frozenset({"object", "thing", "item"})
_PREPOSITIONS: Final = frozenset({"in", "into", "inside", "on", "onto", "to", "with", "from"})
_SIDES: Final[dict[tuple[str, ...], Side]] = {
    ("left", "of"): Side.LEFT,
    ("to", "the", "left", "of"): Side.LEFT,
    ("right", "of"): Side.RIGHT,
    ("to", "the", "right", "of"): Side.RIGHT,
    ("in", "front", "of"): Side.FRONT,
    ("behind",): Side.BEHIND,
}
_BEFORE_NOUN: Final[dict[str, Extreme]] = {
    "leftmost": Extreme.LEFTMOST,
    "rightmost": Extreme.RIGHTMOST,
    "tallest": Extreme.TALLEST,
    "flattest": Extreme.FLATTEST,
    "widest": Extreme.WIDEST,
    "broadest": Extreme.WIDEST,
    "slimmest": Extreme.SLIMMEST,
    "narrowest": Extreme.SLIMMEST,
}
_AFTER_NOUN: Final[dict[tuple[str, ...], Extreme]] = {
    (far, "to", "the", side): extreme
    for far in ("furthest", "farthest")
    for side, extreme in (("left", Extreme.LEFTMOST), ("right", Extreme.RIGHTMOST))
} | {
    ("nearest", "to", "you"): Extreme.NEAREST,
    ("closest", "to", "you"): Extreme.NEAREST,
    ("farthest", "from", "you"): Extreme.FARTHEST,
    ("furthest", "from", "you"): Extreme.FARTHEST,
    ("farthest", "away", "from", "you"): Extreme.FARTHEST,
    ("furthest", "away", "from", "you"): Extreme.FARTHEST,
}
_CATEGORIES: Final[dict[tuple[str, ...], Category]] = {
    ("toy",): Category.TOY,
    ("kitchen", "item"): Category.DISH,
    ("machine", "part"): Category.PART,
    ("control",): Category.CONTROL,
}


def parse_task(text: str) -> tuple[Step, ...]:
    """Parse a task of one or two steps.

    Raises:
        UsageError: The sentence does not match the grammar.
    """
    return _Parser(text).task()


@dataclass(slots=True)
class _Parser:
    """Recursive-descent parser."""

    text: str
    at: int = 0
    words: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.words = _TOKEN.findall(self.text.lower())

    def task(self) -> tuple[Step, ...]:
        self._skip(_COURTESIES)
        if self._take("before", "you"):
            later = self._step()
            self._expect(",")
            steps = [self._step(), later]
        else:
            steps = [self._step()]
            if self._joins():
                steps.append(self._step())
        self._skip(_COURTESIES)
        if self.at < len(self.words):
            self._refuse("the end of the task")
        return tuple(steps)

    def _joins(self) -> bool:
        """Consume the words between two steps; a single comma, as before "please", does not join."""
        start = self.at
        self._take(",")
        joined = self._take("and", "after", "that") or self._take("and", "then")
        if joined or self._take("then") or self._take("and"):
            return True
        self.at = start
        return False

    def _step(self) -> Step:
        other, preposition = None, self._word()
        if preposition in _PREPOSITIONS:
            self.at += 1
            other = self._object()
            self._expect(",")
        verb = self._word()
        if verb not in VERB_WORDS:
            self._refuse("a verb", VERB_WORDS)
        self.at += 1
        self._skip(_PARTICLES)
        found = None if self._take("it") else self._object()
        self._skip(_PARTICLES)
        if other is None and self._word() in _PREPOSITIONS:
            preposition = self._word()
            if not self._take("on", "top", "of"):
                self.at += 1
            other = self._object()
        return Step(verb, found, other, other is not None and preposition in REVERSING_WORDS)

    def _object(self) -> Described:
        self._expect("the")
        extreme = _BEFORE_NOUN.get(self._word())
        self.at += extreme is not None
        size, pattern = self._one_of(SIZE_WORDS), self._one_of(PATTERN_WORDS)
        colour = self._one_of(COLOUR_WORDS)
        kind, category = self._noun()
        noun = Described(Head(colour, kind, category, pattern or self._character(), size), extreme)
        return noun if extreme is not None else self._clause(noun)

    def _one_of(self, words: Mapping[str, _T]) -> _T | None:
        """Parse an optional word with a meaning."""
        meaning = words.get(self._word())
        self.at += meaning is not None
        return meaning

    def _character(self) -> Mark | None:
        """Parse "marked" and a character after a noun."""
        if not self._take(MARKED):
            return None
        mark = CHARACTERS.get(self._word())
        if mark is None:
            self._refuse("a character", CHARACTERS)
        self.at += 1
        return mark

    def _noun(self) -> tuple[Kind | None, Category | None]:
        category = self._take_phrase(_CATEGORIES)
        if category is not None:
            return None, category
        word = self._word()
        if word not in KIND_WORDS and word not in _ANYTHING:
            self._refuse("a kind of object", KIND_WORDS)
        self.at += 1
        return KIND_WORDS.get(word), None

    def _clause(self, noun: Described) -> Described:
        """Parse the clause after a noun."""
        linked = self._take("that", "is") or self._take("which", "is")
        extreme = self._take_phrase(_AFTER_NOUN)
        if extreme is not None:
            return replace(noun, extreme=extreme)
        side = self._take_phrase(_SIDES)
        if side is not None:
            return replace(noun, side=side, anchors=(self._thing(),))
        if self._take("nearest", "to") or self._take("closest", "to"):
            return replace(noun, nearest=True, anchors=(self._thing(),))
        if self._take("between"):
            first = self._thing()
            self._expect("and")
            return replace(noun, between=True, anchors=(first, self._thing()))
        if self._take("not"):
            return self._without(noun, "")
        if self._take("neither"):
            return self._without(noun, "nor")
        if linked:
            self._refuse("a clause that identifies the object")
        return noun

    def _without(self, noun: Described, link: str) -> Described:
        colours: list[Colour] = []
        kinds: list[Kind] = []
        while True:
            word = self._word()
            if word in {"a", "an"}:
                self.at += 1
                kind, _ = self._noun()
                kinds += [] if kind is None else [kind]
            elif word in COLOUR_WORDS:
                self.at += 1
                colours.append(COLOUR_WORDS[word])
            else:
                self._refuse("a colour or a kind with its article", COLOUR_WORDS)
            if not link or not self._take(link):
                return replace(noun, not_colours=tuple(colours), not_kinds=tuple(kinds))

    def _thing(self) -> Thing:
        self._expect("the")
        size, pattern = self._one_of(SIZE_WORDS), self._one_of(PATTERN_WORDS)
        colour = self._one_of(COLOUR_WORDS)
        if colour is None:
            self._refuse("a colour", COLOUR_WORDS)
        kind, _ = self._noun()
        if kind is None:
            self._refuse("a kind of object", KIND_WORDS)
        return Thing(colour, kind, pattern or self._character(), size)

    def _word(self) -> str:
        return self.words[self.at] if self.at < len(self.words) else ""

    def _take(self, *words: str) -> bool:
        """Consume these words if they come next."""
        if tuple(self.words[self.at : self.at + len(words)]) != words:
            return False
        self.at += len(words)
        return True

    def _take_phrase(self, phrases: Mapping[tuple[str, ...], _T]) -> _T | None:
        return next((meaning for words, meaning in phrases.items() if self._take(*words)), None)

    def _expect(self, word: str) -> None:
        if not self._take(word):
            self._refuse(repr(word))

    def _skip(self, words: Collection[str]) -> None:
        while self._word() in words:
            self.at += 1

    def _refuse(self, expected: str, available: Iterable[str] | None = None) -> NoReturn:
        raise UsageError(
            f"cannot read the task {self.text!r}",
            expected=expected,
            got=self._word() or "the end",
            available=available,
        )
