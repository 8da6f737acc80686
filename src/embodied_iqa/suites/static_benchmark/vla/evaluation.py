"""Evaluation of VLAs on a static benchmark: questions, scores, `vla.json`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.files import remove_parts, write_json_whole
from embodied_iqa.base.jobs.engine import EngineOptions, run_jobs
from embodied_iqa.base.jobs.folder import JobFolder
from embodied_iqa.base.records import unstructure
from embodied_iqa.data.analysis.resampling import drawn_rows, interval_of
from embodied_iqa.imaging.distortions.spec import DistortionSpec
from embodied_iqa.models.subjects.subject_options import VlaOptions
from embodied_iqa.suites.static_benchmark.vla.scores import AngleError, Order, VlaScore, task_score
from embodied_iqa.suites.static_benchmark.vla.stored_chunks import (
    BLOCK,
    AnswerStatus,
    AskVla,
    TaskChunk,
    VlaSubject,
)
from embodied_iqa.suites.static_benchmark.vla.timing import WORDS, Timing, held_steps, timings_of
from embodied_iqa.suites.static_benchmark.vla.trajectories import Trajectory, TrajectoryFolder
from embodied_iqa.suites.static_benchmark.vla.vla_results import (
    FORMAT,
    VLA_FILE,
    VlaResults,
    VlaRow,
    VlaTaskRow,
)

Array = NDArray[np.float64]
Done = Callable[[int, int], object]
"""Takes the number of finished blocks and of all."""

_DRAWS: Final = 1000
_NOTHING: Final = VlaScore(0.0, 0.0, 0.0)
_VARIANTS: Final = (
    (Order.MEAN_FIRST, AngleError.WRAPPED),
    (Order.MEAN_FIRST, AngleError.GEODESIC),
    (Order.LOG_FIRST, AngleError.WRAPPED),
)
CHOICES: Final = (
    "increments are chained onto the start pose; poses are compared in the base frame",
    *(f"timing {timing}: {words}" for timing, words in WORDS.items()),
    "main score: timing rate where the subject names its rate, else steps",
    "mean over steps, then logarithm, then mean over tasks; log_first: the logarithm of each step first",
    "angles: norm of the wrapped differences of roll, pitch, yaw; geodesic: angle of the rotation between",
    "a task without a chunk (refused or failed) has 0 points; answered: mean over the others",
    "the gripper is the commanded state, 0 open and 1 closed",
)
"""What the scores rest on where the paper is silent; stored with every result."""


@dataclass(frozen=True, slots=True)
class TaskScores:
    """Scores of one chunk with one timing: as in `_VARIANTS`; and the steps that were held."""

    scores: tuple[VlaScore, ...]
    steps: int


@dataclass(frozen=True, slots=True)
class VlaRun:
    """What is evaluated.

    Attributes:
        benchmark: The folder of the benchmark.
        results: The folder of results.
        subjects: The subjects.
        specs: The distortions; clean images are always asked first.
        seed: Of the distortions.
        engine: What runs the questions.
        vla: How subjects are loaded and reached.
        retry: Ask again where a subject failed.
    """

    benchmark: Path
    results: Path
    subjects: tuple[VlaSubject, ...]
    specs: tuple[DistortionSpec, ...] = ()
    seed: int = 0
    engine: EngineOptions = field(default_factory=EngineOptions)
    vla: VlaOptions = field(default_factory=VlaOptions)
    retry: bool = False

    @property
    def conditions(self) -> tuple[DistortionSpec | None, ...]:
        """Clean images, then the distortions, each once."""
        return tuple(dict.fromkeys((None, *self.specs)))

    @property
    def answers(self) -> Path:
        """The folder of answers."""
        return self.results / "vla_answers"

    def jobs(self, tasks: Sequence[Trajectory], digest: str) -> list[AskVla]:
        """Return a job for each subject, condition and block of tasks."""
        blocks = [(first, tuple(tasks[first : first + BLOCK])) for first in range(0, len(tasks), BLOCK)]
        return [
            AskVla(self.benchmark, digest, self.answers, subject, spec, first, block, self.vla)
            for subject in self.subjects
            for spec in self.conditions
            for first, block in blocks
        ]


def evaluate_vlas(run: VlaRun, done: Done | None = None) -> VlaResults:
    """Ask every subject under every condition, score the chunks and write `vla.json`.

    Chunks of an earlier run of the same subjects on the same trajectories are used again.

    Args:
        run: What is evaluated.
        done: Called after each block of tasks.

    Raises:
        UserError: The benchmark is damaged, a subject fails to load, or another process writes the results.
    """
    folder = TrajectoryFolder(run.benchmark)
    plan, tasks, digest = folder.plan(), folder.read(), folder.digest()
    jobs = run.jobs(tasks, digest)
    with JobFolder(run.results, "evaluation of VLAs").locked():
        remove_parts(run.answers)
        missing = [job for job in jobs if job.is_missing(retry=run.retry)]
        _ask(missing, len(jobs), run.engine, done or (lambda *_: None))
        rows: list[VlaRow] = []
        by_task: list[VlaTaskRow] = []
        for subject in run.subjects:
            more, clean = _rows_of(subject, run.conditions, [job for job in jobs if job.subject == subject])
            rows += more
            by_task += clean
        size = len(tasks)
        found = VlaResults(FORMAT, digest, plan.source, size, run.seed, CHOICES, tuple(rows), tuple(by_task))
        write_json_whole(run.results / VLA_FILE, unstructure(found))
    return found


def scores_of(chunk: TaskChunk, task: Trajectory, timing: Timing, rate_hz: float | None) -> TaskScores | None:
    """Return the scores of a chunk; None if there is none."""
    if chunk.status is not AnswerStatus.ACT:
        return None
    errors = held_steps(np.array(chunk.increments), task, timing, rate_hz).errors
    scores = tuple(task_score(errors, order, angles) for order, angles in _VARIANTS)
    return TaskScores(scores, len(errors.position_m))


def _ask(missing: Sequence[AskVla], jobs: int, options: EngineOptions, done: Done) -> None:
    finished = jobs - len(missing)
    done(finished, jobs)
    for count, _ in enumerate(run_jobs(missing, options), start=finished + 1):
        done(count, jobs)


def _rows_of(
    subject: VlaSubject, conditions: Sequence[DistortionSpec | None], jobs: Sequence[AskVla]
) -> tuple[list[VlaRow], list[VlaTaskRow]]:
    timings = (Timing.STEPS,) if subject.reference is None else timings_of(subject.rate_hz)
    clean: dict[Timing, float] = {}
    rows: list[VlaRow] = []
    by_task: list[VlaTaskRow] = []
    for spec in conditions:
        of_spec = [job for job in jobs if job.spec == spec]
        tasks = [task for job in of_spec for task in job.tasks]
        chunks = [chunk for job in of_spec for chunk in job.known() or ()]
        found = {timing: _scored(chunks, tasks, timing, subject.rate_hz) for timing in timings}
        for timing in timings:
            row = _row(subject, spec, timing, chunks, found[timing])
            change = row.overall - clean.setdefault(timing, row.overall)
            rows.append(replace(row, main=timing is timings[0], change=change))
        if spec is None:
            arm = found.get(Timing.ARM, [None] * len(tasks))
            items = zip(tasks, chunks, found[timings[0]], arm, strict=True)
            by_task += [_task_row(subject, *item, has_arm=Timing.ARM in found) for item in items]
    return rows, by_task


def _scored(
    chunks: Sequence[TaskChunk], tasks: Sequence[Trajectory], timing: Timing, rate_hz: float | None
) -> list[TaskScores | None]:
    return [scores_of(chunk, task, timing, rate_hz) for chunk, task in zip(chunks, tasks, strict=True)]


def _row(
    subject: VlaSubject, spec: DistortionSpec | None, timing: Timing,
    chunks: Sequence[TaskChunk], scores: Sequence[TaskScores | None],
) -> VlaRow:  # fmt: skip
    given = [one for one in scores if one is not None]
    status = [chunk.status for chunk in chunks]
    failed = status.count(AnswerStatus.FAILED)
    lengths = [len(chunk.increments) for chunk in chunks if chunk.increments]
    return VlaRow(
        subject=subject.name,
        version=subject.version,
        distortion="" if spec is None else spec.id,
        level=0 if spec is None else spec.level,
        timing=timing,
        main=False,
        tasks=len(scores),
        refused=len(scores) - failed - status.count(AnswerStatus.ACT),
        failed=failed,
        chunk=float(median(lengths)) if given else None,
        steps=float(median(one.steps for one in given)) if given else None,
        answered=float(np.mean([one.scores[0].overall for one in given])) if given else None,
        change=0.0,
        **_means(scores),
    )


def _means(per_task: Sequence[TaskScores | None]) -> dict[str, Any]:
    """Return the fields of a row that are means over the tasks."""
    variants = range(len(_VARIANTS))
    scores = [[_NOTHING if one is None else one.scores[index] for one in per_task] for index in variants]
    mean, geodesic, log_first = map(_mean, scores)
    low, high = _interval(np.array([score.overall for score in scores[0]]))
    return {
        "position": mean.position,
        "orientation": mean.orientation,
        "end_effector": mean.end_effector,
        "overall": mean.overall,
        "low": low,
        "high": high,
        "orientation_geodesic": geodesic.orientation,
        "overall_geodesic": geodesic.overall,
        "position_log_first": log_first.position,
        "orientation_log_first": log_first.orientation,
        "end_effector_log_first": log_first.end_effector,
        "overall_log_first": log_first.overall,
    }


def _mean(scores: Sequence[VlaScore]) -> VlaScore:
    parts = np.array([(score.position, score.orientation, score.end_effector) for score in scores])
    return VlaScore(*map(float, parts.mean(axis=0)))


def _interval(each: Array) -> tuple[float | None, float | None]:
    """Return the 95 % percentile bootstrap interval of the mean over tasks."""
    if len(each) <= 1:
        return None, None
    return interval_of(each[drawn_rows(len(each), draws=_DRAWS, seed=0)].mean(axis=1))


def _task_row(
    subject: VlaSubject, task: Trajectory, chunk: TaskChunk,
    scores: TaskScores | None, arm: TaskScores | None, *, has_arm: bool,
) -> VlaTaskRow:  # fmt: skip
    score = _NOTHING if scores is None else scores.scores[0]
    by_arm = 0.0 if arm is None else arm.scores[0].overall
    return VlaTaskRow(
        subject.name,
        task.task,
        task.instruction,
        task.scene_seed,
        task.verb,
        task.background,
        str(chunk.status),
        chunk.reason,
        score.position,
        score.orientation,
        score.end_effector,
        score.overall,
        by_arm if has_arm else None,
    )
