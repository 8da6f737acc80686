"""MIQD's blurs: motion, defocus, glass."""

from __future__ import annotations

import math
from functools import lru_cache

import cv2
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from embodied_iqa.imaging.distortions.convolution import convolve
from embodied_iqa.imaging.distortions.entry import DistortionClass, miqd
from embodied_iqa.imaging.distortions.image import Image
from embodied_iqa.imaging.distortions.random_fields import uniform_words

_WORDS = 65536
_MOTION_ANGLES_DEG = (-45.0, 45.0)


def trail_kernel(radius_px: float, sigma_px: float, angle_deg: float) -> NDArray[np.float32]:
    """Return a one-sided Gaussian trail (ImageMagick's motion blur): ``2 ceil(radius) + 1`` steps of 1 px."""
    steps = np.arange(2 * math.ceil(radius_px) + 1)
    weights = np.exp(-(steps**2) / (2.0 * sigma_px**2))
    steps = steps[weights > weights[0] * 1e-3]
    columns = np.rint(steps * math.cos(math.radians(angle_deg))).astype(np.intp)
    rows = np.rint(steps * math.sin(math.radians(angle_deg))).astype(np.intp)
    reach_y, reach_x = int(np.abs(rows).max()), int(np.abs(columns).max())
    kernel = np.zeros((2 * reach_y + 1, 2 * reach_x + 1))
    np.add.at(kernel, (rows + reach_y, columns + reach_x), weights[: len(steps)])
    normalised: NDArray[np.float32] = (kernel / kernel.sum()).astype(np.float32)
    return normalised


def motion_blur(image: Image, rng: Generator, radius_px: float, sigma_px: float) -> Image:
    """Smear along a random direction within 45 degrees of the horizontal."""
    return convolve(image, trail_kernel(radius_px, sigma_px, float(rng.uniform(*_MOTION_ANGLES_DEG))))


@lru_cache(maxsize=16)
def defocus_kernel(radius_px: float, alias_px: float) -> NDArray[np.float32]:
    """Return a disk of whole pixels, softened by a Gaussian of ``alias_px`` over 3 (5 above 8 px) pixels."""
    support = 3 if radius_px <= 8 else 5
    reach = math.floor(radius_px) + support // 2
    axis = np.arange(-reach, reach + 1)
    disk = (axis[:, None] ** 2 + axis[None, :] ** 2 <= radius_px**2).astype(np.float32)
    soft: NDArray[np.float32] = cv2.GaussianBlur(disk / disk.sum(), (support, support), alias_px)
    soft /= soft.sum()
    return soft


def defocus_blur(image: Image, _: Generator, radius_px: float, alias_px: float) -> Image:
    """Convolve with a softened disk."""
    return convolve(image, defocus_kernel(radius_px, alias_px))


@lru_cache(maxsize=16)
def _shuffle_table(reach_px: float, share: float) -> NDArray[np.int16]:
    """Return the ``(1, 65536, 2)`` displacement of each random word: uniform for a share, 0 for the rest."""
    reach = math.floor(reach_px + 0.5)
    side = 2 * reach + 1
    places = np.arange(_WORDS) * side * side // max(1, round(_WORDS * share))
    moved = places < side * side
    x, y = (np.where(moved, axis - reach, 0) for axis in (places % side, places // side))
    return np.stack([x, y], axis=-1).astype(np.int16)[None]


def glass_blur(image: Image, rng: Generator, sigma_px: float, reach_px: float, passes: float) -> Image:
    """Blur, displace pixels by up to ``reach_px``, blur again.

    Each pass takes every pixel from a random place; a fraction of a pass moves that share of the pixels. (The
    original swaps pixel after pixel; here all move at once.)
    """
    image = cv2.GaussianBlur(image, (0, 0), sigma_px, borderType=cv2.BORDER_REFLECT)
    height, width = image.shape[:2]
    grid = np.stack(np.meshgrid(np.arange(width), np.arange(height)), axis=-1).astype(np.int16)
    for number in range(math.ceil(passes)):
        words = uniform_words(rng, (height, width))
        moves = cv2.LUT(cv2.merge([words, words]), _shuffle_table(reach_px, min(1.0, passes - number)))
        image = cv2.remap(image, cv2.add(moves, grid), None, cv2.INTER_NEAREST, borderMode=cv2.BORDER_REFLECT)
    return np.asarray(cv2.GaussianBlur(image, (0, 0), sigma_px, borderType=cv2.BORDER_REFLECT))


_BLUR = DistortionClass.BLUR
ENTRIES = (
    miqd(
        "miqd:motion-blur",
        _BLUR,
        motion_blur,
        "px",
        radius=(1.4, 7, 20, 35, 60),
        sigma=(0.6, 2.5, 7, 14, 30),
        coherent=True,
    ),
    miqd(
        "miqd:defocus-blur",
        _BLUR,
        defocus_blur,
        "px",
        radius=(0.95, 0.999, 3, 7, 12),
        alias=(0.5, 0.9, 0.5, 0.8, 0.9),
    ),
    miqd(
        "miqd:glass-blur",
        _BLUR,
        glass_blur,
        "px, px, passes over the image",
        sigma=(0.4, 0.55, 1.2, 2, 4),
        reach=(1, 1.5, 2.5, 2, 5),
        passes=(0.4, 0.9, 0.99, 2, 4),
    ),
)
