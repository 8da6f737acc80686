"""A running librealsense pipeline: colour and depth images in pairs, from a device or a recorded file."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.images.realsense.devices import colour_modes, load_library, serial_of
from embodied_iqa.imaging.images.realsense.frame_conversion import Lens, colour_pixels, lens_of
from embodied_iqa.imaging.images.realsense.realsense_options import RealSenseOptions
from embodied_iqa.imaging.images.realsense.stamps import ClockDomain, check_domains

_TOLERANCE_PERIODS: Final = 0.6
"""Half a period is the most by which two free-running sensors of one rate differ; the rest is jitter."""


@dataclass(frozen=True, slots=True)
class SetStamp:
    """Identity of a set of images.

    Attributes:
        colour_number: The camera's count of colour images.
        colour_ms: The colour image's stamp by the camera's clock.
        depth_ms: The depth image's, or None without depth.
    """

    colour_number: int
    colour_ms: float
    depth_ms: float | None


class Pairing:
    """Accepts each colour image once, with the depth image of the same time.

    librealsense emits a set whenever one of its streams has a new image, so the same colour image can
    come twice, first with an old depth image and then with its own.

    Args:
        period_ms: Time between two images.
        with_depth: Whether a set needs depth.
    """

    def __init__(self, period_ms: float, *, with_depth: bool) -> None:
        self._tolerance_ms = _TOLERANCE_PERIODS * period_ms
        self._with_depth = with_depth
        self._last: int | None = None
        self.lost = 0

    def accept(self, stamp: SetStamp) -> bool:
        """Return whether a set is new and complete; skipped colour images count as lost."""
        if self._last is not None and stamp.colour_number == self._last:
            return False
        if self._with_depth and (
            stamp.depth_ms is None or abs(stamp.depth_ms - stamp.colour_ms) > self._tolerance_ms
        ):
            return False
        if self._last is not None and stamp.colour_number > self._last:
            self.lost += stamp.colour_number - self._last - 1
        self._last = stamp.colour_number
        return True

    def restart(self) -> None:
        """Forget the last image: the camera's count starts again."""
        self._last = None


@dataclass(frozen=True, slots=True, eq=False)
class ImageSet:
    """One colour image and its depth.

    Attributes:
        rgb: ``(H, W, 3)`` uint8.
        depth: ``(H, W)`` uint16 aligned to colour, or None.
        sensor_depth: uint16, unaligned, or None.
        depth_unit_m: Length of one step of depth (m); 0 without depth.
        device_ns: Time of the colour image by the camera's clock.
        number: The camera's count of colour images.
    """

    rgb: NDArray[np.uint8]
    depth: NDArray[np.uint16] | None
    sensor_depth: NDArray[np.uint16] | None
    depth_unit_m: float
    device_ns: int
    number: int


class Capture:
    """A running pipeline, made by :func:`stream_device` and :func:`play_file`.

    Args:
        pipeline: Running ``pyrealsense2.pipeline``.
        profile: Its streams.
        queue: Receives its sets; None to poll the pipeline itself.
        options: Options of the stream.
    """

    def __init__(self, pipeline: Any, profile: Any, queue: Any, options: RealSenseOptions) -> None:
        library = load_library()
        colour = profile.get_stream(library.stream.color).as_video_stream_profile()
        self._pipeline = pipeline
        self._queue = queue
        self._profile = profile
        self._depth = any(item.stream_type() == library.stream.depth for item in profile.get_streams())
        self._align = library.align(library.stream.color) if self._depth else None
        self._pairing = Pairing(1000.0 / max(1, colour.fps()), with_depth=self._depth)
        self._allow_host_stamps = options.allow_host_stamps
        self.lens: Lens = lens_of(colour)

    @property
    def device(self) -> Any:
        """The ``pyrealsense2.device`` behind the pipeline."""
        return self._profile.get_device()

    @property
    def lost(self) -> int:
        """Colour images that the camera counted but that never arrived."""
        return self._pairing.lost

    def next(self, timeout_s: float) -> ImageSet | None:
        """Return the next set, or None if no new set came in time.

        Raises:
            InputError: The clocks or the format of the camera cannot be used.
            RuntimeError: librealsense failed.
        """
        frames = self._wait(max(1, round(timeout_s * 1e3))) if timeout_s > 0 else self._poll()
        if frames is None:
            return None
        colour, depth = frames.get_color_frame(), frames.get_depth_frame()
        if not colour or (self._depth and not depth):
            return None
        stamp = SetStamp(
            colour.get_frame_number(), colour.get_timestamp(), depth.get_timestamp() if self._depth else None
        )
        if not self._pairing.accept(stamp):
            return None
        check_domains(
            _domain(colour),
            _domain(depth) if self._depth else None,
            allow_host_stamps=self._allow_host_stamps,
        )
        return ImageSet(
            rgb=colour_pixels(colour),
            depth=self._aligned(frames),
            sensor_depth=_depth_pixels(depth) if self._depth else None,
            depth_unit_m=float(depth.get_units()) if self._depth else 0.0,
            device_ns=round(stamp.colour_ms * 1e6),
            number=stamp.colour_number,
        )

    def stop(self) -> None:
        """Stop the pipeline; one whose device is gone has stopped already.

        The thread that reads a recording has ended its work when this returns: librealsense 2.59 frees the
        device of a recording while that thread still uses it.
        """
        with contextlib.suppress(RuntimeError):
            self._pipeline.stop()
        if self.device.is_playback():
            self.device.as_playback().pause()  # waits for that thread

    def _wait(self, timeout_ms: int) -> Any:
        if self._queue is None:
            came, frames = self._pipeline.try_wait_for_frames(timeout_ms)
            return frames if came else None
        came, frame = self._queue.try_wait_for_frame(timeout_ms)
        return frame.as_frameset() if came and frame.is_frameset() else None

    def _poll(self) -> Any:
        if self._queue is None:
            frames = self._pipeline.poll_for_frames()
            return frames if frames and frames.size() else None
        frame = self._queue.poll_for_frame()
        return frame.as_frameset() if frame and frame.is_frameset() else None

    def _aligned(self, frames: Any) -> NDArray[np.uint16] | None:
        if self._align is None:
            return None
        return _depth_pixels(self._align.process(frames).get_depth_frame())


def stream_device(device: Any, options: RealSenseOptions) -> Capture:
    """Start streaming colour, and depth if enabled.

    Args:
        device: A connected ``pyrealsense2.device``.
        options: Size, rate, depth.

    Raises:
        InputError: The device cannot stream with these options.
    """
    library = load_library()
    pipeline, config = library.pipeline(), library.config()
    pipeline.set_device(device)
    size = options.width_px, options.height_px
    config.enable_stream(library.stream.color, *size, library.format.rgb8, options.rate_hz)
    if options.depth:
        config.enable_stream(library.stream.depth, *size, library.format.z16, options.rate_hz)
    queue = library.frame_queue(options.queue_frames)
    try:
        profile = pipeline.start(config, queue)
    except RuntimeError as error:
        raise InputError(
            f"RealSense {serial_of(device)} cannot stream: {error}",
            expected=f"a mode of the camera instead of {options.mode}",
            available=colour_modes(device),
        ) from error
    return Capture(pipeline, profile, queue, options)


def play_file(path: Path, options: RealSenseOptions, *, real_time: bool) -> Capture:
    """Start playing a recording of librealsense.

    Args:
        path: ``.bag`` or ``.db3``.
        options: Only ``allow_host_stamps`` and ``queue_frames`` are used; the streams are those of the file.
        real_time: Play at the recorded speed, where a slow reader loses images; else as fast as they are
            read, without loss.

    Raises:
        InputError: The file is not such a recording or has no colour stream.
    """
    library = load_library()
    pipeline, config = library.pipeline(), library.config()
    queue = library.frame_queue(options.queue_frames) if real_time else None
    try:
        config.enable_device_from_file(str(path), repeat_playback=False)
        # before the start, else the first images are played at the recorded speed
        resolved = config.resolve(library.pipeline_wrapper(pipeline))
        playback = resolved.get_device().as_playback()
        playback.set_real_time(real_time)
        # its sensors start one after the other, and the first begins to read: what comes for one that has not
        # started would be lost
        playback.pause()
        profile = pipeline.start(config, queue) if queue is not None else pipeline.start(config)
        playback.resume()
        capture = Capture(pipeline, profile, queue, options)
    except RuntimeError as error:
        raise InputError(
            f"{path} cannot be played: {error}", expected="a recording of librealsense with colour"
        ) from error
    return capture


def _domain(frame: Any) -> ClockDomain:
    return ClockDomain(frame.get_frame_timestamp_domain().name)


def _depth_pixels(frame: Any) -> NDArray[np.uint16]:
    return np.array(np.asanyarray(frame.get_data()), dtype=np.uint16, order="C", copy=True)
