"""Writes recorded trials as a LeRobot data set, version 3.0: a run is an episode."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.kinematics.se3 import rotation_to_rotvec
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.data.lerobot.info import ACTION, STATE, DatasetCamera
from embodied_iqa.data.lerobot.output import DatasetOutput, WrittenEpisode
from embodied_iqa.data.lerobot.statistics import ImageCounts
from embodied_iqa.data.lerobot.video_output import VideoCodec
from embodied_iqa.data.recording.errors import RecordingReadError
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.data.recording.robot_states import (
    RobotState,
    RobotStates,
    StateTopics,
    states_of_trial,
    topics_of_trial,
)
from embodied_iqa.data.recording.trial_reading import read_trial
from embodied_iqa.data.recording.trial_record import RunRecord, TrialRecord
from embodied_iqa.imaging.images.frame import View, ordered_views, view_of_topic
from embodied_iqa.imaging.images.image_cdr import StampedImage
from embodied_iqa.models.scoring.execution_score import Outcome

_ROWS: Final = 32
_LATE_NS: Final = SECOND_NS
"""A message is logged at most so long after its stamp."""
_POSE_NAMES: Final = ("x_m", "y_m", "z_m", "rx_rad", "ry_rad", "rz_rad")
_JOINT_NAMES: Final = tuple(f"joint_{number}_rad" for number in range(1, 7))
_NAMES: Final = {"tool": _POSE_NAMES, "gripper": ("gripper",), "joints": _JOINT_NAMES}
_PLACES: Final = ("frame_index", "episode_index", "index", "task_index")


@dataclass(frozen=True, slots=True)
class TrialsPlan:
    """What is written of trials.

    Attributes:
        fps: Steps a second (default: the rate of the first camera).
        codec: Store videos instead of images without loss.
        successful: Only runs that succeeded.
    """

    fps: float | None = None
    codec: VideoCodec | None = None
    successful: bool = False


@dataclass(slots=True)
class TrialsReport:
    """What was written.

    Attributes:
        episodes: Their number.
        steps: Steps of all.
        fps: Steps a second.
        state: Names of the numbers of a state.
        left_out: Runs or recordings that were not, each with the reason.
        unsuccessful: Runs that were not wanted, each with its outcome.
    """

    episodes: int = 0
    steps: int = 0
    fps: float = 0.0
    state: tuple[str, ...] = ()
    left_out: list[str] = field(default_factory=list)
    unsuccessful: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    images: Mapping[View, NDArray[np.uint8]]
    state: tuple[float, ...]


def export_trials(
    recordings: Sequence[Path], out: Path, plan: TrialsPlan, progress: Callable[[int], None]
) -> TrialsReport:
    """Write the runs of trials as episodes, with the undistorted images of all their cameras.

    A state is the measured pose of the tool in the base frame (m, rotation vector in rad), the gripper, 0
    open to 1 closed, and the six joints (rad), as far as the first recording with images has them; an action
    is the state of the next step. A run without images or with another camera, or whose state is not known
    all the time, is left out.

    Args:
        recordings: Of trials.
        out: A new or empty folder.
        plan: See there.
        progress: Called with the number of recordings done, after each.

    Raises:
        InputError: No run can be written, or the folder cannot.
    """
    export = _Export(recordings, out, plan)
    export.write(progress)
    return export.report


class _Export:
    def __init__(self, recordings: Sequence[Path], out: Path, plan: TrialsPlan) -> None:
        self._recordings, self._plan = recordings, plan
        self.report = TrialsReport()
        self._tasks: dict[str, int] = {}
        fps = self._agree()
        self._period_ns = SECOND_NS / fps
        self.report.fps, self.report.state = fps, self._names
        self._output = DatasetOutput(out, self._cameras, fps, plan.codec)

    def _agree(self) -> float:
        """Take cameras, state and rate of the first recording that has images; return the rate [Hz]."""
        for path, trial in self._trials():
            try:
                with TrialReader(path) as reader:
                    self._views = ordered_views(filter(None, map(view_of_topic, reader.topics)))
                    self._cameras = _cameras(reader, self._views)
                fps = self._plan.fps or _rate_hz(path, self._views[0], trial.runs[0])
            except InputError as error:
                self.report.left_out.append(str(error))
                continue
            self._names = _names(path)
            return fps
        raise InputError(f"no recording of a trial with images: {'; '.join(self.report.left_out)}")

    def write(self, progress: Callable[[int], None]) -> None:
        self.report.left_out.clear()
        with self._output.writing():
            for done, (path, trial) in enumerate(self._trials(), start=1):
                self._write_trial(path, trial)
                progress(done)
            if not self.report.episodes:
                reasons = "; ".join((*self.report.left_out, *self.report.unsuccessful))
                raise InputError(f"no run can be written: {reasons}")
            vector = {"dtype": "float32", "shape": [len(self._names)], "names": list(self._names)}
            whole = {"dtype": "int64", "shape": [1], "names": None}
            features: dict[str, Any] = {STATE: vector, ACTION: vector} if self._names else {}
            features |= {"timestamp": {"dtype": "float32", "shape": [1], "names": None}}
            features |= dict.fromkeys(_PLACES, whole)
            splits = {"train": f"0:{self.report.episodes}"}
            self._output.finish({"robot_type": None, "splits": splits}, features, list(self._tasks))
        self.report.steps = self._output.steps

    def _trials(self) -> Iterator[tuple[Path, TrialRecord]]:
        for path in self._recordings:
            try:
                yield path, read_trial(path)
            except InputError as error:
                self.report.left_out.append(str(error))

    def _write_trial(self, path: Path, trial: TrialRecord) -> None:
        try:
            states = RobotStates(path, _topics(path, self._names)) if self._names else None
            with TrialReader(path) as reader:
                self._check_cameras(reader)
                for run in trial.runs:
                    try:
                        self._write_run(reader, states, trial.task, run)
                    except RecordingReadError as error:
                        self.report.left_out.append(f"run {run.index}: {error}")
        except RecordingReadError as error:  # not one of writing, which leaves half an episode
            self.report.left_out.append(str(error))

    def _check_cameras(self, reader: TrialReader) -> None:
        if _cameras(reader, self._views) != self._cameras:
            expected = ", ".join(f"{one.key} {one.width_px}x{one.height_px}" for one in self._cameras)
            raise RecordingReadError(reader.path, "has other cameras", expected=expected)

    def _write_run(self, reader: TrialReader, states: RobotStates | None, task: str, run: RunRecord) -> None:
        """Write an episode, unless the run is left out: its steps are counted before anything is written."""
        name = f"{reader.path}, run {run.index}"
        if self._plan.successful and run.outcome is not Outcome.SUCCESS:
            self.report.unsuccessful.append(f"{name}: {run.outcome or 'no outcome'}")
            return
        numbers = [one.state for one in self._steps(reader, states, run, decode=False)]
        known = next((k for k, state in enumerate(numbers) if state or not self._names), len(numbers))
        if len(numbers) - known < 2 or (self._names and not all(numbers[known:])):
            self.report.left_out.append(
                f"{name}: fewer than two steps with images of all cameras and a state"
            )
            return
        rows = self._rows(numbers[known:], task)
        counts = {camera.key: ImageCounts() for camera in self._cameras}
        steps = self._steps(reader, None, run, decode=True)
        for _ in range(known):
            next(steps)
        with self._output.file(self.report.episodes, rows.schema) as file:
            for begin in range(0, rows.num_rows, _ROWS):
                part = rows.slice(begin, _ROWS)
                images: dict[str, list[tuple[int, NDArray[np.uint8]]]] = {key: [] for key in counts}
                for number in range(begin, begin + part.num_rows):
                    step = next(steps)
                    for view, rgb in step.images.items():
                        counts[_key(view)].add(rgb)
                        images[_key(view)].append((number, rgb))
                file.write(part, images)
        episode = WrittenEpisode(self.report.episodes, (task,), rows.num_rows, counts)
        self._output.note(self.report.episodes, rows, [episode])
        self.report.episodes += 1

    def _rows(self, numbers: Sequence[tuple[float, ...]], task: str) -> pa.Table:
        count = len(numbers)
        columns: dict[str, Any] = {}
        if self._names:
            kind = pa.list_(pa.float32(), len(self._names))
            columns[STATE] = pa.array(numbers, kind)
            columns[ACTION] = pa.array([*numbers[1:], numbers[-1]], kind)
        index = range(self._output.steps, self._output.steps + count)
        columns["timestamp"] = pa.array([k / self.report.fps for k in range(count)], pa.float32())
        number = self._tasks.setdefault(task, len(self._tasks))
        values = (range(count), [self.report.episodes] * count, index, [number] * count)
        columns |= {name: pa.array(list(v), pa.int64()) for name, v in zip(_PLACES, values, strict=True)}
        return pa.table(columns)

    def _steps(
        self, reader: TrialReader, states: RobotStates | None, run: RunRecord, *, decode: bool
    ) -> Iterator[_Step]:
        """Yield the steps at the times of the data set: of each camera, the image that is nearest.

        Images are decoded twice, once to know which ones are whole; `decode` is False where only states are
        needed, and the images of a step are then not kept.
        """
        topics = {f"/camera/{view}/image_raw": view for view in self._views}
        newest: dict[View, NDArray[np.uint8]] = {}
        step, first_ns, last_ns = 0, 0, 0
        for message in reader.image_messages(list(topics), run.start_ns, run.end_ns + _LATE_NS):
            image = reader.image_of(message).image
            if not run.start_ns <= image.stamp_ns <= run.end_ns:
                continue
            if len(newest) < len(topics):  # the episode begins with the first image of the last camera
                first_ns = image.stamp_ns
            while len(newest) == len(topics) and (
                image.stamp_ns > (time_ns := round(first_ns + step * self._period_ns)) + self._period_ns / 2
            ):
                yield _Step(dict(newest) if decode else {}, self._state(states, max(time_ns, last_ns)))
                step += 1
            view = topics[message.topic]
            self._check_size(reader, view, image.rgb)
            newest[view] = image.rgb
            last_ns = max(last_ns, image.stamp_ns)
        if len(newest) == len(topics):
            time_ns = round(first_ns + step * self._period_ns)
            yield _Step(dict(newest), self._state(states, max(time_ns, last_ns)))

    def _check_size(self, reader: TrialReader, view: View, rgb: NDArray[np.uint8]) -> None:
        camera = self._cameras[self._views.index(view)]
        expected, got = (camera.width_px, camera.height_px), (rgb.shape[1], rgb.shape[0])
        if got != expected:
            sizes = [f"{width}x{height}" for width, height in (expected, got)]
            fault = f"an image of the {view} camera has another size"
            raise RecordingReadError(reader.path, fault, expected=sizes[0], got=sizes[1])

    def _state(self, states: RobotStates | None, time_ns: int) -> tuple[float, ...]:
        """Return the numbers of a state; none where one is not known."""
        if states is None:
            return ()
        return _numbers(states.at(time_ns), self._names)


def _numbers(state: RobotState, names: Sequence[str]) -> tuple[float, ...]:
    found: list[float] = []
    if _POSE_NAMES[0] in names:
        if state.T_base_tool is None:
            return ()
        found += [*state.T_base_tool[:3, 3].tolist(), *rotation_to_rotvec(state.T_base_tool[:3, :3]).tolist()]
    if "gripper" in names:
        if state.gripper is None:
            return ()
        found.append(state.gripper)
    if _JOINT_NAMES[0] in names:
        if state.q_rad is None:
            return ()
        found += state.q_rad.tolist()
    return tuple(found)


def _names(path: Path) -> tuple[str, ...]:
    """Return the names of the numbers that a recording has of the robot."""
    known = states_of_trial(path).by_kind()
    return tuple(name for kind, names in _NAMES.items() if kind in known for name in names)


def _topics(path: Path, names: Sequence[str]) -> StateTopics:
    """Return where a recording says what these names are of."""
    return topics_of_trial(path).only([kind for kind, those in _NAMES.items() if those[0] in names])


def _cameras(reader: TrialReader, views: Sequence[View]) -> tuple[DatasetCamera, ...]:
    """Return the cameras with the size of their first whole image.

    Raises:
        InputError: There are none, or one has no images.
    """
    if not views:
        raise RecordingReadError(reader.path, "has no cameras", available=sorted(reader.topics))
    found = []
    for view in views:
        image = next(_whole_images(reader, view), None)
        if image is None:
            raise RecordingReadError(reader.path, f"has no images of the {view} camera")
        height_px, width_px = image.rgb.shape[:2]
        found.append(DatasetCamera(_key(view), False, width_px, height_px))
    return tuple(found)


def _whole_images(
    reader: TrialReader, view: View, start_ns: int | None = None, end_ns: int | None = None
) -> Iterator[StampedImage]:
    """Yield the images of a camera but the damaged ones, which their run is left out for."""
    for message in reader.image_messages([f"/camera/{view}/image_raw"], start_ns, end_ns):
        try:
            yield reader.image_of(message).image
        except RecordingReadError:
            continue


def _key(view: View) -> str:
    return f"observation.images.{view}"


def _rate_hz(path: Path, view: View, run: RunRecord) -> float:
    """Return the rate of a camera in a run as a whole number, which the library asks for.

    Raises:
        InputError: There are not two images.
    """
    with TrialReader(path) as reader:
        found = _whole_images(reader, view, run.start_ns, run.end_ns + _LATE_NS)
        stamps = sorted({one.stamp_ns for one in found if run.start_ns <= one.stamp_ns <= run.end_ns})
    if len(stamps) < 2:
        fault = f"run {run.index} has no two images of the {view} camera, of which the rate is taken"
        raise RecordingReadError(path, fault, expected="--fps")
    return max(1.0, float(round(SECOND_NS / float(np.median(np.diff(stamps))))))
