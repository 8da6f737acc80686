"""Cameras that set the pace: one thread for each publishes every image as it arrives."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from embodied_iqa.base.errors import UserError
from embodied_iqa.imaging.images.file_camera import EndOfFramesError
from embodied_iqa.imaging.images.realsense import RgbdFrame
from embodied_iqa.live.ros.camera_sources import RealSense

_DEADLINE_S = 0.5
_JOIN_S = 5.0


class LiveCameras:
    """Reads cameras in threads until it is closed.

    Args:
        cameras: The cameras; each is used by its own thread only.
        publish: Called with every frame, from the threads.
        warn: Called with messages for the user.
    """

    def __init__(
        self,
        cameras: Sequence[RealSense],
        publish: Callable[[RgbdFrame], None],
        warn: Callable[[str], object],
    ) -> None:
        self._cameras = cameras
        self._publish = publish
        self._warn = warn
        self._stop = threading.Event()
        self.failed: dict[str, str] = {}
        self._threads = [
            threading.Thread(target=self._work, args=(camera,), name=f"{camera.view} camera", daemon=True)
            for camera in cameras
        ]
        for camera in cameras:
            lens = camera.lens
            warn(
                f"{camera.view}: {lens.intrinsics.width_px}x{lens.intrinsics.height_px}, lens distortion of "
                f"{lens.distortion_px:.1f} px in the corners, which the pinhole model neglects"
            )
        for thread in self._threads:
            thread.start()

    def health(self) -> dict[str, object]:
        """Return the counts of lost frames, frames without a pose, and reconnects, by camera."""
        return {
            f"{camera.view} {name}": getattr(camera, name)
            for camera in self._cameras
            for name in ("lost", "without_pose", "reconnects")
            if hasattr(camera, name)  # a recording does not reconnect
        }

    def close(self) -> None:
        """Stop the threads and close the cameras."""
        self._stop.set()
        for thread in self._threads:
            thread.join(_JOIN_S)

    def _work(self, camera: RealSense) -> None:
        try:
            while not self._stop.is_set():
                both = camera.read_rgbd(_DEADLINE_S)
                if both is not None:
                    self._publish(both)
        except EndOfFramesError as end:
            self._warn(f"{camera.view}: {end}")
        except UserError as error:
            self.failed[str(camera.view)] = str(error)
            self._warn(f"{camera.view}: {error}")
        finally:
            camera.close()
