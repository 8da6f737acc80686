"""Runs with a gate that the arm obeys, beside the same runs without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from embodied_iqa.arm.verdict import GateMode
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.data.recording.trial_record import RunRecord
from embodied_iqa.imaging.distortions import DistortionSpec
from embodied_iqa.models.scoring.execution_score import Outcome
from embodied_iqa.runs.offline.stored_run import ReportedTask
from embodied_iqa.runs.trial.scores import RunScores


@dataclass(frozen=True, slots=True, eq=False)
class GateSide:
    """One run of a pair.

    Attributes:
        record: What happened.
        scores: Of the run.
    """

    record: RunRecord
    scores: RunScores

    @property
    def duration_s(self) -> float:
        """From the first to the last stamp of the run [s]."""
        return (self.record.end_ns - self.record.start_ns) / SECOND_NS


@dataclass(frozen=True, slots=True, eq=False)
class GatePair:
    """The same scene, task, distortion, seed and schedule, without and with the gate.

    Attributes:
        task: The instruction.
        without: The arm moves whatever the gate says.
        guarded: The arm obeys the gate.
    """

    task: str
    without: GateSide
    guarded: GateSide

    @property
    def words(self) -> str:
        """What the gate changed, in one sentence."""
        before, after = (side.record.outcome is Outcome.SUCCESS for side in (self.without, self.guarded))
        held_s = self.guarded.record.held_s
        held = f"held the arm for {held_s:.1f} s" if held_s else "did not hold the arm"
        if before and after:
            return f"The task succeeds with and without the gate, which {held}; the run took {self._later}."
        if after:
            return f"The task fails without the gate and succeeds with it. The gate {held}."
        if before:
            return "The task succeeds only without the gate."
        return "The task fails with and without the gate."

    @property
    def _later(self) -> str:
        later_s = round(self.guarded.duration_s - self.without.duration_s, 1)
        return f"{abs(later_s):.1f} s {'longer' if later_s > 0 else 'less'}" if later_s else "the same time"


def gate_pairs(tasks: Sequence[ReportedTask]) -> tuple[GatePair, ...]:
    """Return every run with a gate that the arm obeys for which the same run without it was recorded."""
    free = {
        _key(task, run): GateSide(run, scores)
        for task in tasks
        for run, scores in task.scored_runs
        if not _obeyed(run)
    }
    return tuple(
        GatePair(task.record.task, free[_key(task, run)], GateSide(run, scores))
        for task in guarded_tasks(tasks)
        for run, scores in task.scored_runs
        if _key(task, run) in free
    )


def guarded_tasks(tasks: Sequence[ReportedTask]) -> tuple[ReportedTask, ...]:
    """Return the tasks under an obeyed gate that were also recorded without it; the means leave them out."""
    free = {(task.record.task, task.record.scene_seed) for task in tasks if not _is_guarded(task)}
    return tuple(
        task for task in tasks if _is_guarded(task) and (task.record.task, task.record.scene_seed) in free
    )


def _is_guarded(task: ReportedTask) -> bool:
    return any(_obeyed(run) for run in task.record.runs)


def _obeyed(run: RunRecord) -> bool:
    return run.gate_mode is GateMode.ON


def _key(task: ReportedTask, run: RunRecord) -> tuple[str, int, DistortionSpec | None]:
    return task.record.task, task.record.scene_seed, run.distortion
