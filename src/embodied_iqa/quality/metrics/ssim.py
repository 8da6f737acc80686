"""Structural similarity (Wang, Bovik, Sheikh & Simoncelli 2004)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.quality.metrics.input_checks import check_pair
from embodied_iqa.quality.metrics.last_image import LastImage
from embodied_iqa.quality.metrics.maps import Map
from embodied_iqa.quality.metrics.maps import similarity as alike

WINDOW_PX: Final = 11
_SIGMA_PX: Final = 1.5
_C1: Final = (0.01 * 255.0) ** 2
_C2: Final = np.float32((0.03 * 255.0) ** 2)
_STRIP_ROWS: Final = 64
"""Rows of windows at a time: their maps stay in the processor's cache."""


@dataclass(frozen=True, slots=True, eq=False)
class Windows:
    """Statistics of the windows of an image.

    Attributes:
        values: ``(H, W, 3)`` in [0, 255].
        mean: Of each window that fits into the image, ``(H - 10, W - 10, 3)``.
        variance: The same shape; divides by the window's weight (not ``N - 1``).
    """

    values: Map
    mean: Map
    variance: Map

    @classmethod
    def of(cls, image: NDArray[Any]) -> Windows:
        """Return the statistics of an image ``(H, W, 3)`` in [0, 255]."""
        values = image.astype(np.float32, copy=False)
        mean = _local_mean(values)
        return cls(values, mean, _local_mean(values * values) - mean * mean)


windows_of_reference: Final = LastImage(Windows.of)


def _local_mean(values: Map) -> Map:
    """Return the Gaussian-weighted means of the windows that fit into the image."""
    blurred = cv2.GaussianBlur(values, (WINDOW_PX, WINDOW_PX), _SIGMA_PX)
    edge = WINDOW_PX // 2
    inside: Map = blurred[edge:-edge, edge:-edge]
    return inside


def mean_similarity(reference: Windows, distorted: NDArray[Any], *, luminance: bool) -> NDArray[np.float64]:
    """Return the mean similarity of the windows of each channel, ``(3,)``.

    Args:
        reference: Statistics of the reference.
        distorted: ``(H, W, 3)`` in [0, 255].
        luminance: Structure, contrast and luminance; otherwise structure and contrast.
    """
    rows, columns, channels = reference.mean.shape
    total = np.zeros(columns * channels)
    for top in range(0, rows, _STRIP_ROWS):
        similarity = _similarity_of_strip(reference, distorted, top, luminance=luminance)
        total += similarity.reshape(len(similarity), -1).sum(axis=0)
    means: NDArray[np.float64] = total.reshape(columns, channels).mean(axis=0) / rows
    return means


def _similarity_of_strip(reference: Windows, distorted: NDArray[Any], top: int, *, luminance: bool) -> Map:
    pixels, inside = slice(top, top + _STRIP_ROWS + WINDOW_PX - 1), slice(top, top + _STRIP_ROWS)
    mean_x, variance_x = reference.mean[inside], reference.variance[inside]
    y = Windows.of(distorted[pixels])
    similarity = _local_mean(reference.values[pixels] * y.values)
    similarity -= mean_x * y.mean
    similarity *= 2
    similarity += _C2
    similarity /= variance_x + y.variance + _C2
    if luminance:
        similarity *= alike(mean_x, y.mean, _C1)
    return similarity


def ssim(reference: NDArray[np.uint8], distorted: NDArray[np.uint8]) -> float:
    """Return the mean structural similarity of the three channels, Gaussian windows of 11 px, sigma 1.5 px.

    Windows that leave the image are not counted; variances divide by the window's weight (not ``N - 1``).

    Args:
        reference: ``(H, W, 3)`` uint8 RGB, at least 11 x 11.
        distorted: The same shape.

    Returns:
        In [-1, 1], higher is better; 1 for equal images.

    Raises:
        InputError: Another type, shape or size.
    """
    check_pair(reference, distorted, WINDOW_PX)
    return float(mean_similarity(windows_of_reference(reference), distorted, luminance=True).mean())
