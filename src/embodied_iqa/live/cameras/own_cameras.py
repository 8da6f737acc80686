"""Cameras of the user's own code."""

from __future__ import annotations

from collections.abc import Callable

from embodied_iqa.base.user_code import load_factory, own_code
from embodied_iqa.imaging.images.frame import Camera, Frame, View
from embodied_iqa.live.cameras.camera_rig import CameraRig, open_views
from embodied_iqa.live.cameras.timed_cameras import TimedCameras
from embodied_iqa.runs.graph.camera_parameters import CameraParameters


def open_own(rig: CameraRig) -> TimedCameras:
    """Open the source ``python``: the path names a factory that takes a view and a clock."""
    return TimedCameras(rig, own_cameras(rig.config, rig.now_ns))


def own_cameras(config: CameraParameters, clock_ns: Callable[[], int]) -> list[_OwnCamera]:
    """Open one camera of the user's code for each view.

    Args:
        config: Factory and views.
        clock_ns: ROS time; an image is stamped when it is read.

    Raises:
        UsageError: No factory is given, or no such module.
        InputError: The user's code fails.
    """
    path = config.needed_path()
    factory = load_factory(path)
    with own_code(f"{path} failed"):
        return open_views(config, lambda view: _OwnCamera(factory(view, clock_ns), view))


class _OwnCamera:
    """Implements `images.Camera`: reports an exception of the user's camera in one line."""

    def __init__(self, camera: Camera, view: View) -> None:
        self._camera = camera
        self.view = view

    def read(self, deadline_s: float) -> Frame | None:
        with own_code(f"camera {self.view} failed"):
            return self._camera.read(deadline_s=deadline_s)

    def close(self) -> None:
        with own_code(f"camera {self.view} failed to close"):
            self._camera.close()
