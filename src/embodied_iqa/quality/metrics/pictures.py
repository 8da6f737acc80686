"""Validation of the input of metrics."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError


def check_picture(picture: NDArray[np.uint8], smallest_px: int = 1) -> None:
    """Check that a picture is ``(H, W, 3)`` uint8 and large enough.

    Raises:
        InputError: Wrong dtype, shape or size.
    """
    if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3:
        raise InputError(
            "not a picture",
            expected="(H, W, 3) uint8 RGB",
            got=f"{picture.shape} {picture.dtype}",
        )
    if min(picture.shape[:2]) < smallest_px:
        raise InputError(
            "picture too small for the metric",
            expected=f"at least {smallest_px} x {smallest_px} pixels",
            got=picture.shape[:2],
        )


def check_pair(reference: NDArray[np.uint8], distorted: NDArray[np.uint8], smallest_px: int) -> None:
    """Check that two pictures are ``(H, W, 3)`` uint8 of the same shape.

    Raises:
        InputError: Wrong dtype, shape or size.
    """
    check_picture(reference)
    check_picture(distorted)
    if reference.shape != distorted.shape:
        raise InputError(
            "the two pictures differ in size", expected=str(reference.shape), got=str(distorted.shape)
        )
    check_picture(distorted, smallest_px)
