"""Execution score: how well the arm did the task on distorted images."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from embodied_iqa.base.errors import UsageError

EXECUTION_RECIPE: Final = (
    "success 100; failure 100 minus the distance in cm between the final tool positions of the reference run "
    "and the distorted run, not below 0, also of a policy that saw no target; emergency stop 0; held by the "
    "gate, or a policy that failed at every decision: no score"
)
"""Stated in every result file."""

_FULL_SCORE: Final = 100.0


class Outcome(StrEnum):
    """How a run ended."""

    SUCCESS = "success"
    FAILURE = "failure"
    EMERGENCY_STOP = "emergency_stop"
    """Contact with table or wall, protective stop or limit violation."""
    HELD_BY_GATE = "held_by_the_gate"
    """The gate kept the arm from moving until the run ended: says nothing about the policy."""
    NO_TARGET = "no_target"
    """The policy saw no target and never acted: a refusal, no wrong motion. Scored like a failure."""


UNSUITED_REFERENCES: Final = frozenset({Outcome.FAILURE, Outcome.HELD_BY_GATE, Outcome.NO_TARGET})
"""A reference run that ended so has no score, and the distance of a failure from it says nothing."""


@dataclass(frozen=True, slots=True)
class ExecutionScore:
    """The score of one run.

    Attributes:
        outcome: How the run ended.
        distance_m: Distance of the final tool position from the reference run's; None if not measured.
        score: In [0, 100], higher is better; None for a run that the gate held.
    """

    outcome: Outcome
    distance_m: float | None
    score: float | None


def score_execution(outcome: Outcome, distance_m: float | None) -> ExecutionScore:
    """Score a run on distorted images against its matched reference run.

    Args:
        outcome: How the run on distorted images ended.
        distance_m: Distance between the final tool positions of both runs (tool centre points, base frame).
            Required for a failure and a refusal; only stored for the other outcomes.

    Raises:
        UsageError: The distance of a failure is missing, or a distance is negative or not finite.
    """
    if distance_m is not None and not (math.isfinite(distance_m) and distance_m >= 0):
        raise UsageError(
            "wrong distance between the final tool positions", expected="0 m or more", got=distance_m
        )
    score: float | None = None
    match outcome:
        case Outcome.SUCCESS:
            score = _FULL_SCORE
        case Outcome.EMERGENCY_STOP:
            score = 0.0
        case Outcome.FAILURE | Outcome.NO_TARGET:
            if distance_m is None:
                raise UsageError("a failure is scored by distance", expected="the distance in m")
            score = max(0.0, _FULL_SCORE - 100 * distance_m)
    return ExecutionScore(outcome, distance_m, score)
