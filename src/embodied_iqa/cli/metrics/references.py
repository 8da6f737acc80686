"""The undistorted image of each image that is measured."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.data.frames.any_frames import open_frames
from embodied_iqa.data.frames.image_folder import FolderFrames
from embodied_iqa.imaging.distortions.manifest import outputs_of
from embodied_iqa.imaging.images.codecs import read_image
from embodied_iqa.imaging.images.image_files import image_files
from embodied_iqa.imaging.images.stored_images import StoredImage, UnreadableImage


class References:
    """Undistorted images, found by the names of the distorted ones.

    Args:
        path: One image for all, or a folder, video, recording or data set with the same names, with any
            ending. Of ``15_4/a.png``, which `embodied-iqa distort` wrote, the reference is ``a`` where there
            is no ``15_4/a``.
        distorted: The file or folder that holds the distorted images.

    Raises:
        InputError: The references cannot be read.
    """

    def __init__(self, path: Path, distorted: Path) -> None:
        self._path = path
        self._outputs = outputs_of(distorted if distorted.is_dir() else distorted.parent)
        self._frames = open_frames(path)
        self._is_files = isinstance(self._frames, FolderFrames)
        self._only = read_image(path) if path.is_file() and self._is_files else None
        self._ahead: Iterator[StoredImage | UnreadableImage] = iter(())
        self._all: frozenset[str] = frozenset()  # names of a source that was passed as a whole

    def find(self, name: str) -> NDArray[np.uint8]:
        """Return the reference of an image, ``(H, W, 3)`` uint8 RGB.

        Raises:
            InputError: There is none, or several, or it cannot be read.
        """
        if self._only is not None:
            return self._only
        pure = PurePosixPath(name)
        own = PurePosixPath(*pure.parts[1:]) if name in self._outputs else None
        if not self._is_files:
            return self._streamed(name, *(str(one.with_suffix("")) for one in (pure, own) if one is not None))
        found = _named(self._path / pure)
        if not found and own is not None:
            found = _named(self._path / own)
        if len(found) != 1:
            message = f"{name} has {len(found)} references in {self._path}"
            raise InputError(message, expected="one image of this name")
        return read_image(found[0])

    def _streamed(self, *names: str) -> NDArray[np.uint8]:
        """Return an image of a source that is read in order: images in its order cost one pass."""
        missing = InputError(
            f"{names[0]} has no reference in {self._path}", expected="one image of this name"
        )
        if self._all and not any(name in one for name in names for one in self._all):
            raise missing
        passed: set[str] = set()
        for image in self._from_here():
            if isinstance(image, UnreadableImage):
                passed.add(image.what)
                if any(name in image.what for name in names):
                    raise image.error
                continue
            passed.add(image.name)
            if image.name in names:
                return image.rgb
        self._all = frozenset(passed)
        raise missing

    def _from_here(self) -> Iterator[StoredImage | UnreadableImage]:
        """Yield what follows the last image that was found, then everything from the start."""
        for source in (self._ahead, self._frames.images()):
            self._ahead = source
            while (image := next(source, None)) is not None:  # `yield from` would end it with the search
                yield image


def _named(path: Path) -> list[Path]:
    """Return the file, or the images beside it with its name and another ending."""
    if path.is_file():
        return [path]
    return (
        [file for file in image_files(path.parent) if file.stem == path.stem] if path.parent.is_dir() else []
    )
