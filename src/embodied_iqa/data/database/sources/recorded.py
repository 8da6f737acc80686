"""References from a recording: frames on which a trial's VLA decided, or frames listed in a task file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np

from embodied_iqa.base.errors import InputError
from embodied_iqa.data.database.schema import SourceKind
from embodied_iqa.data.database.sources.candidate import Candidate, fingerprint_of, home_tool
from embodied_iqa.data.recording.bag_camera import BagCamera, BagCameraOptions
from embodied_iqa.data.recording.errors import RecordingReadError, WrongPoseError
from embodied_iqa.data.recording.opening import recording_files
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.data.recording.trial_reading import read_trial
from embodied_iqa.data.recording.trial_record import TrialRecord
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.imaging.images.file_camera import EndOfFramesError
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.world.tasks.task import Task, TaskSource
from embodied_iqa.world.tasks.task_files import ImageLabels, ImageTasks, load_task_file

_OPEN_CAMERAS: Final = 32
"""Cameras whose playback stays open: the frames of several are wanted in turn."""


@dataclass(frozen=True, slots=True)
class _Moment:
    """A frame of a recording.

    Attributes:
        stamp_ns: Its stamp.
        view: The camera.
        tasks: About it.
        labels: Annotations of a person.
        T_base_tool: 16 numbers row by row, as observed by the VLA; empty where unknown.
        gripper: Likewise, 0 open to 1 closed.
    """

    stamp_ns: int
    view: View
    tasks: tuple[Task, ...]
    labels: ImageLabels
    T_base_tool: tuple[float, ...] = ()
    gripper: float = 0.0


@dataclass(frozen=True, slots=True)
class RecordingSource:
    """Frames of one recording.

    Without a task file, the recording must be one of a trial: references are the raw frames on which its VLA
    decided, with the trial's task. With a task file, they are the listed frames.

    Attributes:
        path: An ``.mcap`` file, of this package or of ``ros2 bag``, or a folder of the latter.
        tasks_file: See docs/tasks.md.
        moments: By stamp.
        real: Whether a real camera took the images, where the task file does not say otherwise.
        fingerprint: Of the task file's entries; empty without one.
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
        """Number of frames."""
        return len(self.moments)

    @property
    def description(self) -> str:
        """The recording's name."""
        return f"recording {self.path.resolve().parent.name}/{self.path.name}"

    def read(self, index: int) -> Candidate:
        """Find a frame by its stamp."""
        moment = self.moments[index]
        frame = _frame(self.path, moment)
        labels = moment.labels
        digest = hashlib.sha256(frame.rgb.tobytes()).hexdigest()[:16]
        return Candidate(
            source=SourceKind.RECORDING,
            origin=f"{self.path.name} {moment.stamp_ns} {digest}",
            real=self.real if labels.real is None else labels.real,
            view=moment.view,
            frames={moment.view: frame},
            T_base_tool=np.array(moment.T_base_tool).reshape(4, 4) if moment.T_base_tool else home_tool(),
            gripper=moment.gripper,
            tasks=moment.tasks,
            main_object=labels.main_object,
            main_kind=labels.main_kind,
            background=labels.background,
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
                found[key] = _Moment(*key, (task,), ImageLabels(), pose, chunk.gripper)
    return tuple(found[key] for key in sorted(found))


def _task_id(trial: TrialRecord, stamp_ns: int) -> str:
    return "b" + hashlib.sha256(f"{trial.task}:{stamp_ns}".encode()).hexdigest()[:15]


def _listed(path: Path, tasks_file: Path) -> tuple[ImageTasks, ...]:
    names = {file.resolve() for file in (path, *recording_files(path))}
    return tuple(
        item for item in load_task_file(tasks_file) if (tasks_file.parent / item.path).resolve() in names
    )


def _moments(listed: Iterable[ImageTasks]) -> tuple[_Moment, ...]:
    found = [
        _Moment(item.stamp_ns, item.view, item.tasks, item.labels)
        for item in listed
        if item.stamp_ns is not None and item.view is not None
    ]
    return tuple(sorted(found, key=lambda moment: (moment.stamp_ns, moment.view)))


class _Playback:
    """Frames of one camera, found by their stamps; in order, they are found in one pass over it."""

    def __init__(self, path: Path, view: View) -> None:
        self._camera = BagCamera(path, view, BagCameraOptions(geometry_optional=True))
        self._passed: set[int] = set()
        self._last_ns = -1
        self._has_passed_all = False

    def find(self, stamp_ns: int) -> Frame | None:
        """Return the frame of a stamp, None if there is none."""
        if self._has_passed_all and stamp_ns not in self._passed:
            return None
        if stamp_ns <= self._last_ns:
            self._camera.rewind()
        found = self._following(stamp_ns)
        if found is None and stamp_ns in self._passed:  # stamps are not in the order of the recording
            self._camera.rewind()
            found = self._following(stamp_ns)
        return found

    def _following(self, stamp_ns: int) -> Frame | None:
        for frame in self._frames():
            self._passed.add(frame.stamp_ns)
            self._last_ns = frame.stamp_ns
            if frame.stamp_ns == stamp_ns:
                if isinstance(frame, WrongPoseError):
                    raise frame
                return frame
        self._has_passed_all = True
        return None

    def _frames(self) -> Iterator[Frame | WrongPoseError]:
        while True:
            try:
                frame: Frame | WrongPoseError | None = self._camera.read(0.0)
            except EndOfFramesError:
                return
            except WrongPoseError as error:  # of this image only
                frame = error
            if frame is not None:
                yield frame


@lru_cache(maxsize=_OPEN_CAMERAS)
def _playback(path: Path, view: View, changed_ns: int) -> _Playback:  # noqa: ARG001 - part of the key
    return _Playback(path, view)


def _frame(path: Path, moment: _Moment) -> Frame:
    """Return the frame of a moment; the recording stays open for the next one."""
    try:
        frame = _playback(path, moment.view, path.stat().st_mtime_ns).find(moment.stamp_ns)
    except RecordingReadError as error:
        raise InputError(f"unusable frame: {error}") from None
    if frame is None:
        raise InputError(f"no frame: camera {moment.view} has none of {moment.stamp_ns} ns in {path.name}")
    return frame
