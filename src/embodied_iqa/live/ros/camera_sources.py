"""Cameras that are not simulated: image files, recordings, RealSense."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.kinematics import tool_along_z
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.base.user_code import load_factory, own_code
from embodied_iqa.data.recording.bag_camera import BagCamera, BagCameraOptions
from embodied_iqa.imaging.images.codecs import picture_files, read_picture
from embodied_iqa.imaging.images.file_camera import FileCamera, intrinsics_of_fov
from embodied_iqa.imaging.images.frame import Camera, View
from embodied_iqa.imaging.images.hand_eye import IDENTITY, PoseHistory, checked_pose, fixed_pose, wrist_pose
from embodied_iqa.imaging.images.realsense import (
    RECORDING_SUFFIXES,
    PoseAt,
    RealSenseCamera,
    RealSenseOptions,
    RecordedRealSense,
)
from embodied_iqa.imaging.images.run_playback import RunPlayback, StoredCamera
from embodied_iqa.runs.graph.camera_parameters import CameraParameters, CameraSource

RealSense = RealSenseCamera | RecordedRealSense


def open_cameras(config: CameraParameters, clock_ns: Callable[[], int]) -> list[Camera]:
    """Open one camera for each view.

    Args:
        config: Source, path and views.
        clock_ns: ROS time; an image is stamped when it is read.

    Raises:
        UsageError: No path is given, or no such module.
        InputError: No images found at the path, or the user's code fails.
    """
    if not config.path:
        raise UsageError(f"camera source {config.source} needs a path", expected="the parameter path")
    if config.source is CameraSource.PYTHON:
        factory = load_factory(config.path)
        with own_code(f"{config.path} failed"):
            return [factory(view, clock_ns) for view in config.views]
    stored = [_stored_camera(Path(config.path), view, config, clock_ns) for view in config.views]
    return [RunPlayback(camera, clock_ns) for camera in stored] if config.in_runs else list(stored)


def _stored_camera(
    path: Path, view: View, config: CameraParameters, clock_ns: Callable[[], int]
) -> StoredCamera:
    stated = stated_pose(config, view)
    if config.source is CameraSource.BAG:
        # what a recording does not know stays unknown: a subject that needs it says so
        options = BagCameraOptions(
            T_base_camera=stated, geometry_optional=True, loop=config.loop, clock_ns=clock_ns
        )
        return BagCamera(path, view, options)
    of_view = path / view
    files = picture_files(of_view if of_view.is_dir() else path)
    height_px, width_px, _ = read_picture(files[0]).shape
    intrinsics = intrinsics_of_fov(width_px, height_px, config.horizontal_fov_rad)
    return FileCamera(files, view, intrinsics, T_base_camera=stated, clock_ns=clock_ns, loop=config.loop)


def stated_pose(config: CameraParameters, view: View) -> NDArray[np.float64] | None:
    """Return the pose ``(4, 4)`` that the parameters give a fixed camera (m); None where they give none.

    Raises:
        UsageError: It is invalid or implausible.
    """
    hand_eye = config.hand_eye
    fixed = {View.TOP: hand_eye.T_base_camera_top, View.SIDE: hand_eye.T_base_camera_side}
    numbers = fixed.get(view, IDENTITY)
    return None if numbers == IDENTITY else checked_pose(numbers, view)


def open_realsense(
    config: CameraParameters, clock_ns: Callable[[], int], tool_poses: PoseHistory
) -> list[RealSense]:
    """Open one RealSense, or one recording of a RealSense, for each view.

    Args:
        config: Views, serial numbers and poses of cameras; or the path of recordings.
        clock_ns: ROS time.
        tool_poses: `T_base_tool` by ROS time, for the wrist camera.

    Raises:
        UsageError: The pose or the mode of a camera is wrong; no camera has been opened.
        InputError: A camera is not connected, or a recording cannot be played.
        MissingDependencyError: librealsense is not installed.
    """
    settings, poses = realsense_options(config), pose_functions(config, tool_poses)
    opened: list[RealSense] = []
    with ExitStack() as undo:  # closes the open cameras where the next one fails
        for view in config.views:
            camera = _realsense(config, view, settings, poses[view], clock_ns)
            undo.callback(camera.close)
            opened.append(camera)
        undo.pop_all()
    return opened


def realsense_options(config: CameraParameters) -> RealSenseOptions:
    """Return the settings of every RealSense.

    Raises:
        UsageError: The rate is not a whole number.
    """
    if not config.rate_hz.is_integer():
        raise UsageError("a RealSense streams at whole rates", expected="such as 30.0", got=config.rate_hz)
    wanted = config.realsense
    return RealSenseOptions(
        width_px=config.width_px,
        height_px=config.height_px,
        rate_hz=int(config.rate_hz),
        depth=wanted.depth,
        allow_host_stamps=wanted.allow_host_stamps,
        silence_s=wanted.silence_s,
        give_up_s=wanted.give_up_s,
    )


def pose_functions(config: CameraParameters, tool_poses: PoseHistory) -> dict[View, PoseAt]:
    """Return the pose of each camera as a function of time.

    Raises:
        UsageError: A pose is invalid or implausible.
    """
    hand_eye = config.hand_eye
    numbers = {
        View.TOP: hand_eye.T_base_camera_top,
        View.SIDE: hand_eye.T_base_camera_side,
        View.WRIST: hand_eye.T_flange_camera_wrist,
    }
    T_flange_tool = tool_along_z(hand_eye.tool_length_m)

    def pose_of(view: View) -> PoseAt:
        pose = checked_pose(numbers[view], view)
        if view is not View.WRIST:
            return fixed_pose(pose)
        return wrist_pose(pose, T_flange_tool, tool_poses, round(hand_eye.longest_gap_s * SECOND_NS))

    return {view: pose_of(view) for view in config.views}


def _realsense(
    config: CameraParameters,
    view: View,
    settings: RealSenseOptions,
    pose_at: PoseAt,
    clock_ns: Callable[[], int],
) -> RealSense:
    if not config.path:
        serial = getattr(config.realsense, f"serial_{view}")
        return RealSenseCamera(view, serial, settings, pose_at, clock_ns)
    return RecordedRealSense(
        _recording_of(Path(config.path), view),
        view,
        pose_at,
        clock_ns=clock_ns,
        loop=config.loop,
        allow_host_stamps=settings.allow_host_stamps,
    )


def _recording_of(path: Path, view: View) -> Path:
    if not path.is_dir():
        return path
    names = [path / f"{view}{suffix}" for suffix in RECORDING_SUFFIXES]
    for name in names:
        if name.is_file():
            return name
    raise UsageError(f"{path} has no recording of the {view} camera", expected=" or ".join(map(str, names)))
