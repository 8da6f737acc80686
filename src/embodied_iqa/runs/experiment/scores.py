"""Execution scores of the runs of an experiment, and their means per distortion."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev

from embodied_iqa.base.errors import InternalError
from embodied_iqa.data.database.run_rows import RunRow, ScoredRow
from embodied_iqa.imaging.distortions import entry
from embodied_iqa.models.scoring.execution_score import UNSUITED_REFERENCES, Outcome, score_execution
from embodied_iqa.runs.experiment.arms import OFF


@dataclass(frozen=True, slots=True)
class MeanRow:
    """The mean execution score of one distortion under one schedule, over subjects, tasks and levels.

    Attributes:
        distortion_id: Two digits; `all` for the mean over all runs.
        distortion_name: Its name.
        distortion_class: Its class.
        arm: The gate.
        schedule: Its level over time; empty for a constant level and for all runs.
        runs: Runs that count.
        left_out: Runs whose reference run failed; their distance is meaningless.
        success_rate: Share of runs that succeeded, 0 to 1.
        emergency_stops: Runs that ended with an emergency stop.
        held_by_gate: Runs in which the gate kept the arm from moving to the end; they have no score.
        no_target: Runs in which the policy saw no target and never acted.
        score: Mean execution score, 0 to 100, higher is better; None if no run counts.
        spread: Standard deviation of the runs' scores.
        by_level: Level to mean score, for the levels in the plan.
    """

    distortion_id: str
    distortion_name: str
    distortion_class: str
    arm: str
    schedule: str
    runs: int
    left_out: int
    success_rate: float | None
    emergency_stops: int
    held_by_gate: int
    no_target: int
    score: float | None
    spread: float | None
    by_level: dict[int, float]


def score_rows(rows: Iterable[RunRow]) -> list[ScoredRow]:
    """Hold every run against the reference run of the same subject, task, scene and arm.

    Returns:
        The runs in a fixed order, whatever the order in which they were made.
    """
    ordered = sorted(rows, key=_order)
    references = {_matched(row): row for row in ordered if row.is_reference}
    return [_scored(row, references) for row in ordered]


def mean_rows(rows: Sequence[ScoredRow]) -> list[MeanRow]:
    """Return for each arm a row for each distortion and schedule, in their order, and one for all runs."""
    distorted = [row for row in rows if not row.run.is_reference]
    arms = list(dict.fromkeys(row.run.arm for row in rows)) or [""]
    return [mean for arm in arms for mean in _arm_rows([row for row in distorted if row.run.arm == arm], arm)]


def _arm_rows(distorted: Sequence[ScoredRow], arm: str) -> list[MeanRow]:
    groups: dict[tuple[str, str], list[ScoredRow]] = {}
    for row in distorted:
        groups.setdefault((row.run.distortion_id, row.run.schedule), []).append(row)
    means = [_mean(groups[key], arm, *key) for key in sorted(groups)]
    return [*means, _mean(distorted, arm, "all", "")]


def _mean(rows: Sequence[ScoredRow], arm: str, number: str, schedule: str) -> MeanRow:
    counted = [row for row in rows if row.reference_outcome == Outcome.SUCCESS]
    scores = [row.execution_score for row in counted if row.execution_score is not None]
    by_level: dict[int, list[float]] = {}
    for row in sorted(counted, key=lambda row: row.run.level):
        if row.execution_score is not None:
            by_level.setdefault(row.run.level, []).append(row.execution_score)
    line = None if number == "all" else entry(number)
    return MeanRow(
        distortion_id=number,
        distortion_name="" if line is None else line.name,
        distortion_class="" if line is None else str(line.distortion_class),
        arm=arm,
        schedule=schedule,
        runs=len(counted),
        left_out=len(rows) - len(counted),
        success_rate=fmean(row.run.outcome == Outcome.SUCCESS for row in counted) if counted else None,
        emergency_stops=sum(row.run.outcome == Outcome.EMERGENCY_STOP for row in counted),
        held_by_gate=sum(row.run.outcome == Outcome.HELD_BY_GATE for row in counted),
        no_target=sum(row.run.outcome == Outcome.NO_TARGET for row in counted),
        score=fmean(scores) if scores else None,
        spread=pstdev(scores) if scores else None,
        by_level={level: fmean(found) for level, found in by_level.items()},
    )


def _scored(row: RunRow, references: dict[tuple[str, str, int, str], RunRow]) -> ScoredRow:
    reference = references.get(_matched(row))
    if reference is None:
        raise InternalError(f"no reference run of {_matched(row)}")
    distance_m = math.dist(_tool_m(row), _tool_m(reference))
    outcome = Outcome(row.outcome)
    if row is reference and outcome in UNSUITED_REFERENCES:
        # its distance to itself would score 100: a failed reference run has no score
        return ScoredRow(row, reference.outcome, 0.0, None)
    score = score_execution(outcome, distance_m).score
    return ScoredRow(row, reference.outcome, 100.0 * distance_m, score)


def _matched(row: RunRow) -> tuple[str, str, int, str]:
    return row.subject, row.task, row.scene_seed, row.arm


def _order(row: RunRow) -> tuple[str, int, str, bool, str, str, int, int, str]:
    what = row.distortion_id, row.level, row.distortion_seed, row.schedule
    return row.subject, row.scene_seed, row.task, row.arm != OFF.name, row.arm, *what


def _tool_m(row: RunRow) -> tuple[float, float, float]:
    return row.tool_x_m, row.tool_y_m, row.tool_z_m
