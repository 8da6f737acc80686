"""How a recording is recognised by its name, without what reads one."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from embodied_iqa.imaging.images.image_files import IMAGE_SUFFIXES

RECORDING_SUFFIXES: Final = (".mcap", ".mcap.zstd", ".db3", ".db3.zstd")


def is_recording(path: Path) -> bool:
    """Return whether a path is meant as a recording: by its name, or a folder of ``ros2 bag``.

    A folder with images directly in it is one of images.
    """
    if not path.is_dir():
        return path.name.endswith(RECORDING_SUFFIXES)
    return not _holds(path, IMAGE_SUFFIXES) and _holds(path, RECORDING_SUFFIXES)


def is_image_folder(path: Path) -> bool:
    """Return whether a path is a folder with images directly in it, and no recording beside them."""
    return path.is_dir() and _holds(path, IMAGE_SUFFIXES) and not _holds(path, RECORDING_SUFFIXES)


def _holds(folder: Path, suffixes: tuple[str, ...]) -> bool:
    return any(file.name.lower().endswith(suffixes) for file in folder.iterdir() if file.is_file())
