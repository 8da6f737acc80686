"""What a recording says of cameras that do not move: their pinhole models, and their poses by /tf_static."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.data.recording.errors import RecordingReadError
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.data.recording.robot_states import check_type
from embodied_iqa.data.recording.transforms import TransformTree
from embodied_iqa.imaging.images.frame import Intrinsics, View
from embodied_iqa.imaging.images.image_cdr import frame_from_cdr
from embodied_iqa.imaging.images.message_geometry import (
    intrinsics_from_info,
    is_finite,
    is_uncalibrated,
    matrix_from_pose,
)

BASE_FRAME: Final = "base"
INFO_TYPE: Final = "sensor_msgs/msg/CameraInfo"
TF_TYPE: Final = "tf2_msgs/msg/TFMessage"
_STATIC: Final = "/tf_static"


def camera_info_beside(topic: str) -> str:
    """Return the topic of the intrinsics of an image topic, raw or compressed."""
    return f"{topic.removesuffix('/compressed').rpartition('/')[0]}/camera_info"


def recorded_intrinsics(
    path: Path, cameras: Mapping[str, View]
) -> tuple[dict[View, Intrinsics], tuple[str, ...]]:
    """Return the pinhole models that a recording states, on ``camera_info`` beside each image topic.

    A camera that says to be uncalibrated has none, and neither has one with numbers that are not finite.

    Args:
        path: The recording.
        cameras: Image topic to camera.

    Returns:
        The models by camera, and a sentence for each that is not finite.

    Raises:
        InputError: A topic is of another type, or a model is wrong.
    """
    found, faults = {}, []
    with TrialReader(path) as reader:
        for topic, view in cameras.items():
            beside = camera_info_beside(topic)
            if beside not in reader.topics:
                continue
            check_type(reader, beside, (INFO_TYPE,))
            message = next(reader.messages([beside]), None)
            info = None if message is None else reader.decode(message)
            if info is None or is_uncalibrated(info):
                continue
            if not is_finite(info):
                faults.append(unknown_intrinsics(view, beside, info))
                continue
            try:
                found[view] = intrinsics_from_info(info)
            except InputError as error:
                raise RecordingReadError(path, f"topic {beside}: {error}") from error
    return found, tuple(faults)


def unknown_intrinsics(view: View, topic: str, info: Any) -> str:
    """Return a sentence on the intrinsics of a camera that are recorded and not finite."""
    k = ", ".join(f"{value:g}" for value in info.k)
    return f"the intrinsics of the {view} camera are not known: {topic} has k = [{k}]"


def recorded_poses(
    path: Path, cameras: Mapping[str, View]
) -> tuple[dict[View, NDArray[np.float64]], tuple[str, ...]]:
    """Return the poses of cameras that stand still, from the frame ``base``, and why others have none.

    A camera whose frame hangs on one of /tf moves, and its pose is not known.

    Args:
        path: The recording.
        cameras: Image topic to camera.

    Returns:
        ``T_base_camera`` ``(4, 4)`` (m) by camera, and a sentence for each wrong transform.
    """
    found: dict[View, NDArray[np.float64]] = {}
    faults = []
    with TrialReader(path) as reader:
        tree = _static_tree(reader)
        for topic, view in cameras.items():
            message = next(reader.messages([topic]), None)
            try:
                frame = "" if message is None else frame_from_cdr(message.cdr)
                T_base_camera = tree.lookup(BASE_FRAME, frame, 0) if frame else None
            except InputError as error:
                faults.append(f"the pose of the {view} camera is not known: {error}")
                continue
            if T_base_camera is not None:
                found[view] = T_base_camera
    return found, tuple(faults)


def _static_tree(reader: TrialReader) -> TransformTree:
    """Return the transforms of /tf_static, wrong ones with their fault."""
    tree = TransformTree()
    if _STATIC not in reader.topics:
        return tree
    check_type(reader, _STATIC, (TF_TYPE,))
    for message in reader.messages([_STATIC]):
        for entry in reader.decode(message).transforms:
            tree.add(entry.header.frame_id, entry.child_frame_id, 0, _matrix_or_fault(entry.transform))
    return tree


def _matrix_or_fault(transform: Any) -> NDArray[np.float64] | str:
    try:
        return matrix_from_pose(
            SimpleNamespace(position=transform.translation, orientation=transform.rotation)
        )
    except InputError as error:
        return str(error)
