"""Arms of the gate compared on matched runs: the same subject, task, scene, distortion, seed and schedule."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.data.analysis.paired import Estimate, mcnemar, mean_of, mean_of_events, median_of
from embodied_iqa.data.analysis.resampling import References
from embodied_iqa.data.database.run_rows import RunRow
from embodied_iqa.models.scoring.execution_score import Outcome
from embodied_iqa.runs.experiment.arms import OFF, ORACLE

Array = NDArray[np.float64]
Situation: TypeAlias = tuple[str, str, int, str, int, int, str]
"""Subject, task, scene, distortion, level, seed and schedule: what the runs of a match have in common."""

ALL: Final = "all"
CLEAN: Final = "clean"


class Measure(StrEnum):
    """What is measured of a run."""

    SUCCESS = "success"
    WRONG_MOTIONS = "wrong_motions"
    EMERGENCY_STOPS = "emergency_stops"
    PEAK_CONTACT = "peak_contact_n"
    TIME_TO_FINISH = "time_to_finish_s"
    TIME_HELD = "time_held_s"
    FALSE_HOLDS = "false_holds"


_EVENTS: Final = {Measure.SUCCESS, Measure.WRONG_MOTIONS, Measure.EMERGENCY_STOPS}


@dataclass(frozen=True, slots=True)
class MeasuredArm:
    """One measure of one arm over a group of matched runs.

    Attributes:
        group: ``all`` distorted runs, the ``clean`` ones, or number and schedule of a distortion.
        arm: The arm.
        measure: What is measured: mean over the runs; the median over successful runs for the time to finish;
            for false holds the mean share of undistorted frames.
        runs: Matched runs.
        scenes: Their scenes.
        estimate: Value of the arm; its interval is never empty for events, also where all runs are alike.
        difference: Arm minus ``off``, paired; None for ``off`` itself and without that arm.
        to_oracle: Arm minus ``oracle``, paired; None likewise.
        p_value: Of McNemar's exact test against ``off``, for success and emergency stops; else None.
    """

    group: str
    arm: str
    measure: Measure
    runs: int
    scenes: int
    estimate: Estimate
    difference: Estimate | None
    to_oracle: Estimate | None
    p_value: float | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """All arms of an experiment.

    Attributes:
        arms: Names, in the order of the plan.
        measured: Every measure of every arm and group.
        left_out: Matches that do not count: the first arm failed on undistorted images.
        unmatched: Situations that an arm has no run of.
    """

    arms: tuple[str, ...]
    measured: tuple[MeasuredArm, ...]
    left_out: int
    unmatched: int

    def of(self, group: str, arm: str, measure: Measure) -> MeasuredArm:
        """Return one entry.

        Raises:
            StopIteration: There is none.
        """
        return next(
            item for item in self.measured if (item.group, item.arm, item.measure) == (group, arm, measure)
        )


@dataclass(frozen=True, slots=True)
class Match:
    """The runs of all arms in one situation, in the order of the arms."""

    situation: Situation
    runs: tuple[RunRow, ...]

    @property
    def group(self) -> str:
        """``clean``, or number and schedule of the distortion."""
        distortion, schedule = self.situation[3], self.situation[6]
        return f"{distortion} {schedule}".strip() or CLEAN


def match_runs(rows: Iterable[RunRow], arms: Sequence[str]) -> tuple[list[Match], int]:
    """Match the runs of arms.

    Returns:
        The matches, and the number of situations that an arm has no run of.
    """
    found: dict[Situation, dict[str, RunRow]] = {}
    for row in rows:
        found.setdefault(_situation(row), {})[row.arm] = row
    whole = {key: runs for key, runs in found.items() if all(arm in runs for arm in arms)}
    matches = [Match(key, tuple(whole[key][arm] for arm in arms)) for key in sorted(whole)]
    return matches, len(found) - len(whole)


def compare_arms(
    rows: Sequence[RunRow], arms: Sequence[str], *, draws: int = 1000, seed: int = 0
) -> Comparison:
    """Compare the arms of an experiment.

    A match counts if the first arm (``off`` where there is one) succeeded on the undistorted images: what a
    policy cannot do says nothing about the gate.

    Args:
        rows: All runs of the experiment.
        arms: Names of the gates; ``off`` is put first.
        draws: Draws of scenes for each interval.
        seed: Of the draws.
    """
    arms = tuple(sorted(arms, key=lambda arm: arm != OFF.name))
    matches, unmatched = match_runs(rows, arms)
    able = {
        match.situation[:3]
        for match in matches
        if match.group == CLEAN and match.runs[0].outcome == Outcome.SUCCESS
    }
    counted = [match for match in matches if match.situation[:3] in able]
    groups: dict[str, list[Match]] = {ALL: [match for match in counted if match.group != CLEAN]}
    for match in counted:
        groups.setdefault(match.group, []).append(match)
    measured = [
        item for group, members in groups.items() for item in _measured(group, members, arms, draws, seed)
    ]
    return Comparison(arms, tuple(measured), len(matches) - len(counted), unmatched)


def _measured(
    group: str, matches: Sequence[Match], arms: Sequence[str], draws: int, seed: int
) -> Iterable[MeasuredArm]:
    ids = np.array([f"{match.situation[2]} {match.situation[1]}" for match in matches], dtype=np.str_)
    scenes = References.drawn(ids, draws=draws, seed=seed)
    for measure in Measure:
        columns = [_values(measure, [match.runs[at] for match in matches]) for at in range(len(arms))]
        baseline = columns[arms.index(OFF.name)] if OFF.name in arms else None
        best = columns[arms.index(ORACLE.name)] if ORACLE.name in arms else None
        for arm, own in zip(arms, columns, strict=True):
            off = None if arm == OFF.name else baseline
            yield MeasuredArm(
                group=group,
                arm=arm,
                measure=measure,
                runs=len(matches),
                scenes=len(set(ids)),
                estimate=_summary(measure, own, scenes),
                difference=_difference(measure, own, off, scenes),
                to_oracle=_difference(measure, own, None if arm == ORACLE.name else best, scenes),
                p_value=None if off is None else _p_value(measure, off, own),
            )


def _values(measure: Measure, runs: Sequence[RunRow]) -> Array:
    """Return ``(N,)``, NaN where a run has no such value."""
    return np.array([np.nan if (value := _value(measure, run)) is None else value for run in runs], float)


def _value(measure: Measure, run: RunRow) -> float | None:
    success = run.outcome == Outcome.SUCCESS
    match measure:
        case Measure.SUCCESS:
            return float(success)
        case Measure.WRONG_MOTIONS:
            return run.wrong_motions
        case Measure.EMERGENCY_STOPS:
            return float(run.outcome == Outcome.EMERGENCY_STOP)
        case Measure.PEAK_CONTACT:
            return run.peak_contact_n
        case Measure.TIME_TO_FINISH:
            return run.duration_s if success else None
        case Measure.TIME_HELD:
            return run.held_s
        case Measure.FALSE_HOLDS:
            return run.false_holds / run.clean_frames if run.clean_frames else None


def _summary(measure: Measure, values: Array, scenes: References, least: float = 0.0) -> Estimate:
    if measure is Measure.TIME_TO_FINISH:
        return median_of(values, scenes)
    return mean_of_events(values, scenes, least) if measure in _EVENTS else mean_of(values, scenes)


def _difference(measure: Measure, own: Array, other: Array | None, scenes: References) -> Estimate | None:
    return None if other is None else _summary(measure, own - other, scenes, least=-1.0)


def _p_value(measure: Measure, first: Array, second: Array) -> float | None:
    if measure not in {Measure.SUCCESS, Measure.EMERGENCY_STOPS}:
        return None
    return mcnemar(first > 0, second > 0)


def _situation(row: RunRow) -> Situation:
    what = row.distortion_id, row.level, row.distortion_seed, row.schedule
    return row.subject, row.task, row.scene_seed, *what
