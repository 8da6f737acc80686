"""Visual information fidelity in the pixel domain (Sheikh & Bovik 2006)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.quality.metrics.input_checks import check_pair
from embodied_iqa.quality.metrics.last_image import LastImage
from embodied_iqa.quality.metrics.maps import Map, luma_of

_SMALLEST_PX: Final = 41
_NOISE: Final = 2.0
"""Variance of the noise of the visual system."""
_EPSILON: Final = 1e-8
_WINDOWS_PX: Final = (17, 9, 5, 3)
_MIDDLE: Final = 127.5
"""Subtracted from all values: variances stay the same, and lose less to rounding."""


def _blurred(values: Map, window_px: int) -> Map:
    edge = window_px // 2
    blurred: Map = cv2.GaussianBlur(values, (window_px, window_px), window_px / 5)
    return blurred[edge:-edge, edge:-edge]


@dataclass(frozen=True, slots=True, eq=False)
class _Scale:
    """Statistics of one image at one scale.

    Attributes:
        luma: ``(H, W)``, less `_MIDDLE`.
        mean: Of each window, ``(H - window + 1, W - window + 1)``.
        variance: Of each window.
    """

    luma: Map
    mean: Map
    variance: Map


def _information(ratio: NDArray[np.floating]) -> float:
    """Return the information of windows with a ratio of signal to noise, summed."""
    return float(np.log1p(ratio).sum(dtype=np.float64))


def _scales(image: NDArray[np.uint8]) -> tuple[_Scale, ...]:
    luma = luma_of(image) - np.float32(_MIDDLE)
    scales = []
    for number, window_px in enumerate(_WINDOWS_PX):
        if number:
            luma = np.ascontiguousarray(_blurred(luma, window_px)[::2, ::2])
        mean = _blurred(luma, window_px)
        variance = np.maximum(_blurred(luma * luma, window_px) - mean * mean, 0)
        scales.append(_Scale(luma, mean, variance))
    return tuple(scales)


def _scales_and_information(image: NDArray[np.uint8]) -> tuple[tuple[_Scale, ...], float]:
    """Return the scales of a reference, and its information about the scene."""
    scales = _scales(image)
    seen = (np.where(one.variance < _EPSILON, np.float32(0), one.variance) for one in scales)
    return scales, sum((_information(variance / np.float32(_NOISE)) for variance in seen), _EPSILON)


_of_reference: Final = LastImage(_scales_and_information)


def _kept(x: _Scale, y: _Scale, window_px: int) -> float:
    """Return the information of the distorted image ``y`` about the scene."""
    covariance = _blurred(x.luma * y.luma, window_px) - x.mean * y.mean
    gain = covariance / (x.variance + np.float32(_EPSILON))
    gain[(x.variance < _EPSILON) | (y.variance < _EPSILON) | (gain < 0)] = 0
    error = np.maximum(y.variance - gain * covariance, np.float32(_EPSILON))
    gain *= gain
    gain *= x.variance
    gain /= error + np.float32(_NOISE)
    return _information(gain)


def vif(reference: NDArray[np.uint8], distorted: NDArray[np.uint8]) -> float:
    """Return the share of the reference's information that is left, over four scales of the luma.

    Args:
        reference: ``(H, W, 3)`` uint8 RGB, at least 41 x 41.
        distorted: The same shape.

    Returns:
        0 and above, higher is better; 1 for equal images, above 1 where contrast is raised.

    Raises:
        InputError: Another type, shape or size.
    """
    check_pair(reference, distorted, _SMALLEST_PX)
    x, whole = _of_reference(reference)
    return sum(map(_kept, x, _scales(distorted), _WINDOWS_PX), _EPSILON) / whole
