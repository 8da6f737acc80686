"""Image files: one, or all in a folder and below it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Final

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.imaging.images.frame import View, is_view
from embodied_iqa.imaging.images.image_files import FoundImages, find_images
from embodied_iqa.imaging.images.stored_images import StoredImage, UnreadableImage, chosen_topics

_INPUTS: Final = "an image, a folder of images, a video, a recording or a LeRobot data set"


class FolderFrames:
    """Image files in the order of their names; their topic is the folder below ``path`` that holds them.

    Args:
        path: A file, or a folder.
        tasks: What the robot was asked to do, in words, by the resolved path of the file.

    Raises:
        InputError: It does not exist, or has no images.
    """

    kind = "images in"

    def __init__(self, path: Path, tasks: Mapping[Path, str] | None = None) -> None:
        self.path, self._tasks = path, tasks or {}
        self._root = path if path.is_dir() else path.parent
        found = find_images(path, recursive=True) if path.is_dir() else FoundImages(path, _single(path), [])
        self._found = found
        self.files = found.files
        self.topics: Mapping[str, int] = Counter(map(self._topic, self.files))

    @property
    def note(self) -> str:
        """Which images are left out, in words; empty for none."""
        return self._found.note

    def views(self) -> dict[View, str]:
        """Return the folders that have the name of a camera."""
        return {View(topic): topic for topic in self.topics if is_view(topic)}

    def view_of(self, topic: str) -> View | None:
        """Return the camera of this name; None where it cannot name a view."""
        return View(topic) if is_view(topic) else None

    def leave_out(self, folder: Path) -> None:
        """Leave out the files in a folder, where it is below `path`."""
        if folder.resolve().is_relative_to(self._root.resolve()):
            above = folder.resolve()
            self.files, unread = (
                [file for file in files if not file.resolve().is_relative_to(above)]
                for files in (self.files, self._found.unread)
            )
            self._found = FoundImages(self._found.folder, self.files, unread)
            self.topics = Counter(map(self._topic, self.files))

    def count(self, topics: Sequence[str] = ()) -> int:
        """Return the number of files in some folders, by default all."""
        return sum(self.topics[topic] for topic in chosen_topics(self.path, topics, self.topics))

    def images(self, topics: Sequence[str] = ()) -> Iterator[StoredImage | UnreadableImage]:
        """Iterate over all files, or folder by folder; a file is read when its pixels are asked for."""
        yield from self.stored(topics)

    def stored(self, topics: Sequence[str] = ()) -> Iterator[StoredImage]:
        """Iterate over the files as `images` does; none of them is read."""
        chosen_topics(self.path, topics, self.topics)
        groups = [[file for file in self.files if self._topic(file) == topic] for topic in topics]
        for file in chain(*groups) if topics else self.files:
            name = file.relative_to(self._root).as_posix()
            task = self._tasks.get(file.resolve()) if self._tasks else None
            yield StoredImage(name, file.name, self._topic(file), None, file, task)

    def tasks(self, topics: Sequence[str] = ()) -> tuple[str, ...]:
        """Return the instructions of the files in some folders, by default all; none is read."""
        return tuple(dict.fromkeys(image.task for image in self.stored(topics) if image.task))

    def _topic(self, file: Path) -> str:
        folder = file.relative_to(self._root).parent.as_posix()
        return "" if folder == "." else folder


class NumberedFrames(FolderFrames):
    """Image files whose number stands for the time that files do not have: the first one gets 1 s."""

    def images(self, topics: Sequence[str] = ()) -> Iterator[StoredImage | UnreadableImage]:
        """Iterate as `FolderFrames` does, with stamps; every file is read."""
        for stamp_ns, image in self._stamped(topics):
            try:
                yield replace(image, stamp_ns=stamp_ns, source=image.rgb)
            except InputError as error:
                yield UnreadableImage(image.title, error, image.name)

    def names(self, topics: Sequence[str] = ()) -> dict[int, str]:
        """Return the names of the files by their stamps."""
        return {stamp_ns: image.name for stamp_ns, image in self._stamped(topics)}

    def _stamped(self, topics: Sequence[str]) -> Iterator[tuple[int, StoredImage]]:
        for number, image in enumerate(self.stored(topics), start=1):
            yield number * SECOND_NS, image


def _single(path: Path) -> list[Path]:
    if not path.is_file():
        raise InputError("no such input", expected=_INPUTS, got=str(path))
    return [path]
