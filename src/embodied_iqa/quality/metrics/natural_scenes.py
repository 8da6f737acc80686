"""Statistics of natural scenes: locally normalised luminance and its asymmetric Gaussian distributions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_WINDOW_PX: Final = 7
_SIGMA_PX: Final = 7 / 6
_NOISE: Final = 1e-6
"""A difference from the local mean below this is rounding, and has no sign."""
_STRIP_ROWS: Final = 64
"""Rows at a time: large temporary arrays cost more than the operations on them."""
_ALPHAS: Final = np.arange(200, 10_001) / 1000
_log_gamma = np.vectorize(math.lgamma, otypes=[np.float64])  # SciPy's takes half a second to import


def normalised(luminance: Array, border: int) -> Array:
    """Return the mean-subtracted, contrast-normalised luminance (MSCN), ``(H, W)``.

    Args:
        luminance: ``(H, W)`` in [0, 255].
        border: OpenCV's kind of border.
    """
    values = np.empty_like(luminance)
    for top in range(0, len(luminance), _STRIP_ROWS):
        first = max(top - _WINDOW_PX // 2, 0)
        strip = luminance[first : top + _STRIP_ROWS + _WINDOW_PX // 2]
        inside = slice(top - first, top - first + _STRIP_ROWS)
        values[top : top + _STRIP_ROWS] = _normalised_strip(strip, border)[inside]
    return values


def _normalised_strip(luminance: Array, border: int) -> Array:
    window = (_WINDOW_PX, _WINDOW_PX)
    mean = cv2.GaussianBlur(luminance, window, _SIGMA_PX, borderType=border)
    squares = cv2.GaussianBlur(luminance * luminance, window, _SIGMA_PX, borderType=border)
    values: Array = luminance - mean
    values[np.abs(values) < _NOISE] = 0.0
    mean *= mean
    squares -= mean
    deviation = np.sqrt(np.abs(squares, out=squares), out=squares)
    deviation += 1.0
    values /= deviation
    return values


@dataclass(frozen=True, slots=True)
class AsymmetricGaussian:
    """Asymmetric generalised Gaussian distributions of blocks, fitted by their moments; equal shapes.

    Attributes:
        alpha: Shape in [0.2, 10]; 2 is Gaussian.
        left: Standard deviation of the values below 0.
        right: Of the values above 0.
    """

    alpha: Array
    left: Array
    right: Array

    @classmethod
    def of(cls, blocks: Array, *, zero_is_right: bool) -> AsymmetricGaussian:
        """Fit blocks ``(rows, h, columns, w)``.

        Args:
            blocks: The values.
            zero_is_right: Zeros count among the values above 0; otherwise on neither side.
        """
        axes = (1, 3)
        all_squares = (blocks * blocks).sum(axis=axes)
        below = np.minimum(blocks, 0.0)
        below *= below
        below_squares = below.sum(axis=axes)
        below_count = np.count_nonzero(blocks < 0, axis=axes)
        count = blocks.shape[1] * blocks.shape[3]
        above_count = count - below_count if zero_is_right else np.count_nonzero(blocks > 0, axis=axes)
        left = np.sqrt(below_squares / np.maximum(below_count, 1))
        right = np.sqrt((all_squares - below_squares).clip(0) / np.maximum(above_count, 1))
        ratio = left / np.where(right > 0, right, 1.0)
        flat = np.where(all_squares > 0, all_squares, 1.0)
        moment = np.abs(blocks).sum(axis=axes) ** 2 / (count * flat)
        moment *= (ratio**3 + 1) * (ratio + 1) / (ratio**2 + 1) ** 2
        return cls(np.interp(moment, _moments(), _ALPHAS), left, right)

    @property
    def scale(self) -> Array:
        """Factor from a standard deviation to the distribution's scale."""
        factor: Array = np.exp((_log_gamma(1 / self.alpha) - _log_gamma(3 / self.alpha)) / 2)
        return factor

    @property
    def mean(self) -> Array:
        """Mean of the distribution."""
        factor = np.exp(_log_gamma(2 / self.alpha) - _log_gamma(1 / self.alpha))
        mean: Array = (self.right - self.left) * self.scale * factor
        return mean


@cache
def _moments() -> Array:
    """Return squared mean magnitude over mean square of symmetric distributions of the shapes `_ALPHAS`."""
    moments: Array = np.exp(2 * _log_gamma(2 / _ALPHAS) - _log_gamma(1 / _ALPHAS) - _log_gamma(3 / _ALPHAS))
    return moments
