"""Cameras of the user's own code, and of plug-ins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.plugins import PluginGroup, find_plugin, plugin_names
from embodied_iqa.base.user_code import load_factory, own_code
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.imaging.images.hand_eye import PoseAt
from embodied_iqa.imaging.images.image_stamps import RefusalCounts, RefusedImageError, check_stamp
from embodied_iqa.imaging.images.live_camera import RgbdFrame
from embodied_iqa.live.cameras.camera_poses import followed_tool, known_poses
from embodied_iqa.live.cameras.camera_rig import CameraRig, open_views
from embodied_iqa.live.cameras.live_cameras import LiveCameras
from embodied_iqa.live.cameras.timed_cameras import TimedCameras
from embodied_iqa.live.ros.node import Health
from embodied_iqa.runs.graph.camera_parameters import CameraParameters


def open_own(rig: CameraRig) -> TimedCameras | LiveCameras:
    """Open the source ``python``: the path names a factory that takes a view and a clock.

    Raises:
        UsageError: A hand-eye pose is wrong.
        InputError: As `own_cameras`; or some cameras set the pace and others do not.
    """
    poses = known_poses(rig.config, followed_tool(rig))
    cameras = own_cameras(rig.config, rig.now_ns, poses, rig.node.get_logger().warning)
    live = [camera for camera in cameras if camera.is_live]
    if not live:
        return _OwnTimedCameras(rig, cameras)
    if len(live) < len(cameras):
        for camera in cameras:
            camera.close()
        expected = "all with read_rgbd, or none"
        raise InputError(f"{rig.config.path} makes cameras of two kinds", expected=expected)
    return LiveCameras(rig, live, depth=True)


def own_cameras(
    config: CameraParameters,
    clock_ns: Callable[[], int],
    poses: Mapping[View, PoseAt | None] = MappingProxyType({}),
    report: Callable[[str], object] = lambda _line: None,
) -> list[OwnCamera]:
    """Open one camera of the user's code for each view.

    Args:
        config: Factory and views.
        clock_ns: ROS time; an image is stamped when it is read.
        poses: Poses of the hand-eye calibration, for cameras that do not know theirs.
        report: Receives lines for the user.

    Raises:
        UsageError: No factory is given, or no such module or plug-in.
        InputError: The user's code fails.
    """
    path = config.needed_path()
    if ":" in path:
        factory = load_factory(path)
    elif (plugin := find_plugin(PluginGroup.CAMERAS, path)) is not None:
        factory = plugin.load()
    else:
        names = plugin_names(PluginGroup.CAMERAS)
        raise UsageError("no such camera", expected="module:function", got=path, available=names or None)
    with own_code(f"{path} failed"):
        return open_views(
            config,
            lambda view: OwnCamera(
                factory(view, clock_ns), view, poses.get(view), clock_ns=clock_ns, report=report
            ),
        )


class OwnCamera:
    """Implements `images.Camera` and `LiveCamera`: reports an exception of the user's camera in one line.

    Images whose stamp cannot date a lease are dropped and counted, see `check_stamp`; the first, the tenth
    and so on of each kind is reported.

    Args:
        camera: The user's: a `Camera`, or a `LiveCamera` if it has ``read_rgbd``.
        view: The camera's view.
        pose_at: Its pose by the hand-eye calibration, for frames without one; images that have none at their
            time are then dropped and counted. None where it is not known.
        clock_ns: ROS time.
        report: Receives lines for the user.
    """

    def __init__(
        self,
        camera: Any,
        view: View,
        pose_at: PoseAt | None,
        *,
        clock_ns: Callable[[], int],
        report: Callable[[str], object],
    ) -> None:
        self._camera = camera
        self._pose_at = pose_at
        self._clock_ns = clock_ns
        self._last_ns = 0
        self._refused = RefusalCounts(view, report)
        self.without_pose = 0
        self.view = view
        self.is_live = hasattr(camera, "read_rgbd")

    @property
    def remark(self) -> str:
        """What the user's camera says of itself."""
        with own_code(f"camera {self.view} failed"):
            return str(self._camera.remark)

    def counts(self) -> Mapping[str, int]:
        """Return what the user's camera counts, and the images that had no known pose or no usable stamp."""
        with own_code(f"camera {self.view} failed"):
            return {**self.own_counts(), **self._camera.counts()}

    def own_counts(self) -> dict[str, int]:
        """Return how many images had no known pose or no usable stamp."""
        return {"without_pose": self.without_pose, **self._refused.counts()}

    def read(self, deadline_s: float) -> Frame | None:
        """Return the next frame, with a pose where one is known."""
        with own_code(f"camera {self.view} failed"):
            frame: Frame | None = self._camera.read(deadline_s=deadline_s)
            return None if frame is None else self._posed(frame)

    def read_rgbd(self, deadline_s: float) -> RgbdFrame | None:
        """Return the next frame and its depth, with a pose where one is known."""
        with own_code(f"camera {self.view} failed"):
            both: RgbdFrame | None = self._camera.read_rgbd(deadline_s)
            if both is None or (frame := self._posed(both.frame)) is None:
                return None
            _check_depth(both, self.view)
            return replace(both, frame=frame)

    def close(self) -> None:
        """Close the user's camera."""
        with own_code(f"camera {self.view} failed to close"):
            self._camera.close()

    def _posed(self, frame: Frame) -> Frame | None:
        if frame.view != self.view:  # it would be judged, and leased, as the image of another camera
            raise InputError(f"camera {self.view} delivers images of another view", got=frame.view)
        try:
            check_stamp(frame.stamp_ns, self._last_ns, self._clock_ns())
        except RefusedImageError as error:
            self._refused.add(error.reason, error)
            return None
        self._last_ns = frame.stamp_ns
        if self._pose_at is None or frame.T_base_camera is not None:
            return frame
        T_base_camera = self._pose_at(frame.stamp_ns)
        if T_base_camera is None:
            self.without_pose += 1
            return None
        return replace(frame, T_base_camera=T_base_camera)


class _OwnTimedCameras(TimedCameras):
    """Counts the images that had no pose at their time, or no usable stamp."""

    def __init__(self, rig: CameraRig, cameras: Sequence[OwnCamera]) -> None:
        super().__init__(rig, cameras)
        self._own = cameras

    def health(self) -> Health:
        """Return the counts."""
        values: dict[str, object] = {
            f"{camera.view} {name}": count
            for camera in self._own
            for name, count in camera.own_counts().items()
        }
        return Health(values=values)


def _check_depth(both: RgbdFrame, view: View) -> None:
    depth, shape = both.depth, both.frame.rgb.shape[:2]
    if depth is not None and (depth.dtype != np.uint16 or depth.shape != shape or both.depth_unit_m <= 0.0):
        raise InputError(
            f"camera {view} delivers a wrong depth",
            expected=f"{shape} uint16 and depth_unit_m above 0",
            got=f"{depth.shape} {depth.dtype}, {both.depth_unit_m:g} m",
        )
