"""Frames of a video file (PyAV), whole and in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, UsageError, first_line
from embodied_iqa.base.files import refuse_pipe
from embodied_iqa.base.lazy import INSTALL_DATA, load
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.data.lerobot.video import decode_strictly
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.stored_images import Coding, StoredImage, UnreadableImage

_FORMATS: Final = {
    ".mp4": "mp4",
    ".m4v": "mp4",
    ".mov": "mp4",
    ".mkv": "matroska",
    ".webm": "matroska",
    ".avi": "avi",
}
"""Ending to the only format a file is read as: others name files and addresses that are opened in turn."""
_MOST_PX: Final = 1 << 26
_CUT_S: Final = 0.5
"""A video that ends earlier than it says by more than this was cut short; lengths are rounded."""
_MICROSECONDS: Final = 1e-6


def is_video(path: Path) -> bool:
    """Return whether a path is meant as a video, by the ending of its name."""
    return path.suffix.lower() in _FORMATS and not path.is_dir()


class VideoFrames:
    """Frames of the first video stream, turned and mirrored as a viewer shows them.

    What is missing at the end of a video that was cut short is named after its last frame.
    Stamps are times since the start of the video; colours of more than 8 bits become 8.

    Args:
        path: The file.

    Raises:
        InputError: It is missing, damaged, of another format, or holds no video.
        MissingDependencyError: PyAV is not installed.
    """

    kind = "video"
    note = ""

    def __init__(self, path: Path) -> None:
        refuse_pipe(path)
        self.path = path
        self._av: Any = load("av", INSTALL_DATA)
        with self._opened() as (container, stream):
            self.rate_hz = float(stream.average_rate) if stream.average_rate else None
            self.codec, self.size_px = str(stream.codec.canonical_name), (stream.width, stream.height)
            self._coding = Coding.VIDEO if stream.codec_context.codec.lossy else Coding.LOSSLESS
            # what the header says may be missing or wrong; packets are counted without decoding them
            frames = sum(packet.size > 0 for packet in container.demux(stream))
            self._stated_s = _stated_s(container, stream)
        if not frames:
            raise InputError(f"{path} holds no frames")
        self.topics: Mapping[str, int] = {"": frames}

    def views(self) -> dict[View, str]:
        """Return nothing: a video names no camera."""
        return {}

    def view_of(self, topic: str) -> View | None:  # noqa: ARG002 - the protocol's argument
        """Return None: a video names no camera."""
        return None

    def count(self, topics: Sequence[str] = ()) -> int:
        """Return the number of frames."""
        self._check(topics)
        return self.topics[""]

    def images(self, topics: Sequence[str] = ()) -> Iterator[StoredImage | UnreadableImage]:
        """Iterate over the frames, numbered from 0; what cannot be decoded is named, and the rest is read."""
        self._check(topics)
        number, first_ns, last_s = 0, None, None
        with self._opened() as (container, stream):
            for found in self._decoded(container, stream):
                name = f"frame_{number:06d}"
                number += 1
                if isinstance(found, str):
                    yield UnreadableImage(
                        f"{self.path} {name}", InputError(f"{self.path} {name} {found}"), name
                    )
                    continue
                last_s = found.time if last_s is None or found.time is None else max(last_s, found.time)
                time_ns = None if found.time is None else round(found.time * SECOND_NS)
                if first_ns is None:
                    first_ns = time_ns
                stamp_ns = None if time_ns is None or first_ns is None else time_ns - first_ns
                yield StoredImage(name, name, "", stamp_ns, _upright(found), decoded_from=self._coding)
        if last_s is not None and self._stated_s is not None and last_s + _CUT_S < self._stated_s:
            fault = (
                f"{self.path} was cut short: its last frame is at {last_s:.3f} s of {self._stated_s:.3f} s"
            )
            yield UnreadableImage(str(self.path), InputError(fault))

    def _check(self, topics: Sequence[str]) -> None:
        if any(topics):
            raise UsageError("a video has no topics", got=topics[0])

    def _decoded(self, container: Any, stream: Any) -> Iterator[Any]:
        """Yield each frame, or in words why it cannot be decoded.

        A frame that is predicted from earlier ones shows their damage, up to the next key frame.
        """
        is_whole = True
        for packet in container.demux(stream):
            try:
                for frame in packet.decode():
                    is_whole = (is_whole or frame.key_frame) and not frame.is_corrupt
                    damage = "is damaged" if frame.is_corrupt else "is predicted from a damaged frame"
                    yield frame if is_whole else f"{damage} at {frame.time} s"
            except (self._av.FFmpegError, ValueError) as error:
                is_whole = False
                yield f"cannot be read: {_reason(error)}"

    @contextmanager
    def _opened(self) -> Iterator[tuple[Any, Any]]:
        """Open the file, and close it at the end.

        Raises:
            InputError: It cannot be read as a video, here or later.
        """
        form = _FORMATS[self.path.suffix.lower()]
        try:
            with self._av.open(
                str(self.path.absolute()), format=form, metadata_errors="replace"
            ) as container:
                yield container, self._stream(container)
        except (self._av.FFmpegError, OSError, ValueError) as error:
            raise self._unreadable(error) from None

    def _stream(self, container: Any) -> Any:
        if not container.streams.video:
            raise InputError(f"{self.path} holds no video")
        stream = container.streams.video[0]
        if stream.codec_context is None:
            raise InputError(f"{self.path} is of a codec that cannot be decoded")
        decode_strictly(stream.codec_context, _MOST_PX)
        return stream

    def _unreadable(self, error: BaseException) -> InputError:
        return InputError(f"{self.path} cannot be read: {_reason(error)}")


def _reason(error: BaseException) -> str:
    return str(getattr(error, "strerror", None) or first_line(error))


def _stated_s(container: Any, stream: Any) -> float | None:
    """Return when a video ends by what its file says; None where it says nothing of the images alone."""
    if stream.duration is not None:
        return float(((stream.start_time or 0) + stream.duration) * stream.time_base)
    if container.duration is None or len(container.streams) > 1:
        return None
    return float((container.start_time or 0) + container.duration) * _MICROSECONDS


def _upright(frame: Any) -> NDArray[np.uint8]:
    rgb = np.ascontiguousarray(_displayed(frame.to_ndarray(format="rgb24"), _matrix(frame)))
    rgb.setflags(write=False)
    return rgb


def _matrix(frame: Any) -> tuple[int, int, int, int]:
    """Return a, b, c, d of the display matrix: a viewer shows pixel (x, y) at (a x + c y, b x + d y)."""
    found = frame.side_data.get("DISPLAYMATRIX")
    if found is None:
        return 1, 0, 0, 1
    a, b, _, c, d, *_ = np.frombuffer(bytes(found), np.int32).tolist()
    return a, b, c, d


def _displayed(rgb: NDArray[np.uint8], matrix: tuple[int, int, int, int]) -> NDArray[np.uint8]:
    """Return an image turned and mirrored; by a matrix that does neither in quarters of a turn, as it is."""
    a, b, c, d = matrix
    if a and d and not b and not c:
        return rgb[:: 1 if d > 0 else -1, :: 1 if a > 0 else -1]
    if b and c and not a and not d:
        return rgb.transpose(1, 0, 2)[:: 1 if b > 0 else -1, :: 1 if c > 0 else -1]
    return rgb
