"""Cameras that are read at the rate of the parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from embodied_iqa.base.errors import UserError
from embodied_iqa.data.recording.errors import OneImageError
from embodied_iqa.imaging.images.file_camera import EndOfFramesError
from embodied_iqa.imaging.images.frame import Camera
from embodied_iqa.live.cameras.camera_rig import CameraRig
from embodied_iqa.live.ros.node import Health


class TimedCameras:
    """Publishes the next image of every camera, again and again; a camera is closed at its end.

    Args:
        rig: The camera node.
        cameras: The cameras.
        begin: Called before every round of all cameras.
    """

    def __init__(
        self, rig: CameraRig, cameras: Iterable[Camera], begin: Callable[[], None] = lambda: None
    ) -> None:
        self._rig, self._begin = rig, begin
        self._cameras = list(cameras)
        rig.node.create_timer(1.0 / rig.config.rate_hz, self._read)

    def health(self) -> Health:
        """Return that all is well: a camera that fails ends the node."""
        return Health()

    def close(self) -> None:
        """Close the cameras that have not ended."""
        for camera in self._cameras:
            try:
                camera.close()
            except UserError as error:
                self._rig.node.get_logger().warning(str(error))

    def _read(self) -> None:
        self._begin()
        for camera in list(self._cameras):
            try:
                frame = camera.read(deadline_s=0.0)
            except EndOfFramesError as end:
                self._rig.node.get_logger().warning(f"{camera.view}: {end}")
                self._cameras.remove(camera)
                camera.close()
                continue
            except OneImageError as error:
                self._rig.node.get_logger().warning(f"{camera.view}: {error}", throttle_duration_sec=1.0)
                continue
            if frame is not None:
                self._rig.publish(frame)
