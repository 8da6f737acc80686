"""NIQE: distance from the statistics of clean images (Mittal, Soundararajan & Bovik 2013)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.quality.metrics.input_checks import check_image
from embodied_iqa.quality.metrics.maps import luma_of
from embodied_iqa.quality.metrics.natural_scenes import Array, AsymmetricGaussian, normalised
from embodied_iqa.quality.metrics.parameters import shipped

_BLOCK_PX: Final = 96
_SMALLEST_PX: Final = 2 * _BLOCK_PX
_SHIFTS: Final = ((0, 1), (1, 0), (1, 1), (1, -1))
_SHARP: Final = 0.75
"""Blocks of clean images count whose mean local deviation is above this share of the sharpest one's."""
_BICUBIC: Final = np.array([-3, -9, 29, 111, 111, 29, -9, -3]) / 256
"""Bicubic kernel stretched to half the resolution, as `imresize` of MATLAB."""


@dataclass(frozen=True, slots=True, eq=False)
class NaturalModel:
    """Distribution of the features of blocks of clean images.

    Attributes:
        mean: ``(36,)``.
        covariance: ``(36, 36)``.
    """

    mean: Array
    covariance: Array


@cache
def _clean() -> NaturalModel:
    """Return the model of simulated and photographed clean images."""
    arrays = shipped("niqe")
    return NaturalModel(arrays["mean"], arrays["covariance"])


def _half(luma: Array) -> Array:
    rows = cv2.sepFilter2D(luma, -1, _BICUBIC, _BICUBIC, anchor=(3, 3), borderType=cv2.BORDER_REFLECT)
    return np.ascontiguousarray(rows[::2, ::2])


def _blocks(values: Array, side_px: int) -> Array:
    height, width = values.shape
    return values.reshape(height // side_px, side_px, width // side_px, side_px)


def _features_of(blocks: Array) -> list[Array]:
    whole = AsymmetricGaussian.of(blocks, zero_is_right=False)
    features = [whole.alpha, (whole.left + whole.right) * whole.scale / 2]
    for shift in _SHIFTS:
        pair = AsymmetricGaussian.of(blocks * np.roll(blocks, shift, axis=(1, 3)), zero_is_right=False)
        features += [pair.alpha, pair.mean, pair.left * pair.scale, pair.right * pair.scale]
    return features


def block_features(image: NDArray[np.uint8]) -> Array:
    """Return the 36 features of each block of 96 x 96 pixels, ``(blocks, 36)``.

    Raises:
        InputError: Not an image of at least 192 x 192 pixels.
    """
    check_image(image, _SMALLEST_PX)
    height, width = (side // _BLOCK_PX * _BLOCK_PX for side in image.shape[:2])
    luma = np.rint(luma_of(image[:height, :width])).astype(np.float64)
    features = []
    for scale in (1, 2):
        values = normalised(luma, cv2.BORDER_REPLICATE)
        features += _features_of(_blocks(values, _BLOCK_PX // scale))
        luma = _half(luma)
    return np.stack(features, axis=-1).reshape(-1, len(features))


def fit(images: Iterable[NDArray[np.uint8]]) -> NaturalModel:
    """Return the model of the sharp blocks of clean images.

    Args:
        images: ``(H, W, 3)`` uint8 RGB, each at least 192 x 192.
    """
    kept = []
    for image in images:
        features = block_features(image)
        sharpness = _sharpness(image)
        kept.append(features[sharpness > _SHARP * sharpness.max()])
    blocks = np.concatenate(kept)
    return NaturalModel(blocks.mean(axis=0), np.cov(blocks, rowvar=False))


def _sharpness(image: NDArray[np.uint8]) -> Array:
    height, width = (side // _BLOCK_PX * _BLOCK_PX for side in image.shape[:2])
    luma = luma_of(image[:height, :width]).astype(np.float64)
    mean, squares = (cv2.GaussianBlur(values, (7, 7), 7 / 6) for values in (luma, luma * luma))
    deviation = np.sqrt(np.abs(squares - mean * mean))
    blocks: Array = _blocks(deviation, _BLOCK_PX).mean(axis=(1, 3)).ravel()
    return blocks


def niqe(distorted: NDArray[np.uint8], model: NaturalModel | None = None) -> float:
    """Return the distance of an image's block statistics from those of clean images.

    Args:
        distorted: ``(H, W, 3)`` uint8 RGB, at least 192 x 192.
        model: Of clean images; None for the model of this package.

    Returns:
        0 and above, lower is better.

    Raises:
        InputError: Another type, shape or size.
    """
    clean = model or _clean()
    features = block_features(distorted)
    difference = features.mean(axis=0) - clean.mean
    inverse = np.linalg.pinv((clean.covariance + np.cov(features, rowvar=False)) / 2)
    return float(np.sqrt(max(difference @ inverse @ difference, 0.0)))
