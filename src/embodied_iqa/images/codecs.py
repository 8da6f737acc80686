"""Picture files: reading and writing, red first, whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.errors import InputError, UsageError

__all__ = ["PICTURE_SUFFIXES", "picture_files", "read_picture", "write_picture"]

PICTURE_SUFFIXES = (".bmp", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp")
"""Names of files that are taken for pictures end so, in any case."""


def picture_files(folder: Path) -> list[Path]:
    """Return the picture files in a folder, sorted by name.

    Raises:
        InputError: The folder cannot be read or holds none.
    """
    try:
        files = sorted(path for path in folder.iterdir() if path.suffix.lower() in PICTURE_SUFFIXES)
    except OSError as error:
        raise InputError(f"{str(folder)!r} cannot be read: {error.strerror}") from error
    if not files:
        raise InputError(
            f"{str(folder)!r} holds no pictures", expected=f"files *{', *'.join(PICTURE_SUFFIXES)}"
        )
    return files


def read_picture(path: Path) -> NDArray[np.uint8]:
    """Return the picture in a file, as ``(H, W, 3)`` uint8, red first; gray becomes RGB, alpha is left out.

    Raises:
        InputError: The file is missing or no picture.
    """
    try:
        data = np.frombuffer(path.read_bytes(), np.uint8)
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be read: {error.strerror}") from error
    bgr = cv2.imdecode(data, cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION) if data.size else None
    if bgr is None:
        raise InputError(f"{str(path)!r} is no picture that can be read")
    return np.asarray(cv2.cvtColor(bgr, cv2.COLOR_BGR2RGB), np.uint8)


def write_picture(path: Path, rgb: NDArray[np.uint8], *, jpeg_quality: int = 95) -> None:
    """Write a picture, whole or not at all; the suffix chooses the format.

    Args:
        path: The file; replaced if it exists.
        rgb: ``(H, W, 3)`` uint8, red first.
        jpeg_quality: Of JPEG files, 1 to 100, higher is better.

    Raises:
        UsageError: The suffix is no picture format.
        InputError: The file cannot be written.
    """
    if path.suffix.lower() not in PICTURE_SUFFIXES:
        raise UsageError("unknown picture format", got=path.suffix, available=PICTURE_SUFFIXES)
    suffix = path.suffix.lower()
    options = [cv2.IMWRITE_JPEG_QUALITY, jpeg_quality] if suffix in {".jpg", ".jpeg"} else []
    _, data = cv2.imencode(suffix, cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR), options)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        partial.write_bytes(data.tobytes())
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise InputError(f"{str(path)!r} cannot be written: {error.strerror}") from error
