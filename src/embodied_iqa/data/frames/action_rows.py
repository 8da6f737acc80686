"""Recorded actions as rows of numbers: of a LeRobot data set, or of a topic of a recording."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, Final, Protocol

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.kinematics import rotation_to_rotvec
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.data.lerobot.dataset import LeRobotDataset
from embodied_iqa.data.lerobot.info import ACTION
from embodied_iqa.data.recording.errors import RecordingReadError
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.data.recording.recorded import RecordedMessage
from embodied_iqa.data.recording.robot_states import NUMBER_TYPES, POSE_TYPE, check_type, tool_pose
from embodied_iqa.data.recording.trial_reading import stamp_ns
from embodied_iqa.imaging.images.stored_images import UnreadableImage

_ARRAY_TYPES: Final = ("std_msgs/msg/Float64MultiArray", "std_msgs/msg/Float32MultiArray")
_MOST_NUMBERS: Final = 256
_PAUSE_NS: Final = SECOND_NS
"""Actions that are further apart belong to different episodes."""
_SAMPLE: Final = 100
"""Actions that the rate is measured on."""


@dataclass(frozen=True, slots=True)
class ActionRow:
    """What was done in one step.

    Attributes:
        stamp_ns: When, on the clock of the source's images.
        episode: Steps of other episodes do not follow.
        numbers: As recorded; None where there are none.
    """

    stamp_ns: int
    episode: int
    numbers: tuple[float, ...] | None


class ActionRows(Protocol):
    """The steps of a source."""

    @property
    def where(self) -> str:
        """The source and the place in it, in words."""
        ...

    @property
    def width(self) -> int:
        """Numbers of a row."""
        ...

    @property
    def is_pose(self) -> bool:
        """The numbers are a pose of the tool in the base frame (m, rotation vector) and the gripper."""
        ...

    @property
    def rate_hz(self) -> float:
        """Steps a second."""
        ...

    def rows(self) -> Iterator[ActionRow]:
        """Iterate over the steps; their times rise.

        Raises:
            InputError: The source is damaged.
        """
        ...


class DatasetActions:
    """Actions of a data set, whose episodes follow each other without a pause; see `ActionRows`.

    Args:
        dataset: The data set.
    """

    is_pose = False

    def __init__(self, dataset: LeRobotDataset) -> None:
        self._dataset = dataset
        self.where = f"{ACTION} of {dataset.path}"
        self.width = dataset.info.sizes.get(ACTION, 0)
        self.rate_hz = dataset.info.fps

    def rows(self) -> Iterator[ActionRow]:
        """Iterate over the steps."""
        starts_ns = self._dataset.starts_ns()
        for step in self._dataset.listed_steps():
            if isinstance(step, UnreadableImage):  # reported with the images
                continue
            yield ActionRow(starts_ns[step.episode] + step.stamp_ns, step.episode, step.action)


class RecordingActions:
    """Actions on a topic of a recording; see `ActionRows`.

    Poses have the time of their stamp, arrays of numbers that of their arrival. An action whose time is no
    later than that of the one before is left out.

    Args:
        path: The recording.
        topic: Of `Float64MultiArray` or `Float32MultiArray` with all numbers of an action, or of
            `PoseStamped` of the tool in the base frame.
        gripper: Topic with the number behind them, the last one received; empty where arrays have it.

    Raises:
        InputError: The recording lacks the topic, or it has another type or no actions; or poses come without
            a gripper topic.
    """

    def __init__(self, path: Path, topic: str, gripper: str = "") -> None:
        self._path, self._topic, self._gripper = path, topic, gripper
        self.where = f"topic {topic} of {path}"
        with TrialReader(path) as reader:
            check_type(reader, topic, (*_ARRAY_TYPES, POSE_TYPE))
            if gripper:
                check_type(reader, gripper, NUMBER_TYPES)
            self.is_pose = reader.topics[topic].type_name == POSE_TYPE
        if self.is_pose and not gripper:
            fault = f"topic {topic} holds poses, without the gripper"
            raise RecordingReadError(path, fault, expected="CONVENTION=TOPIC,GRIPPER_TOPIC")
        first = [row for row in islice(self.rows(), _SAMPLE) if row.numbers is not None]
        if len(first) < 2:
            raise RecordingReadError(path, f"topic {topic} holds no actions", expected="two or more")
        self.width = len(first[0].numbers or ())
        steps_ns = [after.stamp_ns - before.stamp_ns for before, after in pairwise(first)]
        self.rate_hz = round(SECOND_NS / statistics.median(steps_ns), 2)

    def rows(self) -> Iterator[ActionRow]:
        """Iterate over the actions."""
        last_ns, episode, gripper = -1, 0, None
        with TrialReader(self._path) as reader:
            for message in reader.messages((self._topic, *filter(None, [self._gripper]))):
                if message.topic == self._gripper:
                    gripper = float(reader.decode(message).data)
                    continue
                at_ns, numbers = _numbers(reader, message)
                if at_ns <= last_ns:
                    continue
                episode += last_ns >= 0 and at_ns - last_ns > _PAUSE_NS
                last_ns = at_ns
                yield ActionRow(at_ns, episode, self._with_gripper(numbers, gripper))

    def _with_gripper(
        self, numbers: tuple[float, ...] | None, gripper: float | None
    ) -> tuple[float, ...] | None:
        if not self._gripper or numbers is None:
            return numbers
        return None if gripper is None else (*numbers, gripper)


def open_actions(path: Path, place: str) -> RecordingActions:
    """Return the actions of a recording.

    Args:
        path: The recording.
        place: ``TOPIC`` or ``TOPIC,GRIPPER_TOPIC``.

    Raises:
        UsageError: No topic is named.
        InputError: As for `RecordingActions`.
    """
    topic, _, gripper = place.partition(",")
    if not topic:
        raise UsageError(f"{path} is a recording: where are its actions?", expected="CONVENTION=TOPIC")
    return RecordingActions(path, topic, gripper)


def _numbers(reader: TrialReader, message: RecordedMessage) -> tuple[int, tuple[float, ...] | None]:
    """Return time and numbers of an action; None where a pose is not valid."""
    decoded = reader.decode(message)
    if message.type_name == POSE_TYPE:
        return stamp_ns(decoded), _pose_numbers(decoded.pose)
    values: Sequence[float] = decoded.data[:_MOST_NUMBERS]
    return message.log_time_ns, tuple(float(value) for value in values)


def _pose_numbers(pose: Any) -> tuple[float, ...] | None:
    T = tool_pose(pose)
    return None if T is None else (*T[:3, 3].tolist(), *rotation_to_rotvec(T[:3, :3]).tolist())
