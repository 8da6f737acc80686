"""References from a recording: what subjects were shown in a trial, or frames that a task file names."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.database.references import Candidate, fingerprint_of, home_tool
from embodied_iqa.database.schema import SourceKind
from embodied_iqa.errors import InputError
from embodied_iqa.images.assembler import Source
from embodied_iqa.images.file_camera import EndOfFramesError
from embodied_iqa.images.frame import Frame, View
from embodied_iqa.recording.bag_camera import BagCamera, BagCameraOptions
from embodied_iqa.recording.reader import TrialReader
from embodied_iqa.scenes.viewpoints import viewpoint_of
from embodied_iqa.tasks.task import Task, TaskSource
from embodied_iqa.tasks.task_files import PictureLabels, PictureTasks, load_task_file
from embodied_iqa.trial.reading import read_trial
from embodied_iqa.trial.record import TrialRecord

__all__ = ["RecordingSource"]


@dataclass(frozen=True, slots=True)
class _Moment:
    """A frame of a recording.

    Attributes:
        stamp_ns: Its stamp.
        view: The camera.
        tasks: About it.
        labels: What a person says that it shows.
        T_base_tool: 16 numbers row by row, what a VLA was told then; empty where nobody knows.
        gripper: Likewise, 0 open to 1 closed.
    """

    stamp_ns: int
    view: View
    tasks: tuple[Task, ...]
    labels: PictureLabels
    T_base_tool: tuple[float, ...] = ()
    gripper: float = 0.0


@dataclass(frozen=True, slots=True)
class RecordingSource:
    """Frames of one recording.

    Without a task file the recording has to be of a trial: references are the raw frames on which its VLA
    decided, with the trial's task. With one, they are the frames that it names.

    Attributes:
        path: An ``.mcap`` file, ours or of ``ros2 bag``.
        tasks_file: See docs/tasks.md.
        moments: By stamp.
        real: Whether a real camera took the pictures, where the task file does not say otherwise.
        fingerprint: Of what the task file says; empty without one.
    """

    path: Path
    tasks_file: Path | None = None
    moments: tuple[_Moment, ...] = field(init=False)
    real: bool = field(init=False)
    fingerprint: str = field(init=False)

    def __post_init__(self) -> None:
        with TrialReader(self.path) as reader:
            metadata = reader.metadata().get("embodied_iqa", {})
        listed = () if self.tasks_file is None else _listed(self.path, self.tasks_file)
        moments = _decisions(read_trial(self.path)) if self.tasks_file is None else _moments(listed)
        if not moments:
            raise InputError(f"{self.path} gives no references", expected="decisions, or frames with tasks")
        object.__setattr__(self, "moments", moments)
        object.__setattr__(self, "fingerprint", fingerprint_of(listed) if listed else "")
        object.__setattr__(self, "real", metadata.get("camera_node.source") != "simulated")

    @property
    def count(self) -> int | None:
        """How many frames there are."""
        return len(self.moments)

    @property
    def description(self) -> str:
        """The recording's name."""
        return f"recording {self.path.resolve().parent.name}/{self.path.name}"

    def read(self, index: int) -> Candidate:
        """Find a frame by its stamp."""
        moment = self.moments[index]
        frame = _frame(self.path, moment)
        T_base_tool = np.array(moment.T_base_tool).reshape(4, 4) if moment.T_base_tool else home_tool()
        digest = hashlib.sha256(frame.rgb.tobytes()).hexdigest()[:16]
        return Candidate(
            source=SourceKind.RECORDING,
            origin=f"{self.path.name} {moment.stamp_ns} {digest}",
            real=self.real if moment.labels.real is None else moment.labels.real,
            view=moment.view,
            frames={moment.view: frame},
            T_base_tool=T_base_tool,
            gripper=moment.gripper,
            tasks=moment.tasks,
            main_object=moment.labels.main_object,
            main_kind=moment.labels.main_kind,
            background=moment.labels.background,
            instruction=moment.tasks[0].text,
        )


def _decisions(trial: TrialRecord) -> tuple[_Moment, ...]:
    found = {}
    for run in trial.runs:
        for chunk in run.chunks:
            if chunk.source is Source.RAW:
                task = Task(_task_id(trial, chunk.stamp_ns), 1, trial.task, source=TaskSource.FILE)
                pose = tuple(float(value) for value in chunk.T_base_tool.ravel())
                key = chunk.stamp_ns, chunk.view
                found[key] = _Moment(
                    chunk.stamp_ns, chunk.view, (task,), PictureLabels(), pose, chunk.gripper
                )
    return tuple(found[key] for key in sorted(found))


def _task_id(trial: TrialRecord, stamp_ns: int) -> str:
    return "b" + hashlib.sha256(f"{trial.task}:{stamp_ns}".encode()).hexdigest()[:15]


def _listed(path: Path, tasks_file: Path) -> tuple[PictureTasks, ...]:
    return tuple(
        item
        for item in load_task_file(tasks_file)
        if (tasks_file.parent / item.path).resolve() == path.resolve()
    )


def _moments(listed: Iterable[PictureTasks]) -> tuple[_Moment, ...]:
    found = [
        _Moment(item.stamp_ns, item.view, item.tasks, item.labels)
        for item in listed
        if item.stamp_ns is not None and item.view is not None
    ]
    return tuple(sorted(found, key=lambda moment: (moment.stamp_ns, moment.view)))


def _frame(path: Path, moment: _Moment) -> Frame:
    options = BagCameraOptions(T_base_camera=_nominal(moment.view))
    camera = BagCamera(path, moment.view, options)
    try:
        for frame in _frames(camera):
            if frame.stamp_ns == moment.stamp_ns:
                return frame
    finally:
        camera.close()
    raise InputError(f"no frame: camera {moment.view} has none of {moment.stamp_ns} ns in {path.name}")


def _frames(camera: BagCamera) -> Iterator[Frame]:
    while True:
        try:
            frame = camera.read(0.0)
        except EndOfFramesError:
            return
        if frame is not None:
            yield frame


def _nominal(view: View) -> NDArray[np.float64]:
    return viewpoint_of(view).T_base_camera
