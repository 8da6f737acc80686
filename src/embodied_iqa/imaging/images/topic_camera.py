"""A camera that somebody else's node publishes: images, camera info and depth, as their messages arrive."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.clock import MONOTONIC, Clock
from embodied_iqa.base.errors import InputError
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.imaging.images.frame import Frame, LensCalibration, View
from embodied_iqa.imaging.images.hand_eye import PoseAt
from embodied_iqa.imaging.images.image_cdr import (
    compressed_from_cdr,
    depth_from_cdr,
    image_from_cdr,
    stamp_from_cdr,
)
from embodied_iqa.imaging.images.image_stamps import AHEAD_S, RefusalCounts, RefusedImageError, check_stamp
from embodied_iqa.imaging.images.live_camera import CameraLostError, RgbdFrame
from embodied_iqa.imaging.images.message_geometry import lens_from_info
from embodied_iqa.imaging.images.rectifier import Rectifier
from embodied_iqa.imaging.images.state_history import StateHistory

_DEPTHS: Final = 8
"""Depth images that wait for their image of colour."""
_MILLIMETRE: Final = 1e-3
_SILENCE_S: Final = 2.0
"""Time without an image after which that is reported."""

OF_IMAGES: Final = (
    "damaged",
    "stamp_zero",
    "stamp_repeated",
    "stamp_backwards",
    "stamp_ahead",
    "too_old",
)
"""What can be wrong with the images alone."""
COUNTED: Final = (
    *OF_IMAGES,
    "wrong_size",
    "uncalibrated",
    "without_pose",
    "without_depth",
    "damaged_depth",
    "damaged_info",
)
"""What can be wrong with the messages of a camera."""


@dataclass(frozen=True, slots=True)
class TopicOptions:
    """How messages become frames.

    Attributes:
        image: Topic of the images, for messages.
        compressed: Whether its messages are CompressedImage.
        depth: Whether each image of colour has one of depth.
        rectify: Remove the distortion of the lens.
        depth_gap_s: Longest time between the stamps of an image and its depth [s].
        depth_wait_s: Longest time that an image waits for its depth to arrive [s].
        ahead_s: How far a stamp may be in the future [s].
        stale_s: Oldest image that is accepted, by its stamp [s].
        give_up_s: Time without an image after which the camera counts as lost [s].
    """

    image: str
    compressed: bool = False
    depth: bool = False
    rectify: bool = False
    depth_gap_s: float = 0.02
    depth_wait_s: float = 0.05
    ahead_s: float = AHEAD_S
    stale_s: float = 2.0
    give_up_s: float = 30.0


class TopicCamera:
    """Implements `LiveCamera`. Messages come from one thread, frames are read in another.

    Of the images that wait the newest is kept. What is wrong with a message is counted, and reported when its
    count is a power of ten.

    Args:
        view: The camera's view.
        options: See there.
        pose_at: Pose of the camera, whose frame is that of the image before it is rectified; images without a
            pose are then dropped. None where it is not known.
        clock_ns: ROS time in ns.
        report: Receives lines for the user.
        missed: Returns how many images the middleware lost.
        why_none: Returns why no image can come, as the middleware knows it; empty where one can.
        clock: Of deadlines and silences.
    """

    def __init__(
        self,
        view: View,
        options: TopicOptions,
        pose_at: PoseAt | None,
        clock_ns: Callable[[], int],
        *,
        report: Callable[[str], object],
        missed: Callable[[], int] = lambda: 0,
        why_none: Callable[[], str] = str,
        clock: Clock = MONOTONIC,
    ) -> None:
        self._view = view
        self._options = options
        self._pose_at = pose_at
        self._clock_ns = clock_ns
        self._report = report
        self._missed = missed
        self._why_none = why_none
        self._clock = clock
        self._news = threading.Condition()
        self._overtaken = 0
        self._refused = RefusalCounts(view, report, COUNTED)
        self._waiting: bytes | None = None
        self._lens: LensCalibration | None = None
        self._rectifier: Rectifier | None = None
        self._depths: StateHistory[bytes] = StateHistory(_DEPTHS)
        self._last_ns = 0
        self._last_s = clock.now_s()
        self._cause = ""
        self._is_silent = self._closed = False

    @property
    def view(self) -> View:
        """The camera's view."""
        return self._view

    @property
    def remark(self) -> str:
        """Topic, and what is done to the images."""
        done = "rectified" if self._options.rectify else "as they come"
        place = "pose not known" if self._pose_at is None else "pose of the hand-eye calibration"
        return f"images of {self._options.image}, {done}; {place}"

    @property
    def silence(self) -> str:
        """Why no image came for 2 s, with view and topic; empty where one did."""
        if self._clock.now_s() - self._last_s <= _SILENCE_S:
            return ""
        where = f"no image of {self._view} on {self._options.image}"
        return f"{where} for {_SILENCE_S:g} s ({self._why_silent()})"

    def counts(self) -> Mapping[str, int]:
        """Return how many images were lost, overtaken by a newer one or refused, by reason."""
        with self._news:
            counts = {"lost": self._missed(), "overtaken": self._overtaken}
        return counts | self._refused.counts()

    # --- messages -------------------------------------------------------------------------------------------

    def take_image(self, cdr: bytes) -> None:
        """Take a message of the image topic; one that still waits is dropped."""
        with self._news:
            if self._closed:
                return
            self._overtaken += self._waiting is not None
            self._waiting = cdr
            self._news.notify_all()

    def take_depth(self, cdr: bytes) -> None:
        """Take a message of the depth topic."""
        try:
            stamp_ns = stamp_from_cdr(cdr)
        except InputError as error:
            self._count("damaged_depth", error)
            return
        with self._news:
            self._depths.add(stamp_ns, cdr)
            self._news.notify_all()

    def take_info(self, info: Any) -> None:
        """Take a sensor_msgs/CameraInfo; a damaged one makes the calibration unknown."""
        lens: LensCalibration | None = None
        try:
            lens = lens_from_info(info)
        except InputError as error:
            self._count("damaged_info", error)
        with self._news:
            self._lens = lens

    # --- frames ---------------------------------------------------------------------------------------------

    def read_rgbd(self, deadline_s: float) -> RgbdFrame | None:
        """Return the next image, or None if none that can be used came within ``deadline_s`` seconds.

        Raises:
            CameraLostError: None came for too long.
        """
        cdr = self._next(deadline_s)
        if cdr is not None:
            try:
                return self._frame_of(cdr)
            except RefusedImageError as error:
                self._count(error.reason, error)
            except InputError as error:
                self._count("damaged", error)
        self._watch_silence()
        return None

    def close(self) -> None:
        """Take no further image; the node owns the subscriptions."""
        with self._news:
            self._closed = True
            self._waiting = None

    def _watch_silence(self) -> None:
        silence_s = self._clock.now_s() - self._last_s
        if silence_s > _SILENCE_S and not self._is_silent:
            self._is_silent = True
            self._report(self.silence)
        image, give_up_s = self._options.image, self._options.give_up_s
        if silence_s > give_up_s:
            raise CameraLostError(
                f"the {self._view} camera was silent for over {give_up_s:g} s ({self._why_silent()})",
                expected=f"images on {image} within {give_up_s:g} s",
            )

    def _why_silent(self) -> str:
        why = self._why_none() or self._cause
        if not self._last_ns:
            return why or "none came"
        since = f"none since {datetime.fromtimestamp(self._last_ns / SECOND_NS, UTC):%H:%M:%S} UTC"
        return f"{why}; {since}" if why else since

    def _next(self, deadline_s: float) -> bytes | None:
        until_s = self._clock.now_s() + deadline_s
        with self._news:
            while self._waiting is None and (left_s := until_s - self._clock.now_s()) > 0.0:
                self._clock.wait(self._news, left_s)
            cdr, self._waiting = self._waiting, None
            return cdr

    def _frame_of(self, cdr: bytes) -> RgbdFrame:
        stamp_ns = self._checked_stamp(cdr)
        image = compressed_from_cdr(cdr) if self._options.compressed else image_from_cdr(cdr)
        rgb = image.rgb
        with self._news:
            lens = self._lens
        rectifier = self._rectifier_of(lens, rgb)
        T_base_camera = self._pose_of(stamp_ns)
        depth = self._depth_of(stamp_ns, rgb) if self._options.depth else None
        if rectifier is not None:
            rgb, lens = rectifier.image(rgb), rectifier.lens
            depth = None if depth is None else rectifier.depth(depth)
            T_base_camera = None if T_base_camera is None else rectifier.pose(T_base_camera)
        self._last_ns, self._last_s, self._is_silent = stamp_ns, self._clock.now_s(), False
        self._cause = ""
        intrinsics = None if lens is None else lens.pinhole
        frame = Frame(self._view, stamp_ns, rgb, intrinsics, T_base_camera, lens)
        return RgbdFrame(frame, depth, None, _MILLIMETRE)

    def _checked_stamp(self, cdr: bytes) -> int:
        """Return the stamp (ns) if a lease may be dated by it."""
        stamp_ns, options, now_ns = stamp_from_cdr(cdr), self._options, self._clock_ns()
        check_stamp(stamp_ns, self._last_ns, now_ns, options.ahead_s)
        age_s = (now_ns - stamp_ns) / SECOND_NS
        if age_s > options.stale_s:
            limit = f"at most {options.stale_s:g} s"
            raise RefusedImageError("too_old", "an image is old", expected=limit, got=f"{age_s:.3f} s")
        return stamp_ns

    def _rectifier_of(self, lens: LensCalibration | None, rgb: NDArray[np.uint8]) -> Rectifier | None:
        """Return what rectifies an image; None where none is wanted."""
        height_px, width_px, _ = rgb.shape
        if lens is not None and (lens.width_px, lens.height_px) != (width_px, height_px):
            raise RefusedImageError(
                "wrong_size",
                "an image has another size than its camera_info",
                expected=f"{lens.width_px} x {lens.height_px}",
                got=f"{width_px} x {height_px}",
            )
        if not self._options.rectify:
            return None
        if lens is None:
            expected = "a camera_info with a calibration"
            raise RefusedImageError("uncalibrated", "an image cannot be rectified", expected=expected)
        if self._rectifier is None or self._rectifier.of != lens:
            try:
                self._rectifier = Rectifier(lens)
            except InputError as error:
                raise RefusedImageError("uncalibrated", str(error)) from error
        return self._rectifier

    def _pose_of(self, stamp_ns: int) -> NDArray[np.float64] | None:
        if self._pose_at is None:
            return None
        T_base_camera = self._pose_at(stamp_ns)
        if T_base_camera is None:
            raise RefusedImageError(
                "without_pose", "an image has no pose", expected="a tool pose of its time"
            )
        return T_base_camera

    def _depth_of(self, stamp_ns: int, rgb: NDArray[np.uint8]) -> NDArray[np.uint16] | None:
        """Return the depth nearest in time; None, and counted, where there is none that fits."""
        gap_s, wait_s = self._options.depth_gap_s, self._options.depth_wait_s
        gap_ns, began_s = round(gap_s * SECOND_NS), self._clock.now_s()
        with self._news:
            while self._depths.at(stamp_ns) is None:
                # where an earlier one fits, a nearer one is worth no more time than lies between the two
                has_one = self._depths.nearest(stamp_ns, gap_ns) is not None
                left_s = began_s + (min(gap_s, wait_s) if has_one else wait_s) - self._clock.now_s()
                if left_s <= 0.0:
                    break
                self._clock.wait(self._news, left_s)
        cdr = self._depths.nearest(stamp_ns, gap_ns)
        if cdr is None:
            self._count("without_depth", f"an image has no depth within {gap_s:g} s")
            return None
        try:
            _stamp_ns, depth = depth_from_cdr(cdr)
        except InputError as error:
            self._count("damaged_depth", error)
            return None
        if depth.shape != rgb.shape[:2]:
            words = f"depth is not aligned to colour: {depth.shape[1]} x {depth.shape[0]}"
            self._count("damaged_depth", f"{words}, expected {rgb.shape[1]} x {rgb.shape[0]}")
            return None
        return depth

    def _count(self, reason: str, words: object) -> None:
        self._cause = f"{reason}: {words}"
        self._refused.add(reason, words)
