"""Image files in folders, and those of formats that no command reads."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from embodied_iqa.base.errors import InputError

IMAGE_SUFFIXES = (".bmp", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp")
"""Suffixes of image files, in any case."""
_UNREAD_SUFFIXES: Final = frozenset(
    (
        *(".heic", ".heif", ".avif", ".gif", ".jxl", ".jp2", ".j2k", ".jpe", ".jfif", ".exr", ".hdr", ".tga"),
        *(".pgm", ".pbm", ".pnm", ".pfm", ".psd", ".dng", ".cr2", ".cr3", ".nef", ".arw", ".raf", ".rw2"),
        *(".orf", ".pef", ".srw"),
    )
)
"""Suffixes of images that no command reads, in any case."""
_NAMED: Final = 5
"""Most files that a note names."""
UNREAD: Final = "which is not read: convert it to a LeRobot data set or to images"


@dataclass(frozen=True, slots=True)
class FoundImages:
    """The images in a folder.

    Attributes:
        folder: The folder.
        files: Those that are read, sorted by name.
        unread: Those of formats that are not read, by their suffix, sorted by name.
    """

    folder: Path
    files: list[Path]
    unread: list[Path]

    @property
    def note(self) -> str:
        """Which images are left out, in words; empty for none."""
        if not self.unread:
            return ""
        names = [path.relative_to(self.folder).as_posix() for path in self.unread[:_NAMED]]
        more = len(self.unread) - len(names)
        named = ", ".join(names) + (f" and {more} more" if more else "")
        count = f"{len(self.unread)} image{'s' if len(self.unread) > 1 else ''}"
        return f"left out: {count} of a format that is not read: {named}"


def image_files(folder: Path, *, recursive: bool = False) -> list[Path]:
    """Return the image files in a folder; see `find_images`.

    Raises:
        InputError: The folder cannot be read or holds none.
    """
    return find_images(folder, recursive=recursive).files


def find_images(folder: Path, *, recursive: bool = False) -> FoundImages:
    """Return the images in a folder; with ``recursive``, also those of its sub-folders.

    A sub-folder that cannot be listed is returned like a file, so that reading it reports the reason.

    Raises:
        InputError: The folder cannot be read or holds none that is read.
    """
    files: list[Path] = []
    unread: list[Path] = []

    def add_unreadable(error: OSError) -> None:
        if Path(error.filename) == folder:
            raise error
        files.append(Path(error.filename))

    try:
        for parent, below, names in os.walk(folder, onerror=add_unreadable):
            for name in names:
                suffix = Path(name).suffix.lower()
                if suffix in IMAGE_SUFFIXES:
                    files.append(Path(parent, name))
                elif suffix in _UNREAD_SUFFIXES:
                    unread.append(Path(parent, name))
            if not recursive:
                below.clear()
    except OSError as error:
        raise InputError(f"{str(folder)!r} cannot be read: {error.strerror}") from error
    found = FoundImages(folder, sorted(files), sorted(unread))
    if not files:
        raise _holds_none(found)
    return found


def _holds_none(found: FoundImages) -> InputError:
    if any(any(file.parent.glob("*.tfrecord*")) for file in found.folder.rglob("dataset_info.json")):
        return InputError(f"{str(found.folder)!r} is an RLDS data set, {UNREAD}")
    what = f"{str(found.folder)!r} holds no images" + (f" ({found.note})" if found.unread else "")
    return InputError(what, expected=f"files *{', *'.join(IMAGE_SUFFIXES)}")
