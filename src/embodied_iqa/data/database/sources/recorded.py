"""References from a recording: frames of a trial's decisions, of a task file, or one every few seconds."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import numpy as np

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.kept import lent
from embodied_iqa.base.kinematics.models import ArmModel
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.data.database.schema import SourceKind
from embodied_iqa.data.database.sources.candidate import Candidate, fingerprint_of, short_id
from embodied_iqa.data.frames.cameras import cameras_of, topics_not_read
from embodied_iqa.data.frames.recording_frames import RecordingFrames
from embodied_iqa.data.recording.bag_camera import BagCamera, BagCameraOptions
from embodied_iqa.data.recording.camera_models import recorded_intrinsics
from embodied_iqa.data.recording.errors import OneImageError, RecordingReadError
from embodied_iqa.data.recording.opening import recording_files
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.data.recording.robot_states import RobotStates, StateTopics
from embodied_iqa.data.recording.trial_reading import METADATA, read_trial, was_simulated
from embodied_iqa.data.recording.trial_record import TrialRecord
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.imaging.images.file_camera import EndOfFramesError
from embodied_iqa.imaging.images.frame import Frame, View, topic_of_view
from embodied_iqa.imaging.images.image_cdr import stamp_from_cdr
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
        T_base_tool: 16 numbers row by row, as observed by the VLA or recorded; None where unknown.
        gripper: Likewise, 0 open to 1 closed.
        topic: Of its images; empty for ``/camera/<view>/image_raw``.
    """

    stamp_ns: int
    view: View
    tasks: tuple[Task, ...]
    labels: ImageLabels
    T_base_tool: tuple[float, ...] | None = None
    gripper: float | None = None
    topic: str = ""


@dataclass(frozen=True, slots=True)
class Sampling:
    """What is taken of images that were not recorded in a trial.

    Attributes:
        topics: Image topics by camera, or their drivers; empty for those that name their camera.
        task: The task of all images; empty for those of the source, or of a list.
        every_s: Least time between two images of a camera where no list names them; 0 for all.
        states: Where the pose of the tool and the gripper are recorded; those of decisions are known.
    """

    topics: Mapping[View, str] = field(default_factory=dict)
    task: str = ""
    every_s: float = 1.0
    states: StateTopics = field(default_factory=StateTopics)

    @property
    def words(self) -> tuple[str, ...]:
        """What differs from taking everything, for descriptions."""
        taken = (f"{self.task!r} every {self.every_s:g} s",) if self.task else ()
        topics = (f"{view} on {topic}" for view, topic in self.topics.items())
        states = [f"{kind} {topic}" for kind, topic in self.states.by_kind().items()]
        if self.states.arm is not ArmModel.UNSET:
            states.append(f"{self.states.arm} with a tool of {1000 * self.states.tool_m:g} mm")
        return (*topics, *taken, *states)


@dataclass(frozen=True, slots=True)
class RecordingSource:
    """Frames of one recording.

    With a task file, references are the listed frames; with one task for all, a frame every few seconds.
    Without either, the recording must be one of a trial: they are the raw frames on which its VLA decided,
    with the trial's task.

    Attributes:
        path: An ``.mcap`` file, of this package or of ``ros2 bag``, or a folder of the latter.
        tasks_file: See docs/tasks.md.
        sampling: Topics, states, and one task for all.
        moments: By stamp.
        real: Whether a real camera took the images, where the task file does not say otherwise: a recording
            that does not say that they are simulated is of a real one.
        fingerprint: Of the task file's entries; empty without one.
    """

    path: Path
    tasks_file: Path | None = None
    sampling: Sampling = field(default_factory=Sampling)
    moments: tuple[_Moment, ...] = field(init=False)
    real: bool = field(init=False)
    fingerprint: str = field(init=False)

    def __post_init__(self) -> None:
        with TrialReader(self.path) as reader:
            metadata = reader.metadata().get(METADATA, {})
        listed = () if self.tasks_file is None else _listed(self.path, self.tasks_file)
        if self.tasks_file is not None:
            moments = _moments(listed)
        elif self.sampling.task:
            moments = _sampled(self.path, self._cameras(), self.sampling)
        else:
            moments = _decisions(read_trial(self.path))
        if self.sampling.topics:
            topics = {view: topic for topic, view in self._cameras().items()}
            moments = tuple(replace(one, topic=topics.get(one.view, "")) for one in moments)
        if self.sampling.states.has_pose:
            moments = _with_states(moments, RobotStates(self.path, self.sampling.states))
        if not moments:
            raise InputError(f"{self.path} gives no references", expected="decisions, or frames with tasks")
        object.__setattr__(self, "moments", moments)
        object.__setattr__(self, "fingerprint", fingerprint_of(listed) if listed else "")
        object.__setattr__(self, "real", was_simulated(metadata) is not True)

    @property
    def count(self) -> int | None:
        """Number of frames."""
        return len(self.moments)

    def notes(self) -> tuple[str, ...]:
        """Return what is not read although it is there: image topics that nobody chose, wrong intrinsics."""
        unread = ""
        if self.tasks_file is None and self.sampling.task and not self.sampling.topics:
            unread = topics_not_read(RecordingFrames(self.path), self._cameras())
        with TrialReader(self.path) as reader:
            cameras = {one.topic or topic_of_view(one.view, reader.topics): one.view for one in self.moments}
        return (*filter(None, [unread]), *recorded_intrinsics(self.path, cameras)[1])

    @property
    def description(self) -> str:
        """The recording's name, and what is taken of it."""
        name = f"recording {self.path.resolve().parent.name}/{self.path.name}"
        return ", ".join([name, *self.sampling.words])

    def name_of(self, index: int) -> str:
        """Return what lists call a candidate: recording and stamp."""
        return f"{self.path.name} {self.moments[index].stamp_ns}"

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
            T_base_tool=None if moment.T_base_tool is None else np.array(moment.T_base_tool).reshape(4, 4),
            gripper=moment.gripper,
            tasks=moment.tasks,
            main_object=labels.main_object,
            main_kind=labels.main_kind,
            background=labels.background,
            instruction=moment.tasks[0].text,
        )

    def _cameras(self) -> dict[str, View]:
        frames = RecordingFrames(self.path)
        views = [View.TOP] if len(frames.topics) == 1 and not frames.views() else []
        return cameras_of(frames, views, self.sampling.topics)


def _sampled(path: Path, cameras: Mapping[str, View], sampling: Sampling) -> tuple[_Moment, ...]:
    """Return a frame of each camera every few seconds; those whose stamp cannot be read or is 0 are none."""
    found: list[_Moment] = []
    next_ns: Counter[str] = Counter()
    step_ns = round(sampling.every_s * SECOND_NS)
    with TrialReader(path) as reader:
        for message in reader.messages(tuple(cameras)):
            try:
                stamp_ns = stamp_from_cdr(message.cdr)
            except InputError:
                continue
            view = cameras[message.topic]
            if stamp_ns <= 0 or stamp_ns < next_ns[message.topic]:
                continue
            next_ns[message.topic] = stamp_ns + max(1, step_ns)
            task = Task(
                short_id(f"{sampling.task}:{view}:{stamp_ns}"), 1, sampling.task, source=TaskSource.FILE
            )
            found.append(_Moment(stamp_ns, view, (task,), ImageLabels(), topic=message.topic))
    return tuple(sorted(found, key=lambda moment: (moment.stamp_ns, moment.view)))


def _with_states(moments: tuple[_Moment, ...], states: RobotStates) -> tuple[_Moment, ...]:
    found = []
    for moment in moments:
        state = states.at(moment.stamp_ns)
        if state.T_base_tool is not None and state.gripper is not None and moment.T_base_tool is None:
            pose = tuple(float(value) for value in state.T_base_tool.ravel())
            found.append(replace(moment, T_base_tool=pose, gripper=state.gripper))
        else:
            found.append(moment)
    return tuple(found)


def _decisions(trial: TrialRecord) -> tuple[_Moment, ...]:
    found = {}
    for run in trial.runs:
        for chunk in run.chunks:
            if chunk.source is Source.RAW:
                task_id = short_id(f"{trial.task}:{chunk.stamp_ns}")
                task = Task(task_id, 1, trial.task, source=TaskSource.FILE)
                pose = tuple(float(value) for value in chunk.T_base_tool.ravel())
                key = chunk.stamp_ns, chunk.view
                found[key] = _Moment(*key, (task,), ImageLabels(), pose, chunk.gripper)
    return tuple(found[key] for key in sorted(found))


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

    def __init__(self, path: Path, view: View, topic: str) -> None:
        self._camera = BagCamera(path, view, BagCameraOptions(topic=topic, geometry_optional=True))
        self._passed: set[int] = set()
        self._last_ns = -1
        self._has_passed_all = False

    def close(self) -> None:
        """Close the recording."""
        self._camera.close()

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
                if isinstance(frame, OneImageError):
                    raise frame
                return frame
        self._has_passed_all = True
        return None

    def _frames(self) -> Iterator[Frame | OneImageError]:
        while True:
            try:
                frame: Frame | OneImageError | None = self._camera.read(0.0)
            except EndOfFramesError:
                return
            except OneImageError as error:  # of this image only
                frame = error
            if frame is not None:
                yield frame


class _Playbacks:
    """The cameras that were read last; the one that was not read for longest is closed first."""

    def __init__(self) -> None:
        self._open: dict[tuple[Path, View, str, int], _Playback] = {}

    def of(self, path: Path, view: View, topic: str) -> _Playback:
        """Return a camera of a recording, opened anew where the file has changed."""
        key = path, view, topic, path.stat().st_mtime_ns
        camera = self._open.pop(key, None) or _Playback(path, view, topic)
        self._open[key] = camera
        if len(self._open) > _OPEN_CAMERAS:
            self._open.pop(next(iter(self._open))).close()
        return camera

    def close(self) -> None:
        """Close all."""
        while self._open:
            self._open.popitem()[1].close()


def _frame(path: Path, moment: _Moment) -> Frame:
    """Return the frame of a moment; the recording stays open for the next one while somebody keeps it so."""
    try:
        with lent(_Playbacks, _Playbacks) as cameras:
            frame = cameras.of(path, moment.view, moment.topic).find(moment.stamp_ns)
    except RecordingReadError as error:
        raise InputError(f"unusable frame: {error}") from None
    if frame is None:
        raise InputError(f"no frame: camera {moment.view} has none of {moment.stamp_ns} ns in {path.name}")
    return frame
