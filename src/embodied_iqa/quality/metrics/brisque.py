"""BRISQUE: spatial statistics and a support vector machine (Mittal, Moorthy & Bovik 2012)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.quality.metrics.input_checks import check_image
from embodied_iqa.quality.metrics.natural_scenes import Array, AsymmetricGaussian, normalised
from embodied_iqa.quality.metrics.parameters import shipped

_SMALLEST_PX: Final = 32
_GREY: Final = np.array([[0.2125, 0.7154, 0.0721]])


@dataclass(frozen=True, slots=True, eq=False)
class _Machine:
    """Support vector regression with a Gaussian kernel.

    Attributes:
        low: Least value of each of the 36 features in training.
        high: Their largest values.
        vectors: ``(n, 36)`` scaled features.
        weights: ``(n,)``.
        gamma: Of the kernel.
        offset: Subtracted from the sum.
    """

    low: Array
    high: Array
    vectors: NDArray[np.float32]
    weights: Array
    gamma: float
    offset: float

    def value(self, features: Array) -> float:
        """Return the prediction for 36 features."""
        scaled = 2 * (features - self.low) / (self.high - self.low) - 1
        distances = ((self.vectors - scaled) ** 2).sum(axis=1)
        return float(np.exp(-self.gamma * distances) @ self.weights - self.offset)


@cache
def _machine() -> _Machine:
    """Return the machine that the package `image-quality` 1.2.7 trained on LIVE (Apache 2.0)."""
    arrays = shipped("brisque")
    gamma, offset = arrays["gamma_offset"].tolist()
    return _Machine(arrays["low"], arrays["high"], arrays["vectors"], arrays["weights"], gamma, offset)


def _features(grey: Array) -> list[float]:
    values = normalised(grey, cv2.BORDER_CONSTANT)
    neighbours = (
        values[:, :-1] * values[:, 1:],
        values[:-1] * values[1:],
        values[:-1, :-1] * values[1:, 1:],
        values[1:, :-1] * values[:-1, 1:],
    )
    whole, *pairs = (
        AsymmetricGaussian.of(one[None, :, None, :], zero_is_right=True) for one in (values, *neighbours)
    )
    features = [whole.alpha, (whole.left**2 + whole.right**2) / 2]
    for pair in pairs:
        features += [pair.alpha, pair.mean, pair.left**2, pair.right**2]
    return [float(feature[0, 0]) for feature in features]


def brisque(distorted: NDArray[np.uint8]) -> float:
    """Return the deviation from the statistics of natural photographs, as trained on human opinions (LIVE).

    Args:
        distorted: ``(H, W, 3)`` uint8 RGB, at least 32 x 32.

    Returns:
        About 0 to 100, lower is better.

    Raises:
        InputError: Another type, shape or size.
    """
    check_image(distorted, _SMALLEST_PX)
    grey = cv2.transform(distorted.astype(np.float64), _GREY)
    half = cv2.resize(grey, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_CUBIC)
    return _machine().value(np.array(_features(grey) + _features(half)))
