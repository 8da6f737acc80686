"""Structural similarity (Wang, Bovik, Sheikh & Simoncelli 2004)."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.metrics.pictures import check_pair

WINDOW_PX = 11
_SIGMA_PX = 1.5
C1 = (0.01 * 255.0) ** 2
C2 = (0.03 * 255.0) ** 2


def local_mean(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the Gaussian-weighted means of the windows that fit into the picture."""
    blurred = cv2.GaussianBlur(values, (WINDOW_PX, WINDOW_PX), _SIGMA_PX)
    edge = WINDOW_PX // 2
    inside: NDArray[np.float32] = blurred[edge:-edge, edge:-edge]
    return inside


def ssim(reference: NDArray[np.uint8], distorted: NDArray[np.uint8]) -> float:
    """Return the mean structural similarity of the three channels, Gaussian windows of 11 px, sigma 1.5 px.

    Windows that leave the picture are not counted; variances divide by the window's weight (not ``N - 1``).

    Args:
        reference: ``(H, W, 3)`` uint8 RGB, at least 11 x 11.
        distorted: The same shape.

    Returns:
        In [-1, 1], higher is better; 1 for equal pictures.

    Raises:
        InputError: Another type, shape or size.
    """
    check_pair(reference, distorted, WINDOW_PX)
    x, y = reference.astype(np.float32), distorted.astype(np.float32)
    mean_x, mean_y = local_mean(x), local_mean(y)
    variances = local_mean(x * x + y * y) - mean_x**2 - mean_y**2
    covariance = local_mean(x * y) - mean_x * mean_y
    product = mean_x * mean_y
    similarity = (2 * product + C1) * (2 * covariance + C2)
    similarity /= (mean_x**2 + mean_y**2 + C1) * (variances + C2)
    return float(similarity.mean(dtype=np.float64))
