"""The language of tasks: a verb, a colour and a kind of object."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from embodied_iqa.errors import UsageError

__all__ = ["Colour", "Instruction", "Kind", "Verb", "parse_instruction"]


class Verb(StrEnum):
    """What the robot is to do."""

    PICK = "pick"
    PUSH = "push"
    PRESS = "press"


class Colour(StrEnum):
    """The six colours of objects."""

    RED = "red"
    ORANGE = "orange"
    YELLOW = "yellow"
    GREEN = "green"
    BLUE = "blue"
    PURPLE = "purple"


class Kind(StrEnum):
    """The kinds of objects."""

    CUBE = "cube"
    CYLINDER = "cylinder"
    BALL = "ball"
    BOWL = "bowl"
    BUTTON = "button"


KINDS_OF_VERB: dict[Verb, tuple[Kind, ...]] = {
    Verb.PICK: (Kind.CUBE, Kind.CYLINDER, Kind.BALL),
    Verb.PUSH: (Kind.CUBE, Kind.CYLINDER, Kind.BALL, Kind.BOWL),
    Verb.PRESS: (Kind.BUTTON,),
}
"""Which kinds afford which verb."""

_WordT = TypeVar("_WordT", bound=StrEnum)
_PATTERN = re.compile(r"\s*(\w+)\s+(?:the\s+)?(\w+)\s+(\w+)\s*[.!]?\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Instruction:
    """A task in words, understood: "pick the red cube"."""

    verb: Verb
    colour: Colour
    kind: Kind

    def __str__(self) -> str:
        return f"{self.verb} the {self.colour} {self.kind}"


def parse_instruction(text: str) -> Instruction:
    """Understand a task such as "pick the red cube" (letters of any case, "the" may be missing).

    Raises:
        UsageError: A word is unknown, or the kind does not afford the verb.
    """
    match = _PATTERN.fullmatch(text)
    if match is None:
        raise UsageError(
            "a task is a verb, a colour and a kind", expected='such as "pick the red cube"', got=text
        )
    verb_word, colour_word, kind_word = (word.lower() for word in match.groups())
    verb = _parse_word("verb", verb_word, Verb)
    colour = _parse_word("colour", colour_word, Colour)
    kind = _parse_word("kind of object", kind_word, Kind)
    if kind not in KINDS_OF_VERB[verb]:
        raise UsageError(f"a {kind} cannot be used with {verb}", available=KINDS_OF_VERB[verb])
    return Instruction(verb, colour, kind)


def _parse_word(what: str, word: str, words: type[_WordT]) -> _WordT:
    try:
        return words(word)
    except ValueError:
        raise UsageError(f"unknown {what} in the task", got=word, available=list(words)) from None
