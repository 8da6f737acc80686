"""Validation of the input of metrics."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import Description, InputError


def check_image(image: NDArray[np.uint8], smallest_px: int = 1) -> None:
    """Check that an image is ``(H, W, 3)`` uint8 and large enough.

    Raises:
        InputError: Wrong dtype, shape or size.
    """
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3:
        raise InputError(
            "not an image",
            expected="(H, W, 3) uint8 RGB",
            got=Description(f"{image.shape} {image.dtype}"),
        )
    if min(image.shape[:2]) < smallest_px:
        raise InputError(
            "image too small for the metric",
            expected=f"at least {smallest_px} x {smallest_px} pixels",
            got=f"{image.shape[1]} x {image.shape[0]}",
        )


def check_pair(reference: NDArray[np.uint8], distorted: NDArray[np.uint8], smallest_px: int) -> None:
    """Check that two images are ``(H, W, 3)`` uint8 of the same shape.

    Raises:
        InputError: Wrong dtype, shape or size.
    """
    check_image(reference)
    check_image(distorted)
    if reference.shape != distorted.shape:
        raise InputError(
            "the two images differ in size", expected=str(reference.shape), got=str(distorted.shape)
        )
    check_image(distorted, smallest_px)
