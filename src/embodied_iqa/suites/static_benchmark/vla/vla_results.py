"""Results of VLAs on a static benchmark: `vla.json`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from embodied_iqa.base.records import read_json
from embodied_iqa.suites.static_benchmark.vla.timing import Timing

FORMAT: Final = 1
VLA_FILE: Final = "vla.json"


@dataclass(frozen=True, slots=True)
class VlaRow:
    """Mean score of a subject over all tasks, under one condition and timing; points in [0, 100].

    A task without a chunk has 0 points in every part.

    Attributes:
        subject: Its reference.
        version: Its version.
        distortion: Number of the distortion; empty for clean images.
        level: 1 to 5; 0 for clean images.
        timing: Times of the chunk's rows.
        main: Whether this timing is that of the subject's main score.
        tasks: Number of tasks.
        refused: Tasks in which it saw no target or had nothing to do.
        failed: Tasks in which it raised an error or gave numbers that cannot be used.
        chunk: Median length of its chunks; None without any.
        steps: Median number of steps that were held against the expert; None without any.
        position: Mean of errors before the logarithm, wrapped angles; likewise the next two.
        orientation: See position.
        end_effector: See position.
        overall: The three weighted by degrees of freedom.
        low: Lower end of the 95 % bootstrap interval of ``overall`` over tasks; None for fewer than two.
        high: Upper end.
        answered: ``overall`` over the tasks with a chunk; None without any.
        orientation_geodesic: With the geodesic angle.
        overall_geodesic: With the geodesic angle.
        position_log_first: Logarithm of each step before the mean; likewise the next two.
        orientation_log_first: See position_log_first.
        end_effector_log_first: See position_log_first.
        overall_log_first: The three weighted by degrees of freedom.
        change: ``overall`` minus that on clean images; 0 there.
    """

    subject: str
    version: str
    distortion: str
    level: int
    timing: Timing
    main: bool
    tasks: int
    refused: int
    failed: int
    chunk: float | None
    steps: float | None
    position: float
    orientation: float
    end_effector: float
    overall: float
    low: float | None
    high: float | None
    answered: float | None
    orientation_geodesic: float
    overall_geodesic: float
    position_log_first: float
    orientation_log_first: float
    end_effector_log_first: float
    overall_log_first: float
    change: float


@dataclass(frozen=True, slots=True)
class VlaTaskRow:
    """Score of a subject in one task on clean images, with its main timing.

    Attributes:
        subject: Its reference.
        task: Name of the task.
        instruction: The task in words.
        scene_seed: Seed of the simulated scene; None for a recorded trajectory.
        verb: What is done.
        background: Of the scene.
        status: act, done, no_target or failed.
        reason: Of the subject, or the error.
        position: Points; likewise the others.
        orientation: See position.
        end_effector: See position.
        overall: Weighted by degrees of freedom.
        overall_arm: ``overall`` with `Timing.ARM`; None for a baseline.
    """

    subject: str
    task: str
    instruction: str
    scene_seed: int | None
    verb: str
    background: str
    status: str
    reason: str
    position: float
    orientation: float
    end_effector: float
    overall: float
    overall_arm: float | None


@dataclass(frozen=True, slots=True)
class VlaResults:
    """All results of the VLA half.

    Attributes:
        format: `FORMAT`.
        benchmark: Hash of the trajectories.
        source: Where the trajectories come from.
        tasks: Their number.
        seed: Of the distortions.
        choices: What the scores rest on where the paper is silent, in sentences.
        rows: Means by subject, condition and timing.
        by_task: Scores of each task on clean images.
    """

    format: int
    benchmark: str
    source: str
    tasks: int
    seed: int
    choices: tuple[str, ...]
    rows: tuple[VlaRow, ...]
    by_task: tuple[VlaTaskRow, ...]

    def main_rows(self) -> tuple[VlaRow, ...]:
        """Return the main score of each subject on clean images, best first."""
        rows = [row for row in self.rows if row.main and not row.distortion]
        return tuple(sorted(rows, key=lambda row: (-row.overall, row.subject)))


def read_vla_results(results: Path) -> VlaResults:
    """Read the results of a folder.

    Raises:
        InputError: There are none, or they are damaged.
    """
    return read_json(VlaResults, results / VLA_FILE, "the results of VLAs")
