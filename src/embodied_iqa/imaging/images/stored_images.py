"""Stored images with what is known of each, and the protocol of everything that yields them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.images.codecs import is_jpeg_file, read_image
from embodied_iqa.imaging.images.frame import View


class Coding(StrEnum):
    """How an image was stored: a lossy coding leaves traces in its pixels."""

    LOSSLESS = "lossless"
    JPEG = "JPEG"
    VIDEO = "video"


@dataclass(frozen=True, slots=True, eq=False)
class StoredImage:
    """A stored image.

    Attributes:
        name: Unique in its source, with ``/`` between folders; of a file, its path with the ending.
        title: What lists call it.
        topic: Where in its source it belongs, one of `Frames.topics`.
        stamp_ns: When it was taken, on the clock of its source; None where that is not known, as of a file.
        source: The file, or the pixels, ``(H, W, 3)`` uint8, red first, read-only.
        task: What the robot was asked to do, in words; None where the source does not say.
        decoded_from: How the pixels were stored; of a file `coding` looks at its content.
    """

    name: str
    title: str
    topic: str
    stamp_ns: int | None
    source: Path | NDArray[np.uint8]
    task: str | None = None
    decoded_from: Coding = Coding.LOSSLESS

    @property
    def rgb(self) -> NDArray[np.uint8]:
        """The pixels, ``(H, W, 3)`` uint8, red first. Read-only.

        Raises:
            InputError: The file cannot be read.
        """
        return read_image(self.source) if isinstance(self.source, Path) else self.source

    @property
    def coding(self) -> Coding:
        """How it was stored, by its content: a file, or what a recording or data set holds.

        Raises:
            InputError: The file cannot be read.
        """
        if isinstance(self.source, Path):
            return Coding.JPEG if is_jpeg_file(self.source) else Coding.LOSSLESS
        return self.decoded_from


@dataclass(frozen=True, slots=True)
class UnreadableImage:
    """What could not be read: an image, or several that share what is damaged.

    Attributes:
        what: What lists call it.
        error: Why.
        name: That the image would have, see `StoredImage.name`; empty where several are lost, or it has none.
    """

    what: str
    error: InputError
    name: str = ""


class Frames(Protocol):
    """Stored images with stamps and tasks: a folder, a video, a recording, a data set.

    It can be iterated more than once; files are open only while they are iterated.
    """

    @property
    def path(self) -> Path:
        """The file or folder."""
        ...

    @property
    def kind(self) -> str:
        """What it is, in words that its name follows: ``recording``, ``images in``."""
        ...

    @property
    def note(self) -> str:
        """What was undone to read it; empty for nothing."""
        ...

    @property
    def topics(self) -> Mapping[str, int]:
        """Image topics, keys of cameras or folders, with the number of their images.

        Files without a camera, and the frames of a video, have the one topic ``""``.
        """
        ...

    def views(self) -> Mapping[View, str]:
        """Return the topics that name their camera, by its view.

        Raises:
            InputError: Two topics name the same.
        """
        ...

    def view_of(self, topic: str) -> View | None:
        """Return the camera that a topic names; None where it names none."""
        ...

    def count(self, topics: Sequence[str] = ()) -> int:
        """Return the number of images of some topics, by default all.

        Raises:
            InputError: There are none, or no such topic.
        """
        ...

    def images(self, topics: Sequence[str] = ()) -> Iterator[StoredImage | UnreadableImage]:
        """Iterate over the images of some topics, by default all, in the order of name or time.

        What is damaged is named, and the rest is read.

        Args:
            topics: See `topics`.

        Raises:
            InputError: No such topic, or the source is damaged as a whole.
        """
        ...


def shown_topic(topic: str) -> str:
    """Return what lists and options call a topic; that of files at the top of a folder is ``.``."""
    return topic or "."


def chosen_topics(path: Path, topics: Sequence[str], available: Mapping[str, int]) -> tuple[str, ...]:
    """Return topics, by default all that are available.

    Raises:
        InputError: One is not available.
    """
    wrong = [topic for topic in topics if topic not in available]
    if wrong:
        raise InputError(
            f"{str(path)!r} has no image topic", got=wrong[0], available=map(shown_topic, available)
        )
    return tuple(topics or available)
