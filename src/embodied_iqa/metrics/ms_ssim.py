"""Multi-scale structural similarity (Wang, Simoncelli & Bovik 2003)."""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.metrics.pictures import check_pair
from embodied_iqa.metrics.ssim import C1, C2, WINDOW_PX, local_mean

_WEIGHTS: Final = np.array([0.0448, 0.2856, 0.3001, 0.2363, 0.1333])
_SMALLEST_PX: Final = (WINDOW_PX - 1) * 2 ** (len(_WEIGHTS) - 1) + 1


def _parts(x: NDArray[np.float32], y: NDArray[np.float32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean structural similarity and the mean contrast similarity of each channel."""
    mean_x, mean_y = local_mean(x), local_mean(y)
    product = mean_x * mean_y
    squares = mean_x**2 + mean_y**2
    contrast = 2 * (local_mean(x * y) - product) + C2
    contrast /= local_mean(x * x + y * y) - squares + C2
    similarity = contrast * ((2 * product + C1) / (squares + C1))
    return similarity.mean(axis=(0, 1), dtype=np.float64), contrast.mean(axis=(0, 1), dtype=np.float64)


def _half(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the means of 2 x 2 values; where a side is odd, the first row and column count twice."""
    if values.shape[0] % 2 or values.shape[1] % 2:
        values = cv2.copyMakeBorder(values, 1, 0, 1, 0, cv2.BORDER_REPLICATE)
    height, width = (side // 2 for side in values.shape[:2])
    half: NDArray[np.float32] = cv2.resize(
        values[: 2 * height, : 2 * width], (width, height), interpolation=cv2.INTER_AREA
    )
    return half


def ms_ssim(reference: NDArray[np.uint8], distorted: NDArray[np.uint8]) -> float:
    """Return the product of the contrast similarities of five scales and the similarity of the last.

    Each scale has half the resolution of the one before, and the exponents of the paper; negative
    similarities count as 0. Mean of the three channels.

    Args:
        reference: ``(H, W, 3)`` uint8 RGB, at least 161 x 161.
        distorted: The same shape.

    Returns:
        In [0, 1], higher is better; 1 for equal pictures.

    Raises:
        InputError: Another type, shape or size.
    """
    check_pair(reference, distorted, _SMALLEST_PX)
    x, y = reference.astype(np.float32), distorted.astype(np.float32)
    value = np.ones(3)
    for scale, weight in enumerate(_WEIGHTS):
        if scale:
            x, y = _half(x), _half(y)
        similarity, contrast = _parts(x, y)
        last = scale == len(_WEIGHTS) - 1
        value *= np.maximum(similarity if last else contrast, 0.0) ** weight
    return float(value.mean())
