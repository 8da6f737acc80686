"""Cameras that set the pace: one thread for each publishes every image as it arrives."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from diagnostic_msgs.msg import DiagnosticStatus
from sensor_msgs.msg import Image

from embodied_iqa.base.clock import MONOTONIC, Clock
from embodied_iqa.base.errors import UserError, first_line
from embodied_iqa.imaging.images.file_camera import EndOfFramesError
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.live_camera import CameraLostError, LiveCamera, RgbdFrame
from embodied_iqa.live.cameras.camera_rig import CameraRig
from embodied_iqa.live.ros.conversion import depth_to_msg
from embodied_iqa.live.ros.node import Health
from embodied_iqa.live.ros.qos import IMAGE, adjustable

_DEADLINE_S = 0.5
_CLOSE_S = 1.5
"""Time in which all cameras close: `ros2 launch` kills a node that takes 5 s in all to end."""


class LiveCameras:
    """Reads cameras in threads until it is closed.

    Args:
        rig: The camera node.
        cameras: The cameras; each is used by its own thread only.
        depth: Publish the depth too, on /camera/<view>/depth/image_raw.
        silence: Returns which of them are silent and why; empty while all send.
        clock: Of the time in which they close.
    """

    def __init__(
        self,
        rig: CameraRig,
        cameras: Sequence[LiveCamera],
        *,
        depth: bool,
        silence: Callable[[], str] = str,
        clock: Clock = MONOTONIC,
    ) -> None:
        self._rig, self._silence, self._clock = rig, silence, clock
        self._cameras = cameras
        self._inform = rig.node.get_logger().info
        self._stop = threading.Event()
        self._failed: dict[View, str] = {}
        self._open = {camera.view for camera in cameras}
        self._closed = threading.Condition()
        self._depths = {
            camera.view: rig.node.create_publisher(
                Image, f"camera/{camera.view}/depth/image_raw", **adjustable(IMAGE)
            )
            for camera in cameras
            if depth
        }
        for camera in cameras:
            self._inform(f"{camera.view}: {camera.remark}")
        for camera in cameras:
            name = f"{camera.view} camera"
            threading.Thread(target=self._work, args=(camera,), name=name, daemon=True).start()

    def health(self) -> Health:
        """Return the counts of every camera, and why some have failed or are silent."""
        values: dict[str, object] = {
            f"{camera.view} {name}": count
            for camera in self._cameras
            for name, count in camera.counts().items()
        }
        if self._failed:
            return Health(DiagnosticStatus.ERROR, "; ".join(self._failed.values()), values)
        if silence := self._silence():
            return Health(DiagnosticStatus.WARN, silence, values)
        return Health(values=values)

    def close(self) -> None:
        """Stop the threads and close the cameras; name those that do not return in time, and leave them."""
        self._stop.set()
        until_s = self._clock.now_s() + _CLOSE_S
        with self._closed:
            while self._open and (left_s := until_s - self._clock.now_s()) > 0.0:
                self._clock.wait(self._closed, left_s)
            views = ", ".join(sorted(self._open))
        if views:
            self._rig.node.get_logger().warning(f"{views}: not closed within {_CLOSE_S:g} s")

    def _publish(self, both: RgbdFrame) -> None:
        self._rig.publish(both.frame)
        if both.depth is not None and both.frame.view in self._depths:
            self._depths[both.frame.view].publish(depth_to_msg(both))

    def _fail(self, view: View, words: str) -> None:
        if view not in self._failed:
            self._inform(f"{view}: {words}")
        self._failed[view] = words

    def _next(self, camera: LiveCamera) -> RgbdFrame | None:
        """Return an image if one came; a camera that is lost is looked for again a little later."""
        try:
            both = camera.read_rgbd(_DEADLINE_S)
        except CameraLostError as error:
            self._fail(camera.view, str(error))
            self._stop.wait(_DEADLINE_S)
            return None
        if both is not None and self._failed.pop(camera.view, ""):
            self._inform(f"{camera.view}: images again")
        return both

    def _work(self, camera: LiveCamera) -> None:
        try:
            while not self._stop.is_set():
                both = self._next(camera)
                if both is not None and not self._stop.is_set():
                    self._publish(both)
        except EndOfFramesError as end:
            self._inform(f"{camera.view}: {end}")
        except UserError as error:
            self._fail(camera.view, str(error))
        except Exception as error:
            self._fail(
                camera.view, f"camera {camera.view} failed: {type(error).__name__}: {first_line(error)}"
            )
            raise  # a bug: its traceback is shown
        finally:
            self._close(camera)

    def _close(self, camera: LiveCamera) -> None:
        try:
            camera.close()
        finally:
            with self._closed:
                self._open.discard(camera.view)
                self._closed.notify_all()
