"""Advice about the tasks that a person writes: meaning in the scene, spelling, repetition, difficulty.

Advice refuses nothing: a person may have reasons.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from embodied_iqa.base.errors import UsageError
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.world.scenes.language.grammar import parse_task
from embodied_iqa.world.scenes.language.resolver import resolve_plan
from embodied_iqa.world.scenes.scene import Scene
from embodied_iqa.world.tasks.instruction import Instruction
from embodied_iqa.world.tasks.vocabulary import (
    COLOUR_WORDS,
    IGNORED_WORDS,
    KIND_WORDS,
    PATTERN_WORDS,
    SIZE_WORDS,
    VERB_WORDS,
    Verb,
)

_WORD: Final = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_CLOSE: Final = 0.8
_LEAST_CHARACTERS: Final = 4
"""Shorter words are near to too many others."""
_KNOWN: Final = frozenset({
    *COLOUR_WORDS, *IGNORED_WORDS, *KIND_WORDS, *PATTERN_WORDS, *SIZE_WORDS, *VERB_WORDS,
    "above", "and", "before", "behind", "below", "beside", "between", "bottle", "box", "closest", "control",
    "corner", "farthest", "flattest", "front", "furthest", "item", "kitchen", "left", "leftmost", "machine",
    "marked", "middle", "near", "nearest", "next", "object", "part", "plate", "right", "rightmost", "shelf",
    "side", "slimmest", "table", "tallest", "that", "them", "there", "thing", "towel", "toy", "tray", "under",
    "which", "widest",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class TaskAdvice:
    """Advice about one task.

    Attributes:
        verb: Verb of the first step; None if it is none of the ten.
        meaning: Its steps in canonical words; empty where the scene is not known or the sentence is unclear.
        problem: Why the resolver refuses the sentence; empty where it does not, or the scene is not known.
        spelling: Words that resemble a known word: the word and the known one.
        repeats: Earlier tasks of this reference with the same words or the same meaning, by rank.
        other_references: How many others have the same sentence.
    """

    verb: Verb | None
    meaning: str
    problem: str
    spelling: tuple[tuple[str, str], ...]
    repeats: tuple[int, ...]
    other_references: int


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a task is judged against.

    Attributes:
        scene: Of the reference; None where it is not known.
        view: Of the reference.
        used: Normalised sentences of other references, each with the number of references.
        words: Words that other tasks use.
    """

    scene: Scene | None
    view: View
    used: dict[str, int]
    words: Collection[str]


def advise(texts: Sequence[str], around: Surroundings) -> tuple[TaskAdvice, ...]:
    """Return advice about each task of a reference, the easiest first; empty sentences get none."""
    advice: list[TaskAdvice] = []
    for index, text in enumerate(texts):
        steps, problem = _meaning(text, around)
        plan, verb = "; ".join(map(str, steps)), steps[0].verb if steps else verb_of(text)
        same = [
            rank
            for rank, other in enumerate(texts[:index], 1)
            if normalised(other) == normalised(text) or (plan and advice[rank - 1].meaning == plan)
        ]
        others = around.used.get(normalised(text), 0)
        advice.append(TaskAdvice(verb, plan, problem, spelling(text, around.words), (*same,), others))
    return tuple(advice)


def verb_of(text: str) -> Verb | None:
    """Return the verb of a sentence's first step; None if it is none of the ten or has several meanings."""
    try:
        step = parse_task(text)[0]
    except UsageError:
        words = [word.lower() for word in _WORD.findall(text)]
        verbs = next((VERB_WORDS[word] for word in words if word in VERB_WORDS), ())
    else:
        verbs = VERB_WORDS[step.verb]
    return verbs[0] if verbs else None


def spelling(text: str, words: Collection[str]) -> tuple[tuple[str, str], ...]:
    """Return words that nobody else uses and that resemble a known word, with that word."""
    found = []
    for word in dict.fromkeys(item.lower() for item in _WORD.findall(text)):
        if (
            len(word) < _LEAST_CHARACTERS
            or word in _KNOWN
            or word in words
            or word.removesuffix("s") in _KNOWN
        ):
            continue
        near = get_close_matches(word, [*_KNOWN, *words], n=1, cutoff=_CLOSE)
        if near:
            found.append((word, near[0]))
    return tuple(found)


def words_of(text: str) -> list[str]:
    """Return the words of a sentence in lower case."""
    return [word.lower() for word in _WORD.findall(text)]


def normalised(text: str) -> str:
    """Return a sentence without case, punctuation and courtesy: equal sentences are duplicates."""
    return " ".join(word for word in words_of(text) if word not in {"please", "the", "a", "an"})


def _meaning(text: str, around: Surroundings) -> tuple[tuple[Instruction, ...], str]:
    """Return the steps of a sentence, or why the resolver refuses it."""
    if around.scene is None or not text:
        return (), ""
    try:
        return resolve_plan(text, around.scene, view=around.view), ""
    except UsageError as error:
        return (), str(error)
