"""Images that distortions accept and return, `(H, W, 3)` uint8 RGB, and their conversions."""

from __future__ import annotations

from typing import TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError

SMALLEST_SIDE_PX = 16
"""Smallest side that distortions accept."""

Image: TypeAlias = NDArray[np.uint8]
FloatImage: TypeAlias = NDArray[np.float32]


def checked(image: Image) -> Image:
    """Return ``image`` C-contiguous (a copy only where it was not).

    Raises:
        InputError: Not a numpy array, not uint8, not ``(H, W, 3)``, or a side below 16 px.
    """
    if not isinstance(image, np.ndarray):
        raise InputError("not an image", expected="a numpy array", got=type(image).__name__)
    if image.dtype != np.uint8:
        raise InputError("wrong type of pixel", expected="uint8", got=str(image.dtype))
    if image.ndim != 3 or image.shape[2] != 3:
        raise InputError("wrong shape of image", expected="(H, W, 3), RGB", got=image.shape)
    if min(image.shape[:2]) < SMALLEST_SIDE_PX:
        raise InputError(
            "image too small",
            expected=f"at least {SMALLEST_SIDE_PX} x {SMALLEST_SIDE_PX} pixels",
            got=image.shape[:2],
        )
    return np.ascontiguousarray(image)


def to_unit(image: Image) -> FloatImage:
    """Return the image as float32 in [0, 1]."""
    return np.asarray(cv2.multiply(image, (1 / 255,) * 4, dtype=cv2.CV_32F))


def from_unit(image: FloatImage) -> Image:
    """Return float32 in [0, 1] as uint8, rounded to nearest; values outside saturate."""
    return np.asarray(cv2.multiply(image, (255.0,) * 4, dtype=cv2.CV_8U))


def rounded(values: NDArray[np.floating]) -> Image:
    """Return values in [0, 255] as uint8, rounded to nearest; values outside saturate. For tables."""
    result: Image = np.clip(np.rint(values), 0, 255).astype(np.uint8)
    return result


def lab_of(image: Image) -> FloatImage:
    """Return an RGB image as CIE Lab (D65, from sRGB): L in [0, 100], a and b about [-127, 127]."""
    return np.asarray(cv2.cvtColor(to_unit(image), cv2.COLOR_RGB2Lab))


def rgb_of_lab(lab: FloatImage) -> Image:
    """Return Lab as an RGB image; colours outside sRGB saturate channel by channel."""
    return from_unit(cv2.cvtColor(lab, cv2.COLOR_Lab2RGB))
