"""Gradient magnitude similarity deviation (Xue, Zhang, Mou & Bovik 2014)."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.metrics.pictures import check_pair

_C = 170.0
_PREWITT = np.array([[1, 0, -1], [1, 0, -1], [1, 0, -1]], np.float32) / 3


def _gradient_magnitude(image: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return Prewitt's gradient magnitude of each channel at half the resolution (2 x 2 means)."""
    height, width = (side // 2 * 2 for side in image.shape[:2])
    even = image[:height, :width].astype(np.float32)
    small = (even[::2, ::2] + even[1::2, ::2] + even[::2, 1::2] + even[1::2, 1::2]) * np.float32(0.25)
    dx, dy = (cv2.filter2D(small, -1, kernel)[1:-1, 1:-1] for kernel in (_PREWITT, _PREWITT.T.copy()))
    magnitude: NDArray[np.float32] = np.sqrt(dx * dx + dy * dy)
    return magnitude


def gmsd(reference: NDArray[np.uint8], distorted: NDArray[np.uint8]) -> float:
    """Return the standard deviation of the gradient magnitude similarity, averaged over channels.

    ``GMS = (2 m_r m_d + c) / (m_r^2 + m_d^2 + c)``, ``c = 170``. The paper works on luminance; here a change
    of colour alone counts too.

    Args:
        reference: ``(H, W, 3)`` uint8 RGB, at least 8 x 8.
        distorted: The same shape.

    Returns:
        0 for equal pictures, about 0.35 for the worst; lower is better.

    Raises:
        InputError: Another type, shape or size.
    """
    check_pair(reference, distorted, 8)
    m_r, m_d = _gradient_magnitude(reference), _gradient_magnitude(distorted)
    similarity = (2 * m_r * m_d + _C) / (m_r**2 + m_d**2 + _C)
    return float(similarity.std(axis=(0, 1), dtype=np.float64).mean())
