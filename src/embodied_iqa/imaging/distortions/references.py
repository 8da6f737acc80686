"""Images for calibration and training."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from embodied_iqa.base.lazy import load
from embodied_iqa.imaging.distortions.image import Image, checked
from embodied_iqa.imaging.images.codecs import read_image
from embodied_iqa.imaging.images.image_files import image_files

PHOTOGRAPHS: Final = ("astronaut.png", "chelsea.png", "coffee.png", "motorcycle_left.png", "rocket.jpg")
"""Colour photographs inside the scikit-image package (its data folder names their licences: free to use)."""


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """A clean image.

    Attributes:
        name: Such as ``scikit-image/coffee.png``.
        image: ``(H, W, 3)`` uint8 RGB.
    """

    name: str
    image: Image


def read_reference(path: Path) -> Image:
    """Read an image file, upright, as ``(H, W, 3)`` uint8 RGB.

    Raises:
        InputError: The file is missing, not an image, or too small to be distorted.
    """
    return checked(read_image(path))


def scikit_photographs() -> list[Reference]:
    """Return the photographs of scikit-image.

    Raises:
        MissingDependencyError: scikit-image is not installed.
    """
    folder = Path(load("skimage.data", "pip install scikit-image").__file__).parent
    return [Reference(f"scikit-image/{name}", read_reference(folder / name)) for name in PHOTOGRAPHS]


def images_of_folder(folder: Path) -> list[Reference]:
    """Return all images of a folder, sorted by name.

    Raises:
        InputError: There is none, or one cannot be read.
    """
    return [Reference(path.name, read_reference(path)) for path in image_files(folder)]
