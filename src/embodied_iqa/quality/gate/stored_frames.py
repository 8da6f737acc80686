"""Images of a camera from a folder, a recording or a LeRobot data set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.data.lerobot.dataset import LeRobotDataset, Unreadable, is_lerobot
from embodied_iqa.data.recording.opening import is_recording
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.imaging.images.codecs import read_image
from embodied_iqa.imaging.images.frame import View, is_view, ordered_views, topic_of_view, view_of_topic

_SUFFIXES: Final = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".webp", ".tif", ".tiff", ".ppm"})


@dataclass(frozen=True, slots=True, eq=False)
class StoredFrame:
    """A stored image and its name.

    Attributes:
        view: The camera.
        name: The file's name, topic and stamp, or camera, episode and step.
        stamp_ns: When it was taken, in a data set since the start of its episode; None for a file.
        rgb: ``(H, W, 3)`` uint8, red first. Read-only.
    """

    view: View
    name: str
    stamp_ns: int | None
    rgb: NDArray[np.uint8]


class FolderFrames:
    """Image files in the order of their names.

    Args:
        folder: With the images of one camera, or one folder per camera, with its name.
        views: The cameras; exactly one where the images are directly in the folder.

    Raises:
        UsageError: The folder holds images of one camera, and ``views`` does not name it.
        InputError: No images found, or none of a camera that ``views`` names.
    """

    def __init__(self, folder: Path, views: Sequence[View]) -> None:
        if _images_in(folder):
            if len(views) != 1:
                raise UsageError(f"{folder} holds images of one camera", expected="--view with its name")
            self._files = [(views[0], path) for path in _images_in(folder)]
        else:
            present = _views_in(folder)
            _check_views(folder, views, present)
            self._files = [(view, path) for view in views or present for path in _images_in(folder / view)]
        if not self._files:
            raise InputError(
                f"no images in {folder}",
                expected=f"files that end in {', '.join(sorted(_SUFFIXES))}, or folders named by camera",
            )

    def __len__(self) -> int:
        return len(self._files)

    def __iter__(self) -> Iterator[StoredFrame]:
        for view, path in self._files:
            yield StoredFrame(view, path.name, None, read_image(path))


class RecordedFrames:
    """Images of a recording, raw or compressed, in the order of their arrival.

    Args:
        recording: The ``.mcap`` file.
        topics: Image topic to camera.

    Raises:
        InputError: The recording cannot be read or has no such topic.
    """

    def __init__(self, recording: Path, topics: Mapping[str, View]) -> None:
        self._recording, self._topics = recording, topics
        with TrialReader(recording) as reader:
            for topic in topics:
                if topic not in reader.image_topics():
                    raise InputError(
                        f"{recording} has no image topic {topic}", available=reader.image_topics()
                    )
            self._count = sum(reader.topics[topic].messages for topic in topics)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[StoredFrame]:
        with TrialReader(self._recording) as reader:
            for recorded in reader.images(tuple(self._topics)):
                image = recorded.image
                name = f"{recorded.topic} {image.stamp_ns}"
                yield StoredFrame(self._topics[recorded.topic], name, image.stamp_ns, image.rgb)


class DatasetFrames:
    """Images of a LeRobot data set, step by step.

    Args:
        folder: The data set.
        views: The cameras; empty for all.
        topics: Key to camera; by default each is named by the last part of its key.

    Raises:
        InputError: It cannot be read, or has no such camera.
    """

    def __init__(self, folder: Path, views: Sequence[View], topics: Mapping[str, View]) -> None:
        self._dataset = LeRobotDataset(folder)
        if not topics:
            present = self._dataset.views()
            _check_views(folder, views, ordered_views(present))
            topics = {present[view]: view for view in views or ordered_views(present)}
            if not topics:
                raise InputError(
                    f"{folder} has no camera whose key ends in the name of a view",
                    expected="--topic",
                    available=self._dataset.keys,
                )
        self._topics = topics
        self._count = self._dataset.count(tuple(topics))

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[StoredFrame]:
        for found in self._dataset.images(tuple(self._topics)):
            if isinstance(found, Unreadable):
                raise found.error
            yield StoredFrame(self._topics[found.key], found.name, found.step.stamp_ns, found.rgb)


def open_frames(
    source: Path, views: Sequence[View], topics: Mapping[str, View]
) -> FolderFrames | RecordedFrames | DatasetFrames:
    """Open a folder of images, a recording or a data set.

    Args:
        source: A folder of images, an ``.mcap`` file, a folder of ``ros2 bag``, or a LeRobot data set.
        views: The cameras; empty for all.
        topics: Image topic to camera, for a recording; by default ``/camera/<view>/image_raw``, or
            ``image_raw/compressed`` there. For a data set, key to camera; see `DatasetFrames`.

    Raises:
        InputError: It is none of these, or has no images.
    """
    if is_lerobot(source):
        return DatasetFrames(source, views, topics)
    if source.is_dir() and not is_recording(source):
        return FolderFrames(source, views)
    if not topics:
        with TrialReader(source) as reader:
            present = reader.image_topics()
            names = (topic.removesuffix("/compressed") for topic in present)
            named = filter(None, (view_of_topic(name, in_any_namespace=True) for name in names))
            usual = {view: reader.camera_topic(topic_of_view(view, present)) for view in named}
        _check_views(source, views, ordered_views(usual))
        topics = {usual[view]: view for view in views or ordered_views(usual)}
        if not topics:
            raise InputError(
                f"{source} has no camera topic with the default name", expected="--topic", available=present
            )
    return RecordedFrames(source, topics)


def _views_in(folder: Path) -> tuple[View, ...]:
    """Return the cameras after which folders with images are named."""
    inner = (path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else ()
    return ordered_views(View(path.name) for path in inner if is_view(path.name) and _images_in(path))


def _check_views(source: Path, views: Sequence[View], present: Sequence[View]) -> None:
    for view in views:
        if present and view not in present:
            raise InputError(f"{source} has no images of this camera", got=str(view), available=present)


def _images_in(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if path.suffix.lower() in _SUFFIXES)
