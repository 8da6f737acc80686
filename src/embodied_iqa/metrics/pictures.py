"""Validation of the input of full-reference metrics."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.errors import InputError


def check_pair(reference: NDArray[np.uint8], distorted: NDArray[np.uint8], smallest_px: int) -> None:
    """Check that two pictures are ``(H, W, 3)`` uint8 of the same shape.

    Raises:
        InputError: Wrong dtype, shape or size.
    """
    for picture in (reference, distorted):
        if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3:
            raise InputError(
                "not a picture",
                expected="(H, W, 3) uint8 RGB",
                got=f"{picture.shape} {picture.dtype}",
            )
    if reference.shape != distorted.shape:
        raise InputError(
            "the two pictures differ in size", expected=str(reference.shape), got=str(distorted.shape)
        )
    if min(reference.shape[:2]) < smallest_px:
        raise InputError(
            "picture too small for the metric",
            expected=f"at least {smallest_px} x {smallest_px} pixels",
            got=reference.shape[:2],
        )
