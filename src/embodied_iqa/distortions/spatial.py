"""Spatial distortions of pixels: jitter (22), resolution limit (27), gray quantization (28)."""

from __future__ import annotations

from functools import lru_cache

import cv2
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from embodied_iqa.distortions.entry import DistortionClass, kadid
from embodied_iqa.distortions.image import Image, rounded
from embodied_iqa.distortions.random_fields import normal_quantiles, uniform_words

_PASSES = 5
_SUBPIXELS = 32
"""OpenCV's bilinear remap works in steps of 1/32 px."""


@lru_cache(maxsize=16)
def _displacement_tables(sigma_px: float) -> tuple[NDArray[np.int16], NDArray[np.uint16]]:
    """Return tables from a random word to the whole and the fractional part of a Gaussian displacement."""
    steps = np.rint(normal_quantiles() * sigma_px * _SUBPIXELS).astype(np.int64)
    whole = (steps // _SUBPIXELS).astype(np.int16)
    fraction = (steps % _SUBPIXELS).astype(np.uint16)
    return whole, np.stack([fraction, fraction * _SUBPIXELS], axis=-1)[None]


def jitter(image: Image, rng: Generator, sigma_px: float) -> Image:
    """Move every pixel by an independent Gaussian displacement, five times over, bilinearly interpolated."""
    height, width = image.shape[:2]
    grid = np.stack(np.meshgrid(np.arange(width), np.arange(height)), axis=-1).astype(np.int16)
    whole, fraction = _displacement_tables(sigma_px)
    for _ in range(_PASSES):
        words = uniform_words(rng, (height, width, 2))
        places = cv2.add(cv2.LUT(words, whole), grid)
        parts = cv2.LUT(words, fraction)
        cells = cv2.add(parts[..., 0], parts[..., 1])
        image = cv2.remap(image, places, cells, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    return image


def shrink_and_enlarge(image: Image, scale: float, down: int) -> Image:
    """Shrink by ``scale`` and enlarge again by nearest neighbour.

    Args:
        image: ``(H, W, 3)`` uint8.
        scale: In (0, 1).
        down: OpenCV's interpolation for shrinking.
    """
    height, width = image.shape[:2]
    size = (max(1, int(width * scale)), max(1, int(height * scale)))
    small = cv2.resize(image, size, interpolation=down)
    return np.asarray(cv2.resize(small, (width, height), interpolation=cv2.INTER_NEAREST_EXACT))


def resolution_limit(image: Image, _: Generator, scale: float) -> Image:
    """Shrink by ``scale`` and enlarge again, both by nearest neighbour."""
    return shrink_and_enlarge(image, scale, cv2.INTER_NEAREST_EXACT)


def gray_quantization(image: Image, _: Generator, levels: float) -> Image:
    """Reduce each channel to ``levels`` equally spaced gray levels from 0 to 255."""
    count = round(levels)
    index = np.floor(np.arange(256) * count / 256)
    return np.asarray(cv2.LUT(image, rounded(index * 255.0 / (count - 1))))


_SPATIAL = DistortionClass.SPATIAL
ENTRIES = (
    kadid("22", _SPATIAL, jitter, "px, in each of five passes", sigma=(0.05, 0.1, 0.2, 0.5, 1.0)),
    kadid(
        "27",
        _SPATIAL,
        resolution_limit,
        "share of the width and height",
        scale=(0.887, 0.784, 0.699, 0.569, 0.290),
    ),
    kadid("28", _SPATIAL, gray_quantization, "gray levels of each channel", levels=(20, 16, 13, 10, 7)),
)
