"""Pictures of a camera from a folder or a recording."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.imaging.images.codecs import read_picture
from embodied_iqa.imaging.images.frame import View, is_view, ordered_views, view_of_topic

_SUFFIXES: Final = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".webp", ".tif", ".tiff", ".ppm"})


@dataclass(frozen=True, slots=True, eq=False)
class StoredFrame:
    """A stored picture and its name.

    Attributes:
        view: The camera.
        name: The file's name, or topic and stamp.
        stamp_ns: When it was taken; None for a file.
        rgb: ``(H, W, 3)`` uint8, red first. Read-only.
    """

    view: View
    name: str
    stamp_ns: int | None
    rgb: NDArray[np.uint8]


class FolderFrames:
    """Picture files in the order of their names.

    Args:
        folder: With the pictures of one camera, or one folder per camera, with its name.
        views: The cameras; exactly one where the pictures are directly in the folder.

    Raises:
        UsageError: The folder holds pictures of one camera, and ``views`` does not name it.
        InputError: No pictures found, or none of a camera that ``views`` names.
    """

    def __init__(self, folder: Path, views: Sequence[View]) -> None:
        if _pictures_in(folder):
            if len(views) != 1:
                raise UsageError(f"{folder} holds pictures of one camera", expected="--view with its name")
            self._files = [(views[0], path) for path in _pictures_in(folder)]
        else:
            present = _views_in(folder)
            _check_views(folder, views, present)
            self._files = [(view, path) for view in views or present for path in _pictures_in(folder / view)]
        if not self._files:
            raise InputError(
                f"no pictures in {folder}",
                expected=f"files that end in {', '.join(sorted(_SUFFIXES))}, or folders named by camera",
            )

    def __len__(self) -> int:
        return len(self._files)

    def __iter__(self) -> Iterator[StoredFrame]:
        for view, path in self._files:
            yield StoredFrame(view, path.name, None, read_picture(path))


class RecordedFrames:
    """Raw pictures of a recording, in the order of their arrival.

    Args:
        recording: The ``.mcap`` file.
        topics: Picture topic to camera.

    Raises:
        InputError: The recording cannot be read or has no such topic.
    """

    def __init__(self, recording: Path, topics: Mapping[str, View]) -> None:
        self._recording, self._topics = recording, topics
        with TrialReader(recording) as reader:
            for topic in topics:
                if topic not in reader.picture_topics():
                    raise InputError(
                        f"{recording} has no picture topic {topic}", available=reader.picture_topics()
                    )
            self._count = sum(reader.topics[topic].messages for topic in topics)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[StoredFrame]:
        with TrialReader(self._recording) as reader:
            for recorded in reader.pictures(tuple(self._topics)):
                picture = recorded.picture
                name = f"{recorded.topic} {picture.stamp_ns}"
                yield StoredFrame(self._topics[recorded.topic], name, picture.stamp_ns, picture.rgb)


def open_frames(
    source: Path, views: Sequence[View], topics: Mapping[str, View]
) -> FolderFrames | RecordedFrames:
    """Open a folder of pictures or a recording.

    Args:
        source: A folder or an ``.mcap`` file.
        views: The cameras; empty for all.
        topics: Picture topic to camera, for a recording; by default ``/camera/<view>/image_raw``.

    Raises:
        InputError: It is neither, or has no pictures.
    """
    if source.is_dir():
        return FolderFrames(source, views)
    if not topics:
        with TrialReader(source) as reader:
            present = reader.picture_topics()
        usual = {view: topic for topic in present if (view := view_of_topic(topic)) is not None}
        _check_views(source, views, ordered_views(usual))
        topics = {usual[view]: view for view in views or ordered_views(usual)}
        if not topics:
            raise InputError(
                f"{source} has no camera topic with the default name", expected="--topic", available=present
            )
    return RecordedFrames(source, topics)


def _views_in(folder: Path) -> tuple[View, ...]:
    """Return the cameras after which folders with pictures are named."""
    inner = (path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else ()
    return ordered_views(View(path.name) for path in inner if is_view(path.name) and _pictures_in(path))


def _check_views(source: Path, views: Sequence[View], present: Sequence[View]) -> None:
    for view in views:
        if present and view not in present:
            raise InputError(f"{source} has no pictures of this camera", got=str(view), available=present)


def _pictures_in(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if path.suffix.lower() in _SUFFIXES)
