"""Intel RealSense cameras, connected or recorded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from embodied_iqa.base.errors import UsageError
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.hand_eye import PoseAt, PoseHistory
from embodied_iqa.imaging.images.live_camera import LiveCamera
from embodied_iqa.imaging.images.realsense import (
    RECORDING_SUFFIXES,
    RealSenseCamera,
    RealSenseOptions,
    RecordedRealSense,
)
from embodied_iqa.live.cameras.camera_poses import followed_tool, pose_functions
from embodied_iqa.live.cameras.camera_rig import CameraRig, open_views
from embodied_iqa.live.cameras.live_cameras import LiveCameras
from embodied_iqa.runs.graph.camera_parameters import CameraParameters


def open_realsense(rig: CameraRig) -> LiveCameras:
    """Open the source ``realsense``."""
    cameras = realsense_cameras(rig.config, rig.now_ns, followed_tool(rig))
    return LiveCameras(rig, cameras, depth=rig.config.realsense.depth)


def realsense_cameras(
    config: CameraParameters, clock_ns: Callable[[], int], tool_poses: PoseHistory
) -> list[LiveCamera]:
    """Open one RealSense, or one recording of a RealSense, for each view.

    Args:
        config: Views, serial numbers and poses of cameras; or the path of recordings.
        clock_ns: ROS time.
        tool_poses: `T_base_tool` by ROS time, for cameras on the flange.

    Raises:
        UsageError: The pose or the mode of a camera is wrong; no camera has been opened.
        InputError: A camera is not connected, or a recording cannot be played.
        MissingDependencyError: librealsense is not installed.
    """
    settings, poses = realsense_options(config), pose_functions(config, tool_poses)
    return open_views(config, lambda view: _realsense(config, view, settings, poses[view], clock_ns))


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


def _realsense(
    config: CameraParameters,
    view: View,
    settings: RealSenseOptions,
    pose_at: PoseAt,
    clock_ns: Callable[[], int],
) -> LiveCamera:
    if not config.path:
        serial = config.realsense.serial.get(view, "")
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
