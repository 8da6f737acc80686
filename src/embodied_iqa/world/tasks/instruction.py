"""Instructions: a verb, an object and, for some verbs, a destination; parsed from a sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from embodied_iqa.base.errors import UsageError
from embodied_iqa.world.tasks.vocabulary import (
    CATEGORY_OF_KIND,
    CHARACTERS,
    COLOUR_WORDS,
    DESTINATIONS_OF_VERB,
    IGNORED_WORDS,
    KIND_WORDS,
    KINDS_OF_VERB,
    MARKED_KINDS,
    PATTERN_WORDS,
    REVERSING_WORDS,
    SIZE_WORDS,
    SIZED_KINDS,
    VERB_WORDS,
    Category,
    Colour,
    Kind,
    Mark,
    Size,
    Verb,
)

_T = TypeVar("_T")
MARKED: Final = "marked"
"""Word between an object and the character on it."""
_WORD: Final = re.compile(r"[^\s.,;!?]+")
_POLITE: Final = frozenset({"please", "can", "could", "would", "you", "now", "robot"})
_MAX_OBJECTS: Final = 2

_PHRASE: Final = {
    Verb.COVER: "{verb} the {destination} with the {object}",
    Verb.INSERT: "{verb} the {object} in the {destination}",
    Verb.MOVE: "{verb} the {object} to the {destination}",
    Verb.PLACE: "{verb} the {object} in the {destination}",
    Verb.POUR: "{verb} the {object} into the {destination}",
}


@dataclass(frozen=True, slots=True)
class Thing:
    """An object as people name it, such as "red cube", "small striped red cube" or "red cube marked 3".

    Attributes:
        colour: Its colour.
        kind: Its kind.
        mark: Its mark; None in a description that names none.
        size: Small or large; None for an ordinary object, and in a description that names no size.
    """

    colour: Colour
    kind: Kind
    mark: Mark | None = None
    size: Size | None = None

    def __str__(self) -> str:
        return self.named(str(self.kind))

    def named(self, noun: str) -> str:
        """Return the description with another noun, such as "small red block"."""
        return describe(noun, self.colour, self.mark, self.size)

    def fits(self, thing: Thing) -> bool:
        """Return whether this description applies to an object."""
        same = (self.colour, self.kind) == (thing.colour, thing.kind)
        return same and self.mark in {None, thing.mark} and self.size in {None, thing.size}


def shortest_names(things: Sequence[Thing]) -> tuple[Thing, ...]:
    """Return the shortest name of each of several things that fits no other; the full one if none does."""
    return tuple(_shortest(things, index) for index in range(len(things)))


def _shortest(things: Sequence[Thing], index: int) -> Thing:
    full = things[index]
    colour, kind = full.colour, full.kind
    alike = [
        thing
        for other, thing in enumerate(things)
        if other != index and thing.colour is colour and thing.kind is kind
    ]
    if not alike:
        return Thing(colour, kind)
    names = [Thing(colour, kind, mark=full.mark), Thing(colour, kind, size=full.size), full]
    return next((name for name in names if not any(name.fits(other) for other in alike)), full)


def describe(noun: str, colour: Colour | None, mark: Mark | None, size: Size | None) -> str:
    """Return a noun with what is said of it: "small striped red cube", "large cube marked 3"."""
    pattern, character = (None, mark) if mark is not None and mark.is_character else (mark, None)
    words = [*(word for word in (size, pattern, colour) if word is not None), noun]
    words += [] if character is None else [MARKED, character]
    return " ".join(words)


@dataclass(frozen=True, slots=True)
class Instruction:
    """A parsed task, such as "place the red cube in the blue bowl".

    Attributes:
        verb: What to do.
        object: The object that the gripper handles: the lid in "cover the blue pot with the red lid".
        destination: Where it goes, for verbs with a destination; of another colour than the object.

    Raises:
        UsageError: The object or the destination does not afford the verb, or cannot have its mark or size.
    """

    verb: Verb
    object: Thing
    destination: Thing | None = None

    def __post_init__(self) -> None:
        if self.object.kind not in KINDS_OF_VERB[self.verb]:
            raise UsageError(
                f"a {self.object.kind} cannot be used with {self.verb}", available=KINDS_OF_VERB[self.verb]
            )
        for thing in (self.object, self.destination):
            if thing is not None and thing.mark is not None and thing.kind not in MARKED_KINDS:
                raise UsageError(f"a {thing.kind} has no mark", got=str(thing), available=MARKED_KINDS)
            if thing is not None and thing.size is not None and thing.kind not in SIZED_KINDS:
                raise UsageError(f"a {thing.kind} has one size", got=str(thing), available=SIZED_KINDS)
        wanted = DESTINATIONS_OF_VERB[self.verb]
        if self.destination is None:
            if wanted:
                raise UsageError(f"{self.verb} needs a second object", available=wanted)
        elif self.destination.kind not in wanted:
            raise UsageError(
                f"a {self.destination.kind} is not a destination for {self.verb} with a {self.object.kind}",
                available=wanted or ["nothing: the verb takes one object"],
            )
        elif self.destination.colour is self.object.colour:
            raise UsageError("the two objects of a task differ in colour", got=str(self.object.colour))

    @property
    def colour(self) -> Colour:
        """The colour of the handled object."""
        return self.object.colour

    @property
    def kind(self) -> Kind:
        """The kind of the handled object."""
        return self.object.kind

    @property
    def category(self) -> Category:
        """The category of the handled object."""
        return CATEGORY_OF_KIND[self.object.kind]

    def __str__(self) -> str:
        phrase = _PHRASE.get(self.verb, "{verb} the {object}")
        return phrase.format(verb=self.verb, object=self.object, destination=self.destination)


def parse_instruction(text: str) -> Instruction:
    """Parse a task such as "place the red cube in the blue bowl".

    Case does not matter, articles may be missing, and common synonyms are known: "please put the violet block
    into the blue dish" parses to the same kind of task. Colours are required.

    Raises:
        UsageError: A word is unknown, a part is missing, or the objects do not afford the verb.
    """
    words = [word.lower() for word in _WORD.findall(text)]
    while words and words[0] in _POLITE:
        words = words[1:]
    if not words:
        raise UsageError("a task is a verb and an object", expected='such as "pick the red cube"', got=text)
    verbs = _look_up("verb", words[0], VERB_WORDS)
    things, linking_words = _things(words[1:], text)
    if linking_words & REVERSING_WORDS:
        things.reverse()
    return first_possible(verbs, things[0], things[1] if len(things) > 1 else None)


def first_possible(verbs: tuple[Verb, ...], thing: Thing, destination: Thing | None) -> Instruction:
    """Return the instruction with the first of several verbs that the objects afford.

    Raises:
        UsageError: They afford none of them.
    """
    for verb in verbs:
        kinds = DESTINATIONS_OF_VERB[verb]
        fits = destination.kind in kinds if destination is not None else not kinds
        if fits and thing.kind in KINDS_OF_VERB[verb]:
            return Instruction(verb, thing, destination)
    return Instruction(verbs[0], thing, destination)  # raises an error with the reason


def _things(words: list[str], text: str) -> tuple[list[Thing], set[str]]:
    """Parse "the red cube in the blue bowl": the objects, and the words in front of the second one."""
    things: list[Thing] = []
    linking_words: set[str] = set()
    colour: Colour | None = None
    pattern: Mark | None = None
    size: Size | None = None
    rest = iter(words)
    for word in rest:
        if colour is not None:
            things.append(Thing(colour, _look_up("kind of object", word, KIND_WORDS), pattern, size))
            colour = pattern = size = None
        elif word == MARKED and things:
            things[-1] = replace(things[-1], mark=_look_up("mark", next(rest, ""), CHARACTERS))
        elif word in PATTERN_WORDS:
            pattern = PATTERN_WORDS[word]
        elif word in SIZE_WORDS:
            size = SIZE_WORDS[word]
        elif word in IGNORED_WORDS:
            linking_words |= {word} if len(things) == 1 else set()
        elif word in KIND_WORDS:
            raise UsageError("an object of a task needs its colour", expected=f"such as red {word}", got=text)
        else:
            colour = _look_up("colour", word, COLOUR_WORDS)
    if colour is not None or not 1 <= len(things) <= _MAX_OBJECTS:
        raise UsageError(
            "a task names one or two objects, each by colour and kind",
            expected='such as "place the red cube in the blue bowl"',
            got=text,
        )
    return things, linking_words


def _look_up(what: str, word: str, known: dict[str, _T]) -> _T:
    if word not in known:
        raise UsageError(f"unknown {what} in the task", got=word, available=known)
    return known[word]
