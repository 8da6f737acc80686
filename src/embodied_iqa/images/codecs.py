"""Image files: reading and atomic writing of RGB arrays."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.errors import InputError, UsageError

PICTURE_SUFFIXES = (".bmp", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp")
"""Suffixes of image files, in any case."""


def picture_files(folder: Path, *, recursive: bool = False) -> list[Path]:
    """Return the image files in a folder, sorted by name.

    Raises:
        InputError: The folder cannot be read or holds none.
    """
    try:
        found = folder.rglob("*") if recursive else folder.iterdir()
        files = sorted(path for path in found if path.suffix.lower() in PICTURE_SUFFIXES)
    except OSError as error:
        raise InputError(f"{str(folder)!r} cannot be read: {error.strerror}") from error
    if not files:
        raise InputError(
            f"{str(folder)!r} holds no pictures", expected=f"files *{', *'.join(PICTURE_SUFFIXES)}"
        )
    return files


def decode_file(path: Path, flags: int) -> NDArray[Any]:
    """Return the pixels of an image file as ``cv2.imdecode`` gives them with ``flags``.

    Raises:
        InputError: The file is missing or is not an image.
    """
    try:
        data = np.frombuffer(path.read_bytes(), np.uint8)
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be read: {error.strerror}") from error
    pixels = cv2.imdecode(data, flags) if data.size else None
    if pixels is None:
        raise InputError(f"{str(path)!r} is not a readable image")
    return np.asarray(pixels)


def read_picture(path: Path, *, upright: bool = False) -> NDArray[np.uint8]:
    """Return an image file as ``(H, W, 3)`` uint8 RGB; gray becomes RGB, alpha is dropped.

    Args:
        path: The file.
        upright: Apply the file's EXIF orientation.

    Raises:
        InputError: The file is missing or is not an image.
    """
    return decode_file(path, cv2.IMREAD_COLOR_RGB | (0 if upright else cv2.IMREAD_IGNORE_ORIENTATION))


def write_picture(path: Path, rgb: NDArray[np.uint8], options: Sequence[int] = ()) -> None:
    """Write an image atomically; the suffix chooses the format.

    Args:
        path: The file; replaced if it exists.
        rgb: ``(H, W, 3)`` uint8 RGB.
        options: ``cv2.IMWRITE_...`` flags and their values.

    Raises:
        UsageError: The suffix is not an image format.
        InputError: The file cannot be written.
    """
    suffix = path.suffix.lower()
    if suffix not in PICTURE_SUFFIXES:
        raise UsageError("unknown picture format", got=path.suffix, available=PICTURE_SUFFIXES)
    _, data = cv2.imencode(suffix, cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR), options)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        partial.write_bytes(data.tobytes())
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise InputError(f"{str(path)!r} cannot be written: {error.strerror}") from error
