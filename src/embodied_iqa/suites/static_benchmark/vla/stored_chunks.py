"""Chunks of VLAs for the tasks of a static benchmark, asked in blocks that are kept on disk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import numpy as np

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import write_json_whole
from embodied_iqa.base.jobs.engine import BlockReport
from embodied_iqa.base.jobs.plan import digest_of
from embodied_iqa.base.records import read_json, unstructure
from embodied_iqa.data.database.building.build_subjects import Failure, frames_for, load_member
from embodied_iqa.data.database.database_images import distorted_frame
from embodied_iqa.imaging.distortions.spec import DistortionSpec
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.constants_files import file_stem
from embodied_iqa.models.subjects.reference import SubjectReference, parse_vla
from embodied_iqa.models.subjects.registry import info_of, single_policy
from embodied_iqa.models.subjects.subject_options import VlaOptions, VlmOptions
from embodied_iqa.suites.static_benchmark.vla.baselines import BASELINES
from embodied_iqa.suites.static_benchmark.vla.trajectories import Trajectory, TrajectoryFolder
from embodied_iqa.world.protocols import ActionChunk, ChunkStatus, SubjectInfo, VlaObservation

BLOCK: Final = 20
"""Tasks of a job, and the most that a kill loses."""
_SCHEMA: Final = 1


class AnswerStatus(StrEnum):
    """What became of a question."""

    ACT = "act"
    DONE = "done"
    NO_TARGET = "no_target"
    FAILED = "failed"
    """An error, or numbers that cannot be used."""


@dataclass(frozen=True, slots=True)
class TaskChunk:
    """The chunk of a subject for one task.

    Attributes:
        task: Name of the task.
        status: Whether increments follow.
        reason: Of the subject, or the error.
        increments: ``(K, 7)`` as in `ActionChunk`.
    """

    task: str
    status: AnswerStatus
    reason: str
    increments: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class _Block:
    """Content of a file: `key` is a hash of everything that the chunks depend on."""

    key: str
    chunks: tuple[TaskChunk, ...]


@dataclass(frozen=True, slots=True)
class VlaSubject:
    """A subject as results name it.

    Attributes:
        name: Its reference, or the name of a baseline.
        version: Its version.
        rate_hz: Rate of its chunks' rows, where it names one.
        reference: None for a baseline.
    """

    name: str
    version: str
    rate_hz: float | None
    reference: SubjectReference | None


def vla_subject(text: str) -> VlaSubject:
    """Load a subject once and return its description.

    Args:
        text: A reference of a VLA, or a name in `BASELINES`.

    Raises:
        UserError: It is none, or it cannot be loaded or reached.
    """
    if text in BASELINES:
        return VlaSubject(text, "baseline", None, None)
    reference = single_policy(parse_vla(text))
    info: SubjectInfo = info_of(reference)
    return VlaSubject(reference.text, info.version, info.rate_hz, reference)


@dataclass(frozen=True, slots=True)
class AskVla:
    """The job of a block: one subject, one condition, some tasks.

    Attributes:
        benchmark: The folder of the benchmark.
        digest: Hash of its trajectories.
        answers: The folder of answers.
        subject: The subject.
        spec: The distortion; None for clean images. Its seed is raised by the number of the task.
        first: Number of the first task.
        tasks: The tasks.
        vla: How the subject is loaded and reached.
    """

    benchmark: Path
    digest: str
    answers: Path
    subject: VlaSubject
    spec: DistortionSpec | None
    first: int
    tasks: tuple[Trajectory, ...]
    vla: VlaOptions

    @property
    def file(self) -> Path:
        """Where the chunks are kept."""
        condition = "clean" if self.spec is None else f"{self.spec.id}.{self.spec.level}.{self.spec.seed}"
        return self.answers / file_stem(self.subject.name) / f"{condition}.{self.first:05d}.json"

    @property
    def key(self) -> str:
        """Hash of everything that the chunks depend on."""
        spec = None if self.spec is None else unstructure(self.spec)
        names = [task.task for task in self.tasks]
        policy = unstructure(self.vla.policy)
        return digest_of(
            "vla", _SCHEMA, self.digest, self.subject.name, self.subject.version, policy, spec, names
        )

    def known(self) -> tuple[TaskChunk, ...] | None:
        """Return the chunks of an earlier run; None if there are none of this subject and benchmark."""
        if not self.file.is_file():
            return None
        try:
            block = read_json(_Block, self.file, "the answers")
        except InputError:
            return None  # damaged: asked again
        return block.chunks if block.key == self.key else None

    def is_missing(self, *, retry: bool) -> bool:
        """Whether it must run: there are no chunks yet or, with ``retry``, some of them failed."""
        known = self.known()
        return known is None or (retry and any(chunk.status is AnswerStatus.FAILED for chunk in known))

    def __call__(self) -> BlockReport:
        """Ask, and write the chunks."""
        chunks = tuple(self._asked())
        write_json_whole(self.file, unstructure(_Block(self.key, chunks)))
        failures = Counter(self.subject.name for chunk in chunks if chunk.status is AnswerStatus.FAILED)
        return BlockReport(self.first, len(chunks), dict(failures))

    def _asked(self) -> Iterator[TaskChunk]:
        reference = self.subject.reference
        if reference is None:
            baseline = BASELINES[self.subject.name]
            yield from (_task_chunk(task, baseline(task)) for task in self.tasks)
            return
        member = load_member(reference, VlmOptions(), self.vla)
        seen = [self._observation(index, task, member.info.views) for index, task in enumerate(self.tasks)]
        for task, chunk in zip(self.tasks, member.chunks(seen), strict=True):
            yield _task_chunk(task, chunk)

    def _observation(self, index: int, task: Trajectory, views: Sequence[View]) -> VlaObservation:
        frames = TrajectoryFolder(self.benchmark).frames(task, views)
        if not frames:
            raise InputError(f"task {task.task} has no image", expected="one or more")
        if self.spec is not None:
            spec = DistortionSpec(self.spec.id, self.spec.level, self.spec.seed + self.first + index)
            frames = {view: distorted_frame(frame, spec) for view, frame in frames.items()}
        shown = views[0] if views[0] in frames else next(iter(frames))
        return VlaObservation(frames_for(views, shown, frames), task.instruction, task.start, task.gripper, 0)


def _task_chunk(task: Trajectory, chunk: ActionChunk | Failure) -> TaskChunk:
    if isinstance(chunk, Failure):
        return TaskChunk(task.task, AnswerStatus.FAILED, chunk.reason, ())
    rows: Any = np.asarray(chunk.increments, np.float64).tolist()
    if chunk.status is ChunkStatus.ACT and not rows:
        return TaskChunk(task.task, AnswerStatus.FAILED, "acts without increments", ())
    moves = rows if chunk.status is ChunkStatus.ACT else ()
    return TaskChunk(
        task.task, AnswerStatus(str(chunk.status)), chunk.reason, tuple(tuple(row) for row in moves)
    )
