"""Understands a task in words: a verb, an object and, for some verbs, where it goes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, TypeVar

from embodied_iqa.errors import UsageError
from embodied_iqa.tasks.instruction_words import (
    COLOUR_WORDS,
    IGNORED_WORDS,
    KIND_WORDS,
    REVERSING_WORDS,
    VERB_WORDS,
)
from embodied_iqa.tasks.vocabulary import (
    CATEGORY_OF_KIND,
    DESTINATIONS_OF_VERB,
    KINDS_OF_VERB,
    Category,
    Colour,
    Instruction,
    Kind,
    Thing,
    Verb,
)

__all__ = [
    "CATEGORY_OF_KIND",
    "DESTINATIONS_OF_VERB",
    "KINDS_OF_VERB",
    "Category",
    "Colour",
    "Instruction",
    "Kind",
    "Thing",
    "Verb",
    "parse_instruction",
]

_WordT = TypeVar("_WordT")
_WORD: Final = re.compile(r"[^\s.,;!?]+")
_POLITE: Final = frozenset({"please", "can", "could", "would", "you", "now", "robot"})
_MOST_THINGS: Final = 2


@dataclass(frozen=True, slots=True)
class _Named:
    """A thing, and the word before its article that says how it belongs to the one before."""

    thing: Thing
    reverses: bool


def parse_instruction(text: str) -> Instruction:
    """Understand a task such as "place the red cube in the blue bowl".

    Letters may be of any case, articles may be missing, and common other words are known: "please put the
    violet block into the blue dish" is the same kind of task. Colours are needed.

    Raises:
        UsageError: A word is unknown, something is missing, or the objects do not afford the verb.
    """
    words = [word.lower() for word in _WORD.findall(text)]
    while words and words[0] in _POLITE:
        words = words[1:]
    if not words:
        raise UsageError("a task is a verb and an object", expected='such as "pick the red cube"', got=text)
    meanings = _look_up("verb", words[0], VERB_WORDS)
    named = _things(words[1:], text)
    first, second = named[0].thing, named[1].thing if len(named) == _MOST_THINGS else None
    if second is not None and named[1].reverses:
        first, second = second, first
    return _best(meanings, first, second)


def _things(words: list[str], text: str) -> list[_Named]:
    """Read "the red cube in the blue bowl": one or two colours, each followed by a kind."""
    named: list[_Named] = []
    colour: Colour | None = None
    between: set[str] = set()
    for word in words:
        if colour is not None:
            named.append(_Named(Thing(colour, _look_up("kind of object", word, KIND_WORDS)), _turns(between)))
            colour, between = None, set()
        elif word in IGNORED_WORDS:
            between.add(word)
        elif word in KIND_WORDS:
            raise UsageError("an object of a task needs its colour", expected=f"such as red {word}", got=text)
        else:
            colour = _look_up("colour", word, COLOUR_WORDS)
    if colour is not None or not 1 <= len(named) <= _MOST_THINGS:
        raise UsageError(
            "a task names one or two objects, each by colour and kind",
            expected='such as "place the red cube in the blue bowl"',
            got=text,
        )
    return named


def _turns(between: set[str]) -> bool:
    return bool(between & REVERSING_WORDS)


def _best(meanings: tuple[Verb, ...], thing: Thing, destination: Thing | None) -> Instruction:
    """Return the first meaning of the verb that the objects afford."""
    for verb in meanings:
        destinations = DESTINATIONS_OF_VERB[verb]
        fits = destination.kind in destinations if destination is not None else not destinations
        if fits and thing.kind in KINDS_OF_VERB[verb]:
            return Instruction(verb, thing, destination)
    return Instruction(meanings[0], thing, destination)  # says what does not fit


def _look_up(what: str, word: str, known: dict[str, _WordT]) -> _WordT:
    try:
        return known[word]
    except KeyError:
        raise UsageError(f"unknown {what} in the task", got=word, available=known) from None
