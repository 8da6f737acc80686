"""Error classes by rules: what went wrong first in an episode that failed, from transcript and truth.

The classes and kinds are those of EmbodiedBench's analysis by hand (perception, reasoning, planning); format
errors, a gate that held everything back and wrong listed coordinates are kinds of our own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Final

import numpy as np

from embodied_iqa.suites.cell_manipulation.actions import CLOSED, OPEN, TABLE_Z
from embodied_iqa.suites.cell_manipulation.episodes import CellTask, Goal, Subset
from embodied_iqa.suites.cell_manipulation.planning.transcript import (
    Bins,
    Ending,
    StepRecord,
    Transcript,
    Turn,
)

_AT_OBJECT_BINS: Final = 6.0
"""A grip within this distance of an object is meant for it; objects stand at least this far apart."""
_MISLEADING_BINS: Final = 3.0
"""A listed object is wrong if its true place is further away."""
_EQUAL_STEPS: Final = 4
"""So many equal actions in a row show that feedback is ignored."""
_MOSTLY: Final = 0.5
_LOW_Z: Final = TABLE_Z + 5
"""Highest bin at which an object in the gripper touches the table."""


class ErrorClass(StrEnum):
    """Classes of errors."""

    PERCEPTION = "perception"
    REASONING = "reasoning"
    PLANNING = "planning"
    FORM = "form"
    """Not a class of the paper: the answers are not plans."""
    GATE = "gate"
    """Not a class of the paper: the gate held the images back."""


class ErrorKind(StrEnum):
    """Kinds of errors."""

    HALLUCINATION = "hallucination"
    """It grips where nothing is."""
    WRONG_RECOGNITION = "wrong recognition"
    """It handles another object than the named one."""
    SPATIAL_UNDERSTANDING = "spatial understanding"
    """It handles another object than the one named by its place."""
    COORDINATES = "wrong coordinates"
    """It goes where the object list has an object, and the list is wrong."""
    SPATIAL_REASONING = "spatial reasoning"
    """It takes the right object to the wrong place."""
    REFLECTION = "reflection"
    """It repeats what has failed."""
    TERMINATION = "termination"
    """It ends the episode before the task is done."""
    MISSING_STEP = "missing step"
    """It never grips or never releases."""
    INVALID_ACTION = "invalid action"
    """Its actions are refused."""
    INACCURATE_ACTION = "inaccurate action"
    """It goes to the right object and misses it."""
    FORMAT = "format"
    """Its answers cannot be read."""
    HELD = "held"
    """The gate held the images back."""


CLASS_OF: Final = {
    ErrorKind.HALLUCINATION: ErrorClass.PERCEPTION,
    ErrorKind.WRONG_RECOGNITION: ErrorClass.PERCEPTION,
    ErrorKind.SPATIAL_UNDERSTANDING: ErrorClass.PERCEPTION,
    ErrorKind.COORDINATES: ErrorClass.PERCEPTION,
    ErrorKind.SPATIAL_REASONING: ErrorClass.REASONING,
    ErrorKind.REFLECTION: ErrorClass.REASONING,
    ErrorKind.TERMINATION: ErrorClass.REASONING,
    ErrorKind.MISSING_STEP: ErrorClass.PLANNING,
    ErrorKind.INVALID_ACTION: ErrorClass.PLANNING,
    ErrorKind.INACCURATE_ACTION: ErrorClass.PLANNING,
    ErrorKind.FORMAT: ErrorClass.FORM,
    ErrorKind.HELD: ErrorClass.GATE,
}


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong in an episode.

    Attributes:
        kind: The first error.
        reason: The evidence in words.
    """

    kind: ErrorKind
    reason: str

    @property
    def error_class(self) -> ErrorClass:
        """The class of the kind."""
        return CLASS_OF[self.kind]


@dataclass(frozen=True, slots=True)
class _Moment:
    """A step with the state before it."""

    step: StepRecord
    before: dict[str, Bins]
    listed: tuple[Bins, ...] | None


def failure_of(transcript: Transcript) -> Failure | None:
    """Return the first error of an episode by rules; None for a solved one."""
    if transcript.success:
        return None
    return _of_answers(transcript) or _of_steps(transcript)


def _of_answers(transcript: Transcript) -> Failure | None:
    turns, steps = transcript.turns, transcript.steps
    held, unread = sum(turn.held for turn in turns), sum(bool(turn.error) for turn in turns)
    if held > _MOSTLY * len(turns):
        return Failure(ErrorKind.HELD, f"{held} of {len(turns)} turns held back")
    if unread > _MOSTLY * len(turns):
        return Failure(ErrorKind.FORMAT, f"{unread} of {len(turns)} answers are not plans")
    equal = _equal_in_a_row(steps)
    invalid = [step for step in steps if step.fault]
    if invalid and len(invalid) >= _MOSTLY * len(steps):
        return Failure(ErrorKind.INVALID_ACTION, f"{len(invalid)} of {len(steps)}: {invalid[0].fault}")
    if equal >= _EQUAL_STEPS:
        return Failure(ErrorKind.REFLECTION, f"{equal} equal actions in a row")
    if transcript.ending is Ending.EMPTY_PLAN and not any(step.action.gripper == CLOSED for step in steps):
        return Failure(ErrorKind.TERMINATION, f"empty plan after {len(steps)} steps")
    return None


def _of_steps(transcript: Transcript) -> Failure:
    """Return the first error of what was executed, for the first goal that is not reached."""
    moments = [moment for turn in transcript.turns for moment in _moments(turn)]
    goal = next(
        (goal for goal, missing in zip(transcript.episode.goals, transcript.missing, strict=True) if missing),
        transcript.episode.goals[-1],
    )
    before = ((first.step.action.gripper, second) for first, second in pairwise(moments))
    grips = [now for was, now in before if was == OPEN and now.step.action.gripper == CLOSED]
    if moments and moments[0].step.action.gripper == CLOSED:
        grips.insert(0, moments[0])
    if not grips:
        return Failure(ErrorKind.MISSING_STEP, "the gripper never closes")
    by_place = transcript.episode.subset is Subset.SPATIAL
    wrong = [_grip_failure(grip, goal, by_place=by_place) for grip in grips]
    if all(wrong):
        return next(failure for failure in wrong if failure is not None)
    carried = moments[moments.index(grips[wrong.index(None)]) + 1 :]
    return _after_grip(transcript, carried, goal, by_place=by_place)


def _grip_failure(grip: _Moment, goal: Goal, *, by_place: bool) -> Failure | None:
    """Return what is wrong with a grip; None if the goal's object is held afterwards."""
    place = grip.step.action.numbers[:3]
    name, away = _nearest(place, grip.before)
    off = _distance(place, grip.before[goal.target])
    if name == goal.target and grip.step.holding in {"", goal.target} and off <= 1.5:
        return None
    if name == goal.target and grip.step.holding == goal.target:
        return None
    if grip.listed and _misled(place, grip):
        return Failure(ErrorKind.COORDINATES, f"grips a listed place, {off:.0f} bins from the {goal.target}")
    if away > _AT_OBJECT_BINS:
        return Failure(ErrorKind.HALLUCINATION, f"grips {away:.0f} bins from any object")
    if name != goal.target:
        kind = ErrorKind.SPATIAL_UNDERSTANDING if by_place else ErrorKind.WRONG_RECOGNITION
        return Failure(kind, f"grips the {name}, not the {goal.target}")
    return Failure(ErrorKind.INACCURATE_ACTION, f"grips {off:.0f} bins from the {goal.target}")


def _after_grip(transcript: Transcript, carried: Sequence[_Moment], goal: Goal, *, by_place: bool) -> Failure:
    """Return what went wrong after the right object was gripped."""
    if goal.task is CellTask.WIPE:
        beside = _swept_beside(carried, goal)
        if beside > _AT_OBJECT_BINS:
            return Failure(
                ErrorKind.SPATIAL_REASONING, f"sweeps {beside:.0f} bins from the {goal.destination}"
            )
        return Failure(ErrorKind.INACCURATE_ACTION, "; ".join(filter(None, transcript.missing)))
    release = next((moment for moment in carried if moment.step.action.gripper == OPEN), None)
    if release is None:
        if transcript.ending is Ending.EMPTY_PLAN:
            return Failure(ErrorKind.TERMINATION, "empty plan with the object in the gripper")
        return Failure(ErrorKind.MISSING_STEP, "the gripper never opens again")
    place = release.step.action.numbers[:3]
    others = {name: bins for name, bins in release.before.items() if name != goal.target}
    name, away = _nearest(place, others)
    off = _distance(place, release.before[goal.destination])
    if away > _AT_OBJECT_BINS:
        return Failure(ErrorKind.SPATIAL_REASONING, f"releases {off:.0f} bins from the {goal.destination}")
    if name == goal.destination:
        return Failure(ErrorKind.INACCURATE_ACTION, f"releases {off:.0f} bins from the {goal.destination}")
    kind = ErrorKind.SPATIAL_UNDERSTANDING if by_place else ErrorKind.WRONG_RECOGNITION
    return Failure(kind, f"releases at the {name}, not at the {goal.destination}")


def _swept_beside(carried: Sequence[_Moment], goal: Goal) -> float:
    """Return the distance of an area's middle to the nearest sweep over the table; 0 where there is none."""
    passes = [
        (first.step.action.numbers[:2], second.step.action.numbers[:2])
        for first, second in pairwise(carried)
        if max(first.step.action.z, second.step.action.z) <= _LOW_Z
    ]
    return min((_beside(carried[0].before[goal.destination], *ends) for ends in passes), default=0.0)


def _beside(place: Sequence[int], start: Sequence[int], end: Sequence[int]) -> float:
    """Return the distance of a place from a straight motion, in bins."""
    along_x, along_y = end[0] - start[0], end[1] - start[1]
    length = along_x**2 + along_y**2
    done = (along_x * (place[0] - start[0]) + along_y * (place[1] - start[1])) / length if length else 0.0
    done = min(max(done, 0.0), 1.0)
    return float(np.hypot(place[0] - start[0] - done * along_x, place[1] - start[1] - done * along_y))


def _misled(place: Sequence[int], grip: _Moment) -> bool:
    """Return whether a grip follows a listed place where the table is empty."""
    listed = {str(number): bins for number, bins in enumerate(grip.listed or ())}
    name, away = _nearest(place, listed)
    return away <= _MISLEADING_BINS and _nearest(listed[name], grip.before)[1] > _MISLEADING_BINS


def _moments(turn: Turn) -> list[_Moment]:
    states = [turn.truth, *(step.objects for step in turn.steps)]
    return [_Moment(step, before, turn.listed) for step, before in zip(turn.steps, states, strict=False)]


def _equal_in_a_row(steps: Sequence[StepRecord]) -> int:
    longest = run = 1
    for first, second in pairwise(steps):
        run = run + 1 if first.action == second.action else 1
        longest = max(longest, run)
    return longest if steps else 0


def _nearest(place: Sequence[int], objects: dict[str, Bins]) -> tuple[str, float]:
    """Return the object that is nearest in X and Y, and its distance in bins."""
    return min(
        ((name, _distance(place, bins)) for name, bins in objects.items()),
        key=lambda found: found[1],
        default=("", float("inf")),
    )


def _distance(first: Sequence[int], second: Sequence[int]) -> float:
    return float(((first[0] - second[0]) ** 2 + (first[1] - second[1]) ** 2) ** 0.5)
