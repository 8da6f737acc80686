"""Sentences of the benchmark's tasks, from templates and a seed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from embodied_iqa.suites.cell_manipulation.episodes import CellTask, Goal, Subset

_SENTENCES: Final[dict[CellTask, tuple[str, ...]]] = {
    CellTask.PLACE: ("pick up {t} and place it into {d}", "take {t} and put it into {d}"),
    CellTask.STACK: ("stack {d} and {t} in sequence", "stack {t} on top of {d}"),
    CellTask.INSERT: ("put {t} into the opening of {d}", "insert {t} into {d}"),
    CellTask.WIPE: ("wipe {d} with {t}", "use {t} as a sponge to wipe {d}"),
}
"""``{t}`` is the object that is handled, ``{d}`` where it goes. In a sequence the first object is below."""

_BEFORE: Final = (
    "We are getting the bench ready for the visitors of this afternoon",
    "The radio says that it is going to rain until the evening",
    "I have been at work since seven and the coffee machine is broken again",
    "My colleague keeps talking about the football match of last night",
    "This shelf was delivered on Monday together with a long bill",
)
_BESIDE: Final = (
    "{o} belongs to somebody else and stays where it is",
    "Yesterday somebody asked about {o}, but that does not matter now",
    "{o} is only there as a decoration",
)
_SIDES_NOTE: Final = "Directions are as the robot sees them"


def sentence(rng: np.random.Generator, goals: Sequence[Goal], phrases: Sequence[tuple[str, str]]) -> str:
    """Return the sentences that ask for some goals.

    Args:
        rng: Source of the choices.
        goals: One, or two in their order.
        phrases: For each goal, the words for its target and its destination.
    """
    parts = []
    for goal, (target, destination) in zip(goals, phrases, strict=True):
        options = _SENTENCES[goal.task]
        parts.append(options[int(rng.integers(len(options)))].format(t=target, d=destination))
    return f"{_upper(parts[0])}." if len(parts) == 1 else f"First {parts[0]}. Then {parts[1]}."


def dressed(rng: np.random.Generator, subset: Subset, text: str, unnamed: Sequence[str]) -> str:
    """Return a task with the irrelevant sentences of its subset, and the note on directions.

    Args:
        rng: Source of the choices.
        subset: The subset.
        text: The task.
        unnamed: Names of the objects that the task does not name; at least one for complex tasks.
    """
    if subset is Subset.SPATIAL:
        return f"{text} {_SIDES_NOTE}."
    if subset is not Subset.COMPLEX:
        return text
    before = _BEFORE[int(rng.integers(len(_BEFORE)))]
    other = unnamed[int(rng.integers(len(unnamed)))]
    beside = _upper(_BESIDE[int(rng.integers(len(_BESIDE)))].format(o=f"the {other}"))
    return f"{before}. {text} {beside}." if rng.random() < 0.5 else f"{before}. {beside}. {text}"


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]
