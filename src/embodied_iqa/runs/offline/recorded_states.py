"""What topics of a recording say beside its images: pose of the tool, gripper, models of the cameras."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.data.recording.errors import RecordingReadError
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.data.recording.trial_reading import stamp_ns
from embodied_iqa.imaging.images.frame import Intrinsics, View
from embodied_iqa.imaging.images.message_geometry import (
    intrinsics_from_info,
    is_uncalibrated,
    is_unknown_pose,
    matrix_from_pose,
)

POSE_TYPE: Final = "geometry_msgs/msg/PoseStamped"
GRIPPER_TYPES: Final = ("std_msgs/msg/Float64", "std_msgs/msg/Float32")
_INFO_TYPE: Final = "sensor_msgs/msg/CameraInfo"
_OLDEST_NS: Final = SECOND_NS // 2


class RecordedStates:
    """Poses of the tool in the base frame (m), and states of the gripper, 0 open to 1 closed.

    They are small compared to images, and read at once. A pose that is not valid is left out.

    Args:
        path: The recording.
        tool: Topic of the poses, `POSE_TYPE`.
        gripper: Topic of the gripper, one of `GRIPPER_TYPES`; its times are those of arrival.

    Raises:
        InputError: There is no such topic, or it is of another type or without a valid message.
    """

    def __init__(self, path: Path, tool: str, gripper: str) -> None:
        with TrialReader(path) as reader:
            _check_type(reader, tool, (POSE_TYPE,))
            _check_type(reader, gripper, GRIPPER_TYPES)
            poses = [_pose(reader.decode(message)) for message in reader.messages([tool])]
            grips = [(one.log_time_ns, reader.decode(one).data) for one in reader.messages([gripper])]
        self._poses = sorted((pose for pose in poses if pose is not None), key=lambda pose: pose[0])
        self._grips = sorted((time_ns, float(value)) for time_ns, value in grips if 0.0 <= value <= 1.0)
        for topic, found in ((tool, self._poses), (gripper, self._grips)):
            if not found:
                raise RecordingReadError(path, f"topic {topic} holds no valid state")

    def at(self, time_ns: int) -> tuple[NDArray[np.float64], float] | None:
        """Return pose and gripper, none older than half a second; None where one is not known."""
        pose, grip = _newest(self._poses, time_ns), _newest(self._grips, time_ns)
        return None if pose is None or grip is None else (pose, grip)


def _newest(states: list[tuple[int, Any]], time_ns: int) -> Any:
    place = bisect_right(states, time_ns, key=lambda state: state[0]) - 1
    if place < 0 or time_ns - states[place][0] > _OLDEST_NS:
        return None
    return states[place][1]


def _pose(message: Any) -> tuple[int, NDArray[np.float64]] | None:
    if is_unknown_pose(message.pose):
        return None
    try:
        return stamp_ns(message), matrix_from_pose(message.pose)
    except InputError:
        return None


def _check_type(reader: TrialReader, topic: str, kinds: tuple[str, ...]) -> None:
    info = reader.topics.get(topic)
    if info is None:
        raise RecordingReadError(reader.path, "no such topic", got=topic, available=sorted(reader.topics))
    if info.type_name not in kinds:
        raise RecordingReadError(
            reader.path, f"topic {topic} is of another type", expected=" or ".join(kinds), got=info.type_name
        )


def recorded_intrinsics(path: Path, cameras: Mapping[str, View]) -> dict[View, Intrinsics]:
    """Return the pinhole models that a recording states, on ``camera_info`` beside each image topic.

    Args:
        path: The recording.
        cameras: Image topic to camera.

    Raises:
        InputError: A topic is of another type, or a model is wrong; one that says to be uncalibrated is left
            out.
    """
    found = {}
    with TrialReader(path) as reader:
        for topic, view in cameras.items():
            beside = f"{topic.removesuffix('/compressed').rpartition('/')[0]}/camera_info"
            if beside not in reader.topics:
                continue
            _check_type(reader, beside, (_INFO_TYPE,))
            message = next(reader.messages([beside]), None)
            info = None if message is None else reader.decode(message)
            if info is not None and not is_uncalibrated(info):
                try:
                    found[view] = intrinsics_from_info(info)
                except InputError as error:
                    raise RecordingReadError(path, f"topic {beside}: {error}") from error
    return found
