"""Peak signal-to-noise ratio."""

from __future__ import annotations

import math

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.quality.metrics.input_checks import check_pair


def psnr(reference: NDArray[np.uint8], distorted: NDArray[np.uint8]) -> float:
    """Return ``10 log10(255^2 / MSE)`` over all values.

    Args:
        reference: ``(H, W, 3)`` uint8 RGB.
        distorted: The same shape.

    Returns:
        Decibels, higher is better; infinity for equal images.

    Raises:
        InputError: Another type, shape or size.
    """
    check_pair(reference, distorted, 1)
    squares = cv2.norm(reference, distorted, cv2.NORM_L2SQR)
    return math.inf if squares == 0 else 10.0 * math.log10(255.0**2 * reference.size / squares)
