"""Visual information fidelity in the pixel domain (Sheikh & Bovik 2006)."""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.metrics.maps import luma_of
from embodied_iqa.metrics.pictures import check_pair

_SMALLEST_PX: Final = 41
_NOISE: Final = 2.0
"""Variance of the noise of the visual system."""
_EPSILON: Final = 1e-8
_WINDOWS_PX: Final = (17, 9, 5, 3)
_MIDDLE: Final = 127.5
"""Subtracted from all values: variances stay the same, and lose less to rounding."""


def _blurred(values: NDArray[np.float32], window_px: int) -> NDArray[np.float32]:
    edge = window_px // 2
    blurred: NDArray[np.float32] = cv2.GaussianBlur(values, (window_px, window_px), window_px / 5)
    return blurred[edge:-edge, edge:-edge]


def _information(
    x: NDArray[np.float32], y: NDArray[np.float32], window_px: int
) -> tuple[np.float64, np.float64]:
    """Return the information of the distorted picture ``y`` about the scene, and that of ``x``."""
    mean_x, mean_y = _blurred(x, window_px), _blurred(y, window_px)
    variance_x = np.maximum(_blurred(x * x, window_px) - mean_x * mean_x, 0)
    variance_y = np.maximum(_blurred(y * y, window_px) - mean_y * mean_y, 0)
    covariance = _blurred(x * y, window_px) - mean_x * mean_y
    gain = covariance / (variance_x + np.float32(_EPSILON))
    gain[(variance_x < _EPSILON) | (variance_y < _EPSILON) | (gain < 0)] = 0
    error = variance_y - gain * covariance
    variance_x[variance_x < _EPSILON] = 0
    error = np.maximum(error, np.float32(_EPSILON))
    kept = np.log1p(gain * gain * variance_x / (error + np.float32(_NOISE)))
    return kept.sum(dtype=np.float64), np.log1p(variance_x / np.float32(_NOISE)).sum(dtype=np.float64)


def vif(reference: NDArray[np.uint8], distorted: NDArray[np.uint8]) -> float:
    """Return the share of the reference's information that is left, over four scales of the luma.

    Args:
        reference: ``(H, W, 3)`` uint8 RGB, at least 41 x 41.
        distorted: The same shape.

    Returns:
        0 and above, higher is better; 1 for equal pictures, above 1 where contrast is raised.

    Raises:
        InputError: Another type, shape or size.
    """
    check_pair(reference, distorted, _SMALLEST_PX)
    x, y = luma_of(reference) - np.float32(_MIDDLE), luma_of(distorted) - np.float32(_MIDDLE)
    kept, whole = np.float64(_EPSILON), np.float64(_EPSILON)
    for scale, window_px in enumerate(_WINDOWS_PX):
        if scale:
            x, y = (np.ascontiguousarray(_blurred(values, window_px)[::2, ::2]) for values in (x, y))
        of_y, of_x = _information(x, y, window_px)
        kept, whole = kept + of_y, whole + of_x
    return float(kept / whole)
