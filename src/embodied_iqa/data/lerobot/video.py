"""Frames of an MP4 video by their times, in order (PyAV: AV1, H.264, HEVC)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, first_line
from embodied_iqa.base.lazy import INSTALL_DATA, load

TOLERANCE_S: Final = 1e-4
"""Largest distance of a frame from its step; that of the `lerobot` library."""
_FAR_S: Final = 1.0
"""Frames that are further ahead are sought from the next key frame before them."""
_CODES: Final = "gray12le"
"""How the `lerobot` library writes depth."""
_MARGIN_PX: Final = 256
"""Codecs fill images up to whole blocks."""


def decode_strictly(context: Any, most_px: int) -> None:
    """Let a decoder of PyAV report every damage, and refuse images of more pixels.

    A stream may claim another size later. What is concealed by default is an error here, which threads that
    share a frame would drop, and threads of frames answer with a deadlock.

    Args:
        context: Codec context, before the first image.
        most_px: Pixels of an image at most.
    """
    context.thread_type = "NONE"
    context.options = {"max_pixels": str(most_px), "err_detect": "explode"}


class Video:
    """A video that is decoded while its frames are asked for; times that increase cost one pass.

    Args:
        path: The file.
        width_px: Of every frame.
        height_px: Likewise.

    Attributes:
        is_lossy: Whether its codec may lose detail.

    Raises:
        InputError: The file is missing, not MP4, damaged, or of another size.
        MissingDependencyError: PyAV is not installed.
    """

    def __init__(self, path: Path, width_px: int, height_px: int) -> None:
        self._av: Any = load("av", INSTALL_DATA)
        self._path, self._size = path, (width_px, height_px)
        try:
            # only this format: others name files and addresses that are opened in turn
            self._container = self._av.open(str(path.absolute()), format="mp4", metadata_errors="replace")
        except (self._av.FFmpegError, OSError, ValueError) as error:
            raise self._unreadable(error) from None
        try:
            self._stream = self._video_stream()
        except InputError:
            self.close()
            raise
        self.is_lossy = bool(self._stream.codec_context.codec.lossy)
        self._frames: Iterator[Any] = iter(())
        self._frame: Any = None
        self._at_s = -1.0

    def at(self, seconds: float) -> NDArray[np.uint8]:
        """Return the frame of a time, ``(H, W, 3)`` uint8 RGB.

        Raises:
            InputError: There is none, or it is damaged.
        """
        return np.ascontiguousarray(self._pixels(seconds, "rgb24"), dtype=np.uint8)

    def gray_at(self, seconds: float) -> NDArray[np.uint16]:
        """Return the 12-bit codes of a frame of one channel, ``(H, W)`` uint16.

        Raises:
            InputError: There is none, it is damaged, or the video has colour or other bits.
        """
        form = self._stream.codec_context.pix_fmt
        if form != _CODES:
            raise InputError(f"{self._path} is not a depth video", expected=_CODES, got=form)
        return np.ascontiguousarray(self._pixels(seconds, _CODES), dtype=np.uint16)

    def _pixels(self, seconds: float, form: str) -> NDArray[Any]:
        tolerance_s = max(TOLERANCE_S, seconds * 2.0**-23)  # times of steps have 24 bits
        try:
            if self._frame is None or not -tolerance_s < seconds - self._at_s < _FAR_S:
                self._seek(max(0.0, seconds - tolerance_s))
            while self._at_s < seconds - tolerance_s:
                self._advance(seconds)
            if self._at_s > seconds + tolerance_s:
                raise InputError(
                    f"{self._path} has no frame of {seconds:.6f} s", got=f"one of {self._at_s:.6f} s"
                )
            return self._decoded(form)
        except (self._av.FFmpegError, OSError, OverflowError, ValueError) as error:
            self._frame = None
            raise self._unreadable(error) from None

    def close(self) -> None:
        """Close the file; may be called twice."""
        self._container.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def _video_stream(self) -> Any:
        streams = self._container.streams.video
        if not streams:
            raise InputError(f"{self._path} holds no video")
        context = streams[0].codec_context
        if context is None:
            raise InputError(f"{self._path} is of a codec that cannot be decoded")
        self._check_size(context.width, context.height)
        width_px, height_px = self._size
        decode_strictly(context, (width_px + _MARGIN_PX) * (height_px + _MARGIN_PX))
        return streams[0]

    def _check_size(self, width_px: int, height_px: int) -> None:
        if (width_px, height_px) != self._size:
            expected = "x".join(map(str, self._size))
            raise InputError(
                f"{self._path} is of another size", expected=expected, got=f"{width_px}x{height_px}"
            )

    def _seek(self, seconds: float) -> None:
        self._container.seek(int(seconds / self._stream.time_base), stream=self._stream)
        self._frames = self._container.decode(self._stream)
        self._at_s = -1.0

    def _advance(self, wanted_s: float) -> None:
        frame = next(self._frames, None)
        if frame is None or frame.time is None:
            ends = f"the last one at {self._at_s:.6f} s" if self._frame is not None else "none"
            self._frame = None
            raise InputError(f"{self._path} has no frame of {wanted_s:.6f} s", got=ends)
        self._frame, self._at_s = frame, float(frame.time)

    def _decoded(self, form: str) -> NDArray[Any]:
        self._check_size(self._frame.width, self._frame.height)
        if self._frame.is_corrupt:
            raise InputError(f"{self._path} is damaged at {self._at_s:.6f} s")
        pixels: NDArray[Any] = self._frame.to_ndarray(format=form)
        return pixels

    def _unreadable(self, error: BaseException) -> InputError:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else first_line(error)
        return InputError(f"{self._path} cannot be read: {reason}")
