"""The pictures that the shipped parameters were calibrated on and the denoiser was trained on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from embodied_iqa.distortions.image import Image, checked
from embodied_iqa.errors import InputError, MissingDependencyError

__all__ = [
    "PHOTOGRAPHS",
    "PICTURE_SUFFIXES",
    "Reference",
    "pictures_of_folder",
    "read_picture",
    "scikit_photographs",
]

PHOTOGRAPHS = ("astronaut.png", "chelsea.png", "coffee.png", "motorcycle_left.png", "rocket.jpg")
"""Colour photographs inside the scikit-image package (its data folder names their licences: free to use)."""

PICTURE_SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".webp", ".tif", ".tiff", ".ppm")


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """A clean picture and where it comes from.

    Attributes:
        name: Such as ``scikit-image/coffee.png``.
        image: ``(H, W, 3)`` uint8 RGB.
    """

    name: str
    image: Image


def read_picture(path: Path) -> Image:
    """Read a picture file as ``(H, W, 3)`` uint8 RGB; gray ones and those with alpha are converted.

    Raises:
        InputError: The file is missing, no picture, or too small.
    """
    try:
        data = np.frombuffer(path.read_bytes(), np.uint8)
    except OSError as error:
        raise InputError("cannot read a picture", got=str(path)) from error
    image = cv2.imdecode(data, cv2.IMREAD_COLOR_RGB) if data.size else None
    if image is None:
        raise InputError("not a picture", expected=f"one of {', '.join(PICTURE_SUFFIXES)}", got=str(path))
    return checked(image)


def scikit_photographs() -> list[Reference]:
    """Return the photographs of scikit-image.

    Raises:
        MissingDependencyError: scikit-image is not installed.
    """
    try:
        from skimage import data  # noqa: PLC0415 - wanted for calibration and training only
    except ImportError:
        raise MissingDependencyError(
            "the reference photographs come with scikit-image", expected="pip install scikit-image"
        ) from None
    folder = Path(data.__file__).parent
    return [Reference(f"scikit-image/{name}", read_picture(folder / name)) for name in PHOTOGRAPHS]


def pictures_of_folder(folder: Path) -> list[Reference]:
    """Return all pictures of a folder, sorted by name.

    Raises:
        InputError: There is none, or one cannot be read.
    """
    paths = sorted(path for path in folder.glob("*") if path.suffix.lower() in PICTURE_SUFFIXES)
    if not paths:
        raise InputError(
            "no pictures", expected=f"files ending in {', '.join(PICTURE_SUFFIXES)}", got=str(folder)
        )
    return [Reference(path.name, read_picture(path)) for path in paths]
