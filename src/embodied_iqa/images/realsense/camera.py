"""A RealSense at this computer, chosen by its serial number, found again after it was unplugged."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.errors import InputError
from embodied_iqa.images.frame import Frame, View
from embodied_iqa.images.realsense.capture import Capture, PictureSet, stream_device
from embodied_iqa.images.realsense.devices import Devices, connected_devices, find_device
from embodied_iqa.images.realsense.pictures import Lens, RgbdFrame
from embodied_iqa.images.realsense.settings import RealSenseSettings
from embodied_iqa.images.realsense.stamps import StampMapper

__all__ = ["PoseAt", "RealSenseCamera"]

PoseAt: TypeAlias = Callable[[int], NDArray[np.float64] | None]
"""Stamp (ROS time, ns) to ``T_base_camera`` ``(4, 4)``, or None where it is not known."""

_LOOK_AGAIN_S = 0.2


class RealSenseCamera:
    """Implements `images.Camera`; `read_rgbd` also gives depth, aligned to colour.

    Used from one thread. Colour pixels are those of the device, bit for bit.

    Args:
        view: The camera's view.
        serial: Serial number; empty for the only camera that is connected.
        settings: Size, rate, deadlines.
        pose_at: Where the camera was; pictures of times at which that is not known are left out and counted.
        clock_ns: ROS time in ns.
        devices: Lists the connected devices.

    Raises:
        MissingDependencyError: librealsense's Python library cannot be loaded.
        InputError: The camera is not connected or cannot stream this way.
        UsageError: No serial number is given and several cameras are connected.
    """

    def __init__(
        self,
        view: View,
        serial: str,
        settings: RealSenseSettings,
        pose_at: PoseAt,
        clock_ns: Callable[[], int],
        *,
        devices: Devices = connected_devices,
    ) -> None:
        self._view = view
        self._serial = serial
        self._settings = settings
        self._pose_at = pose_at
        self._clock_ns = clock_ns
        self._devices = devices
        self._mapper = StampMapper()
        self._lost = 0
        self._last_s = self._gone_s = time.monotonic()
        self._closed = False
        self._obstacle = ""
        self.reconnects = 0
        self.without_pose = 0
        self._capture: Capture | None = stream_device(find_device(devices(), serial), settings)
        self._lens = self._capture.lens

    @property
    def view(self) -> View:
        """The camera's view."""
        return self._view

    @property
    def lens(self) -> Lens:
        """What the device says of its colour lens."""
        return self._lens

    @property
    def lost(self) -> int:
        """Colour pictures that the camera made and that never came."""
        return self._lost + (self._capture.lost if self._capture is not None else 0)

    def read(self, deadline_s: float) -> Frame | None:
        """Return the next colour frame, or None where none came within ``deadline_s`` seconds.

        Raises:
            InputError: The camera is away for longer than it may be, or its stamps cannot be used.
        """
        both = self.read_rgbd(deadline_s)
        return None if both is None else both.frame

    def read_rgbd(self, deadline_s: float) -> RgbdFrame | None:
        """Return the next colour frame with its depth, or None where none came within ``deadline_s`` seconds.

        Starting a camera again after it was away may take longer than the deadline (about a second).

        Raises:
            InputError: The camera is away for longer than it may be, or its stamps cannot be used.
        """
        until = time.monotonic() + deadline_s
        while not self._closed:
            left_s = until - time.monotonic()
            if self._capture is None:
                self._look_again(left_s)
            elif (frame := self._next(self._capture, left_s)) is not None:
                return frame
            if left_s <= 0:
                return None
        raise InputError(f"the {self._view} camera is closed")

    def close(self) -> None:
        """Stop to stream; calling it twice is fine."""
        self._closed = True
        self._drop()

    def _next(self, capture: Capture, left_s: float) -> RgbdFrame | None:
        try:
            pictures = capture.next(min(max(left_s, 0.0), self._settings.silence_s))
        except RuntimeError as error:
            self._gone(str(error))
            return None
        now_s = time.monotonic()
        if pictures is None:
            if now_s - self._last_s > self._settings.silence_s:
                self._gone(f"no picture for {self._settings.silence_s:g} s")
            return None
        self._last_s = now_s
        return self._frame(capture, pictures)

    def _frame(self, capture: Capture, pictures: PictureSet) -> RgbdFrame | None:
        arrival_ns = self._clock_ns()
        stamp_ns = self._mapper.to_ros_ns(pictures.device_ns, arrival_ns)
        if arrival_ns - stamp_ns > self._settings.stale_s * 1e9:
            self._gone(f"a picture was {(arrival_ns - stamp_ns) / 1e9:.1f} s old")
            return None
        T_base_camera = self._pose_at(stamp_ns)
        if T_base_camera is None:
            self.without_pose += 1
            return None
        frame = Frame(self._view, stamp_ns, pictures.rgb, capture.lens.intrinsics, T_base_camera)
        return RgbdFrame(frame, pictures.depth, pictures.sensor_depth, pictures.depth_unit_m)

    def _gone(self, why: str) -> None:
        self._obstacle = why
        self._gone_s = time.monotonic()
        self._drop()

    def _drop(self) -> None:
        capture, self._capture = self._capture, None
        if capture is not None:
            self._lost += capture.lost
            capture.stop()

    def _look_again(self, left_s: float) -> None:
        """Try to start the camera; wait a little where it is not there."""
        try:
            self._capture = stream_device(find_device(self._devices(), self._serial), self._settings)
        except InputError as error:
            away_s = time.monotonic() - self._gone_s
            if away_s > self._settings.give_up_s:
                raise InputError(
                    f"the {self._view} camera was away for {away_s:.0f} s ({self._obstacle}; {error})",
                    expected=f"back within {self._settings.give_up_s:g} s",
                ) from error
            time.sleep(max(0.0, min(left_s, _LOOK_AGAIN_S)))
            return
        self._lens = self._capture.lens
        self._mapper.restart()
        self._last_s = time.monotonic()
        self.reconnects += 1
