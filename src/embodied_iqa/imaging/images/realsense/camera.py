"""A connected RealSense, chosen by its serial number and found again after it was unplugged."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Final

from embodied_iqa.base.clock import MONOTONIC, Clock
from embodied_iqa.base.errors import InputError
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.imaging.images.hand_eye import PoseAt
from embodied_iqa.imaging.images.live_camera import CameraLostError, RgbdFrame
from embodied_iqa.imaging.images.realsense.capture import Capture, ImageSet, stream_device
from embodied_iqa.imaging.images.realsense.devices import Devices, connected_devices, find_device
from embodied_iqa.imaging.images.realsense.frame_conversion import Lens
from embodied_iqa.imaging.images.realsense.realsense_options import RealSenseOptions
from embodied_iqa.imaging.images.realsense.stamps import StampMapper

_RETRY_S: Final = 0.2


class RgbdCamera(ABC):
    """Implements `images.Camera` and `LiveCamera`: `read_rgbd` also gives depth, aligned to colour.

    Args:
        view: The camera's view.
        pose_at: Pose of the camera; images without a known pose are dropped and counted.
        capture: The running stream.
    """

    def __init__(self, view: View, pose_at: PoseAt, capture: Capture) -> None:
        self._view = view
        self._pose_at = pose_at
        self._capture: Capture | None = capture
        self._lens = capture.lens
        self._mapper = StampMapper()
        self.without_pose = 0

    @property
    def view(self) -> View:
        """The camera's view."""
        return self._view

    @property
    def lens(self) -> Lens:
        """Calibration of the colour lens, as the device reports it."""
        return self._lens

    @property
    def remark(self) -> str:
        """Size of the images and what the pinhole model neglects of the lens."""
        lens = self._lens
        return (
            f"{lens.intrinsics.width_px}x{lens.intrinsics.height_px}, lens distortion of "
            f"{lens.distortion_px:.1f} px in the corners, which the pinhole model neglects"
        )

    def counts(self) -> Mapping[str, int]:
        """Return how many images had no known pose."""
        return {"without_pose": self.without_pose}

    def read(self, deadline_s: float) -> Frame | None:
        """Return the next colour frame; see `read_rgbd`."""
        both = self.read_rgbd(deadline_s)
        return None if both is None else both.frame

    @abstractmethod
    def read_rgbd(self, deadline_s: float) -> RgbdFrame | None:
        """Return the next colour frame with its depth, or None if none came within ``deadline_s`` seconds."""

    def _posed(self, stamp_ns: int, images: ImageSet) -> RgbdFrame | None:
        T_base_camera = self._pose_at(stamp_ns)
        if T_base_camera is None:
            self.without_pose += 1
            return None
        lens = self._lens
        frame = Frame(self._view, stamp_ns, images.rgb, lens.intrinsics, T_base_camera, lens.calibration)
        return RgbdFrame(frame, images.depth, images.sensor_depth, images.depth_unit_m)


class RealSenseCamera(RgbdCamera):
    """A connected camera, used from one thread. Colour pixels are those of the device, bit for bit.

    Args:
        view: The camera's view.
        serial: Serial number; empty for the only connected camera.
        options: Size, rate, deadlines.
        pose_at: Pose of the camera; images without a known pose are dropped and counted.
        clock_ns: ROS time in ns.
        devices: Lists the connected devices.
        clock: Of deadlines, silences and pauses.

    Raises:
        MissingDependencyError: librealsense's Python library cannot be loaded.
        InputError: The camera is not connected or cannot stream with these options.
        UsageError: No serial number is given and several cameras are connected.
    """

    def __init__(
        self,
        view: View,
        serial: str,
        options: RealSenseOptions,
        pose_at: PoseAt,
        clock_ns: Callable[[], int],
        *,
        devices: Devices = connected_devices,
        clock: Clock = MONOTONIC,
    ) -> None:
        super().__init__(view, pose_at, stream_device(find_device(devices(), serial), options))
        self._serial = serial
        self._options = options
        self._clock_ns = clock_ns
        self._devices = devices
        self._clock = clock
        self._lost = 0
        self._last_s = self._gone_s = self._clock.now_s()
        self._closed = False
        self._cause = ""
        self.reconnects = 0

    @property
    def lost(self) -> int:
        """Colour images that the camera counted but that never arrived."""
        return self._lost + (self._capture.lost if self._capture is not None else 0)

    def counts(self) -> Mapping[str, int]:
        """Return how many images were lost or had no known pose, and how often the camera came back."""
        return {"lost": self.lost, **super().counts(), "reconnects": self.reconnects}

    def read_rgbd(self, deadline_s: float) -> RgbdFrame | None:
        """Return the next colour frame with its depth, or None if none came within ``deadline_s`` seconds.

        Restarting a camera may take longer than the deadline (about a second).

        Raises:
            CameraLostError: The camera is missing for too long; reading on looks for it again.
            InputError: The camera is closed, or its stamps cannot be used.
        """
        until = self._clock.now_s() + deadline_s
        while not self._closed:
            left_s = until - self._clock.now_s()
            if self._capture is None:
                self._restart(left_s)
            elif (frame := self._next(self._capture, left_s)) is not None:
                return frame
            if left_s <= 0:
                return None
        raise InputError(f"the {self._view} camera is closed")

    def close(self) -> None:
        """Stop streaming; calling it twice is fine."""
        self._closed = True
        self._stop()

    def _next(self, capture: Capture, left_s: float) -> RgbdFrame | None:
        try:
            images = self._clock.limit(capture.next, min(max(left_s, 0.0), self._options.silence_s))
        except RuntimeError as error:
            self._lose(str(error))
            return None
        now_s = self._clock.now_s()
        if images is None:
            if now_s - self._last_s > self._options.silence_s:
                self._lose(f"no image for {self._options.silence_s:g} s")
            return None
        self._last_s = now_s
        arrival_ns = self._clock_ns()
        stamp_ns = self._mapper.to_ros_ns(images.device_ns, arrival_ns)
        age_s = (arrival_ns - stamp_ns) / SECOND_NS
        if age_s > self._options.stale_s:
            self._lose(f"an image was {age_s:.1f} s old")
            return None
        return self._posed(stamp_ns, images)

    def _lose(self, cause: str) -> None:
        self._cause = cause
        self._gone_s = self._clock.now_s()
        self._stop()

    def _stop(self) -> None:
        capture, self._capture = self._capture, None
        if capture is not None:
            self._lost += capture.lost
            capture.stop()

    def _restart(self, left_s: float) -> None:
        """Try to start the camera; wait a little if it is not connected."""
        try:
            self._capture = stream_device(find_device(self._devices(), self._serial), self._options)
        except InputError as error:
            away_s = self._clock.now_s() - self._gone_s
            if away_s > (give_up_s := self._options.give_up_s):
                raise CameraLostError(
                    f"the {self._view} camera was away for over {give_up_s:g} s ({self._cause}; {error})",
                    expected=f"back within {give_up_s:g} s",
                ) from error
            self._clock.sleep(max(0.0, min(left_s, _RETRY_S)))
            return
        self._lens = self._capture.lens
        self._mapper.restart()
        self._last_s = self._clock.now_s()
        self.reconnects += 1
