"""Spatial distortions of pixels: jitter (22), resolution limit (27), gray quantization (28)."""

from __future__ import annotations

from functools import lru_cache

import cv2
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from embodied_iqa.imaging.distortions.entry import DistortionClass, kadid
from embodied_iqa.imaging.distortions.image import Image, rounded
from embodied_iqa.imaging.distortions.random_fields import normal_quantiles, uniform_words

_PASSES = 5
_BAND_ROWS = 32
"""Rows that move at once: their tables stay within the processor's cache."""
_SUBPIXEL_BITS = 5
"""OpenCV's bilinear remap works in steps of 1/32 px."""


@lru_cache(maxsize=16)
def _displacement_table(sigma_px: float) -> NDArray[np.int16]:
    """Return the table from a random word to a Gaussian displacement, in steps of 1/32 px."""
    steps: NDArray[np.int16] = np.rint(normal_quantiles() * sigma_px * 2**_SUBPIXEL_BITS).astype(np.int16)
    return steps


def jitter(image: Image, rng: Generator, sigma_px: float) -> Image:
    """Move every pixel by an independent Gaussian displacement, five times over, bilinearly interpolated."""
    height, width = image.shape[:2]
    grid = np.empty((height, width, 2), np.int16)
    grid[..., 0], grid[..., 1] = np.arange(width), np.arange(height)[:, None]
    table = _displacement_table(sigma_px)
    moved = cv2.cvtColor(image, cv2.COLOR_RGB2RGBA)  # OpenCV moves four channels faster than three
    following = np.empty_like(moved)
    for _ in range(_PASSES):
        words = uniform_words(rng, grid.shape)
        for top in range(0, height, _BAND_ROWS):
            band = slice(top, top + _BAND_ROWS)
            steps = cv2.LUT(words[band], table)
            places = cv2.add(steps >> _SUBPIXEL_BITS, grid[band])
            options = {"dst": following[band], "borderMode": cv2.BORDER_REPLICATE}
            cv2.remap(moved, places, _cells(steps), cv2.INTER_LINEAR, **options)
        moved, following = following, moved
    return np.asarray(cv2.cvtColor(moved, cv2.COLOR_RGBA2RGB))


def _cells(steps: NDArray[np.int16]) -> NDArray[np.uint16]:
    """Return the fractions of displacements ``(H, W, 2)`` as one number, ``x + 32 y``."""
    pairs = np.ascontiguousarray(steps, "<i2").view("<u4")[..., 0]
    highest = 2**_SUBPIXEL_BITS - 1
    x, y = pairs & highest, (pairs >> (16 - _SUBPIXEL_BITS)) & (highest << _SUBPIXEL_BITS)
    cells: NDArray[np.uint16] = (x | y).astype(np.uint16)
    return cells


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
    """Reduce each channel to ``levels`` equally spaced grey levels from 0 to 255."""
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
    kadid("28", _SPATIAL, gray_quantization, "grey levels of each channel", levels=(20, 16, 13, 10, 7)),
)
