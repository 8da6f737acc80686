"""Depth beside the images of a recording or data set, read in step with them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.data.frames.cameras import depth_topic_beside
from embodied_iqa.data.frames.dataset_frames import DatasetFrames
from embodied_iqa.data.frames.recording_frames import RecordingFrames
from embodied_iqa.data.lerobot.depth import DatasetDepth
from embodied_iqa.data.recording.errors import RecordingReadError
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.data.recording.recorded import RecordedMessage
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.image_cdr import depth_from_cdr, stamp_from_cdr
from embodied_iqa.imaging.images.stored_images import Frames

_GAP_NS: Final = SECOND_NS // 50
"""Depth whose stamp is further away belongs to another image."""
_FAR_NS: Final = 2 * SECOND_NS
_MARGIN_NS: Final = SECOND_NS
"""Where images are far apart, reading goes on so long before the next one."""


class Depth(Protocol):
    """Depth of one camera at stamps that rise, read in step with them."""

    @property
    def topic(self) -> str:
        """Of the depth; in a data set its key."""
        ...

    def at(self, stamp_ns: int, size_px: tuple[int, int]) -> NDArray[np.uint16]:
        """Return the depth of an image, ``(H, W)`` uint16 in mm, 0 for unknown.

        Args:
            stamp_ns: Of the image; no earlier than that of the call before.
            size_px: Width and height of the image, which depth in its pixels has too.

        Raises:
            InputError: There is none at that time, or it is damaged or of another size.
        """
        ...

    def close(self) -> None:
        """Close the source; may be called twice."""
        ...


def depths_of(
    frames: Frames, cameras: Mapping[str, View], named: Mapping[View, str] | None = None
) -> dict[str, Depth]:
    """Return the depth beside each image topic that has some, of recordings and data sets.

    Args:
        frames: The images.
        cameras: Image topic to camera.
        named: Topics of depth by camera; of others, see `depth_topic_beside`, and in a data set the key of
            the images with ``_depth``.

    Raises:
        InputError: A topic that is named is not one of depth, or a camera none that is read.
    """
    known = depth_topics_of(frames)
    for view, topic in (named or {}).items():
        if view not in cameras.values():
            raise InputError("depth of a camera that is not read", got=view, available=cameras.values())
        if topic not in known:
            raise InputError(f"{frames.path} has no such topic of depth", got=topic, available=known)
    found: dict[str, Depth] = {}
    for topic, view in cameras.items():
        depth = (named or {}).get(view) or _beside(frames, topic, known)
        if depth is None:
            continue
        if isinstance(frames, DatasetFrames):
            found[topic] = DatasetDepth(frames.dataset, frames.dataset.info.depth[depth])
        else:
            found[topic] = DepthBeside(frames.path, depth)
    return found


def depth_topics_of(frames: Frames) -> tuple[str, ...]:
    """Return the topics of a recording, or the keys of a data set, that hold depth; others have none."""
    if isinstance(frames, RecordingFrames):
        return frames.depth_topics
    return tuple(frames.dataset.info.depth) if isinstance(frames, DatasetFrames) else ()


def _beside(frames: Frames, topic: str, known: Collection[str]) -> str | None:
    if not isinstance(frames, DatasetFrames):
        return depth_topic_beside(topic, known)
    key = f"{topic}_depth"
    return key if key in known else None


class DepthBeside:
    """Depth of one topic of a recording at stamps that rise: a moment of it is in memory.

    Args:
        path: The recording.
        topic: The topic of depth.

    Attributes:
        topic: As given.
    """

    def __init__(self, path: Path, topic: str) -> None:
        self.topic, self._path = topic, path
        self._reader: TrialReader | None = None
        self._messages: Iterator[RecordedMessage] = iter(())
        self._near: dict[int, tuple[bytes, str]] = {}
        self._newest_ns, self._late_ns = -1, 0

    def at(self, stamp_ns: int, size_px: tuple[int, int]) -> NDArray[np.uint16]:
        """Return the depth of an image: that with the nearest stamp, ``(H, W)`` uint16 in mm, 0 for unknown.

        Args:
            stamp_ns: Of the image; no earlier than that of the call before.
            size_px: Width and height of the image, which depth in its pixels has too.

        Raises:
            InputError: There is none within 0.02 s, or it is damaged or of another size.
        """
        self._read_until(stamp_ns + _GAP_NS)
        self._near = {at_ns: one for at_ns, one in self._near.items() if at_ns >= stamp_ns - _GAP_NS}
        nearest_ns = min(self._near, key=lambda at_ns: abs(at_ns - stamp_ns), default=None)
        if nearest_ns is None or abs(nearest_ns - stamp_ns) > _GAP_NS:
            raise InputError(f"topic {self.topic} has no depth within {_GAP_NS / SECOND_NS:g} s of an image")
        try:
            _, depth_mm = depth_from_cdr(*self._near[nearest_ns])
        except InputError as error:
            raise RecordingReadError(self._path, f"topic {self.topic}: {error}") from error
        height_px, width_px = depth_mm.shape
        if (width_px, height_px) != size_px:
            raise InputError(
                f"topic {self.topic} is not aligned to its images",
                expected=f"{size_px[0]}x{size_px[1]}",
                got=f"{width_px}x{height_px}",
            )
        return depth_mm

    def close(self) -> None:
        """Close the recording; may be called twice."""
        if self._reader is not None:
            self._reader.close()

    def _read_until(self, stamp_ns: int) -> None:
        """Read on until a stamp is reached, and keep what is near it."""
        if self._reader is None:
            self._reader = TrialReader(self._path)
            self._messages = self._reader.messages([self.topic])
        elif stamp_ns - self._newest_ns > _FAR_NS:
            self._jump(self._reader, stamp_ns - 2 * _GAP_NS)
        while self._newest_ns < stamp_ns and (message := next(self._messages, None)) is not None:
            try:
                at_ns = stamp_from_cdr(message.cdr)
            except InputError:
                continue  # without a stamp it belongs to no image
            self._newest_ns = at_ns  # not the highest: a wrong one would end reading for good
            self._late_ns = message.log_time_ns - at_ns
            if at_ns >= stamp_ns - 2 * _GAP_NS:
                self._near[at_ns] = message.cdr, message.type_name

    def _jump(self, reader: TrialReader, stamp_ns: int) -> None:
        """Leave out what is far before a stamp; by the log times, unless these lead beyond it."""
        ahead = reader.messages([self.topic], stamp_ns + self._late_ns - _MARGIN_NS)
        first = next(ahead, None)
        with suppress(InputError):
            if first is not None and self._newest_ns < stamp_from_cdr(first.cdr) < stamp_ns:
                self._messages = chain([first], ahead)
