"""What every distortion accepts and returns: `(H, W, 3)` uint8 RGB pictures."""

from __future__ import annotations

from typing import TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.errors import InputError

__all__ = ["SMALLEST_SIDE_PX", "FloatImage", "Image", "checked", "from_unit", "rounded", "to_unit"]

SMALLEST_SIDE_PX = 16
"""Below this a 16 x 16 block or a blur kernel has no room."""

Image: TypeAlias = NDArray[np.uint8]
FloatImage: TypeAlias = NDArray[np.float32]


def checked(image: Image) -> Image:
    """Return ``image`` C-contiguous (a copy only where it was not), or say why it is no picture.

    Raises:
        InputError: Not a numpy array, not uint8, not ``(H, W, 3)``, or a side below 16 px.
    """
    if not isinstance(image, np.ndarray):
        raise InputError("not a picture", expected="a numpy array", got=type(image).__name__)
    if image.dtype != np.uint8:
        raise InputError("wrong type of pixel", expected="uint8", got=str(image.dtype))
    if image.ndim != 3 or image.shape[2] != 3:
        raise InputError("wrong shape of picture", expected="(H, W, 3), RGB", got=image.shape)
    if min(image.shape[:2]) < SMALLEST_SIDE_PX:
        raise InputError(
            "picture too small",
            expected=f"at least {SMALLEST_SIDE_PX} x {SMALLEST_SIDE_PX} pixels",
            got=image.shape[:2],
        )
    return np.ascontiguousarray(image)


def to_unit(image: Image) -> FloatImage:
    """Return the picture as float32 in [0, 1]."""
    scaled: FloatImage = cv2.multiply(image, (1 / 255,) * 4, dtype=cv2.CV_32F)
    return scaled


def from_unit(image: FloatImage) -> Image:
    """Return float32 in [0, 1] as uint8, rounded to nearest; values outside saturate."""
    quantised: Image = cv2.multiply(image, (255.0,) * 4, dtype=cv2.CV_8U)
    return quantised


def rounded(values: NDArray[np.floating]) -> Image:
    """Return values in [0, 255] as uint8, rounded to nearest; values outside saturate. For tables."""
    result: Image = np.clip(np.rint(values), 0, 255).astype(np.uint8)
    return result
