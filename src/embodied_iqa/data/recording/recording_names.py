"""How a recording is recognised by its name, without what reads one."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from embodied_iqa.imaging.images.codecs import IMAGE_SUFFIXES

RECORDING_SUFFIXES: Final = (".mcap", ".mcap.zstd", ".db3", ".db3.zstd")


def is_recording(path: Path) -> bool:
    """Return whether a path is meant as a recording: by its name, or a folder of ``ros2 bag``.

    A folder with images directly in it is one of images.
    """
    if not path.is_dir():
        return path.name.endswith(RECORDING_SUFFIXES)
    files = [file for file in path.iterdir() if file.is_file()]
    if any(file.suffix.lower() in IMAGE_SUFFIXES for file in files):
        return False
    return any(file.name.endswith(RECORDING_SUFFIXES) for file in files)
