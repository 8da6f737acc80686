"""Videos of a LeRobot data set that is written: a frame for each step, at its time."""

from __future__ import annotations

import os
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, first_line
from embodied_iqa.base.lazy import INSTALL_DATA, load
from embodied_iqa.base.scheduling import kept_scheduling
from embodied_iqa.data.lerobot.info import DatasetCamera

_PIXELS: Final = "yuv420p"
_SVT_ERRORS: Final = "1"
"""Level of the log of SVT-AV1, which writes pages about each video on standard error."""
_KEY_FRAMES: Final = "2"
"""A key frame in so many frames, as the library writes: policies read single frames in any order."""


class VideoCodec(StrEnum):
    """Codec of the videos."""

    H264 = "h264"
    AV1 = "av1"

    @property
    def encoder(self) -> tuple[str, dict[str, str]]:
        """Name of the encoder in FFmpeg, and its options."""
        options = {"g": _KEY_FRAMES}
        if self is VideoCodec.H264:
            return "libx264", options | {"crf": "18", "preset": "veryfast"}
        return "libsvtav1", options | {"crf": "20", "preset": "10"}


class VideoFile:
    """A video of one camera. Frames follow each other at the rate of the data set.

    Args:
        path: The file.
        camera: Its size; both numbers are even.
        fps: Frames a second.
        codec: See there.

    Raises:
        InputError: The encoder is missing, or refuses the size.
        MissingDependencyError: PyAV is not installed.
    """

    def __init__(self, path: Path, camera: DatasetCamera, fps: float, codec: VideoCodec) -> None:
        self._av: Any = load("av", INSTALL_DATA)
        self._path, self._rate, self._frames = path, Fraction(fps).limit_denominator(100_000), 0
        path.parent.mkdir(parents=True, exist_ok=True)
        name, options = codec.encoder
        os.environ.setdefault("SVT_LOG", _SVT_ERRORS)
        try:
            self._container = self._av.open(str(path), "w", format="mp4")
            self._stream = self._container.add_stream(name, self._rate, options=options)
            self._stream.width, self._stream.height = camera.width_px, camera.height_px
            self._stream.pix_fmt = _PIXELS
            with kept_scheduling():
                self._stream.codec_context.open()
        except (self._av.FFmpegError, OSError, ValueError) as error:
            raise self._failed(error) from None

    def add(self, rgb: NDArray[np.uint8]) -> None:
        """Append a frame, ``(H, W, 3)`` uint8."""
        frame = self._av.VideoFrame.from_ndarray(np.ascontiguousarray(rgb), format="rgb24")
        frame.pts, frame.time_base = self._frames, 1 / self._rate
        self._frames += 1
        self._mux(frame)

    def finish(self) -> None:
        """Write what the encoder holds back."""
        self._mux(None)
        self.close()

    def close(self) -> None:
        """Close the file; may be called twice."""
        self._container.close()

    def _mux(self, frame: Any) -> None:
        try:
            self._container.mux(self._stream.encode(frame))
        except (self._av.FFmpegError, OSError) as error:
            raise self._failed(error) from None

    def _failed(self, error: BaseException) -> InputError:
        return InputError(f"cannot write {self._path}: {first_line(error)}")


def feature_of_video(camera: DatasetCamera, fps: float, codec: VideoCodec) -> dict[str, Any]:
    """Return what `meta/info.json` says of a video beside its shape."""
    info = {
        "video.height": camera.height_px,
        "video.width": camera.width_px,
        "video.codec": str(codec),
        "video.pix_fmt": _PIXELS,
        "video.is_depth_map": False,
        "video.fps": fps,
        "video.channels": 3,
        "has_audio": False,
    }
    return {"info": info}
