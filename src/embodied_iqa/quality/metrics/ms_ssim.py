"""Multi-scale structural similarity (Wang, Simoncelli & Bovik 2003)."""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.quality.metrics.input_checks import check_pair
from embodied_iqa.quality.metrics.last_image import LastImage
from embodied_iqa.quality.metrics.maps import Map
from embodied_iqa.quality.metrics.ssim import WINDOW_PX, Windows, mean_similarity, windows_of_reference

_WEIGHTS: Final = np.array([0.0448, 0.2856, 0.3001, 0.2363, 0.1333])
_SMALLEST_PX: Final = (WINDOW_PX - 1) * 2 ** (len(_WEIGHTS) - 1) + 1


def _half(values: Map) -> Map:
    """Return the means of 2 x 2 values; where a side is odd, the first row and column count twice."""
    if values.shape[0] % 2 or values.shape[1] % 2:
        values = cv2.copyMakeBorder(values, 1, 0, 1, 0, cv2.BORDER_REPLICATE)
    height, width = (side // 2 for side in values.shape[:2])
    half: Map = cv2.resize(values[: 2 * height, : 2 * width], (width, height), interpolation=cv2.INTER_AREA)
    return half


def _lower_scales(image: NDArray[np.uint8]) -> tuple[Windows, ...]:
    """Return the statistics of all scales but the first."""
    values, scales = image.astype(np.float32), []
    for _ in _WEIGHTS[1:]:
        values = _half(values)
        scales.append(Windows.of(values))
    return tuple(scales)


_lower_scales_of_reference: Final = LastImage(_lower_scales)


def ms_ssim(reference: NDArray[np.uint8], distorted: NDArray[np.uint8]) -> float:
    """Return the product of the contrast similarities of five scales and the similarity of the last.

    Each scale has half the resolution of the one before, and the exponents of the paper; negative
    similarities count as 0. Mean of the three channels.

    Args:
        reference: ``(H, W, 3)`` uint8 RGB, at least 161 x 161.
        distorted: The same shape.

    Returns:
        In [0, 1], higher is better; 1 for equal images.

    Raises:
        InputError: Another type, shape or size.
    """
    check_pair(reference, distorted, _SMALLEST_PX)
    scales = (windows_of_reference(reference), *_lower_scales_of_reference(reference))
    y, value = distorted.astype(np.float32), np.ones(3)
    for x, weight in zip(scales, _WEIGHTS, strict=True):
        if x is not scales[0]:
            y = _half(y)
        similarity = mean_similarity(x, y, luminance=x is scales[-1])
        value *= np.maximum(similarity, 0.0) ** weight
    return float(value.mean())
