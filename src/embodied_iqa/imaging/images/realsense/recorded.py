"""Recordings of librealsense (`.bag`, `.db3`) as a camera."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from embodied_iqa.base.clock import MONOTONIC, Clock
from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.images.file_camera import EndOfFramesError
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.hand_eye import PoseAt
from embodied_iqa.imaging.images.live_camera import RgbdFrame
from embodied_iqa.imaging.images.realsense.camera import RgbdCamera
from embodied_iqa.imaging.images.realsense.capture import Capture, play_file
from embodied_iqa.imaging.images.realsense.devices import load_library
from embodied_iqa.imaging.images.realsense.realsense_options import RealSenseOptions

RECORDING_SUFFIXES: Final = (".bag", ".db3")
_SLICE_S: Final = 0.1
_LAST_S: Final = 5.0
"""At the end of a file that is read without loss: images may still be on their way through the library."""


class RecordedRealSense(RgbdCamera):
    """A file that librealsense recorded.

    Args:
        path: The file.
        view: The camera's view.
        pose_at: Pose of the camera; see :class:`RgbdCamera`.
        clock_ns: ROS time that stamps are mapped to, with playback at the recorded speed; None keeps the
            stamps of the camera's clock and plays as fast as images are read, so that none is lost.
        loop: Start again at the end.
        allow_host_stamps: Accept recordings without stamps of the camera.
        clock: Of deadlines and pauses; playback itself is in real time.

    Raises:
        InputError: The file is missing or is not a recording.
    """

    def __init__(
        self,
        path: Path,
        view: View,
        pose_at: PoseAt,
        *,
        clock_ns: Callable[[], int] | None = None,
        loop: bool = False,
        allow_host_stamps: bool = False,
        clock: Clock = MONOTONIC,
    ) -> None:
        if path.suffix not in RECORDING_SUFFIXES or not path.is_file():
            raise InputError(
                "not a RealSense recording",
                expected=f"a file *{' or *'.join(RECORDING_SUFFIXES)}",
                got=str(path),
            )
        self._path = path
        self._clock_ns = clock_ns
        self._loop = loop
        self._clock = clock
        self._options = RealSenseOptions(allow_host_stamps=allow_host_stamps, queue_frames=256)
        super().__init__(view, pose_at, self._play())

    def read_rgbd(self, deadline_s: float) -> RgbdFrame | None:
        """Return the next colour frame with its depth, aligned to colour where the file has both.

        Raises:
            EndOfFramesError: All were read.
            InputError: Stamps or format cannot be used.
        """
        until = self._clock.now_s() + deadline_s
        while self._capture is not None:
            left_s = until - self._clock.now_s()
            ended = self._ended(self._capture)  # before the wait: images that arrived until then are read
            wait_s = _LAST_S if ended and self._clock_ns is None else _SLICE_S
            frame = self._next(self._capture, min(max(left_s, 0.0), wait_s))
            if frame is not None:
                return frame
            if ended:
                self._end()
            if left_s <= 0:
                return None
        raise EndOfFramesError(f"all images of {self._path} were shown")

    def close(self) -> None:
        """Close the file; calling it twice is fine."""
        capture, self._capture = self._capture, None
        if capture is not None:
            capture.stop()

    def _play(self) -> Capture:
        return play_file(self._path, self._options, real_time=self._clock_ns is not None)

    def _ended(self, capture: Capture) -> bool:
        stopped = load_library().playback_status.stopped
        return bool(capture.device.as_playback().current_status() == stopped)

    def _end(self) -> None:
        self.close()
        if self._loop:
            self._mapper.restart()
            self._capture = self._play()

    def _next(self, capture: Capture, timeout_s: float) -> RgbdFrame | None:
        images = self._clock.limit(capture.next, timeout_s)
        if images is None:
            return None
        stamp_ns = images.device_ns
        if self._clock_ns is not None:
            stamp_ns = self._mapper.to_ros_ns(stamp_ns, self._clock_ns())
        return self._posed(stamp_ns, images)
