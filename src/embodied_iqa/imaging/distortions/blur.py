"""Blur: Gaussian (01), lens (02), motion (03)."""

from __future__ import annotations

import math
from functools import lru_cache

import cv2
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from embodied_iqa.imaging.distortions.convolution import convolve
from embodied_iqa.imaging.distortions.entry import DistortionClass, calibrated, kadid
from embodied_iqa.imaging.distortions.image import Image

_SUBPIXELS = 16


def gaussian_blur(image: Image, _: Generator, sigma_px: float) -> Image:
    """Convolve with a Gaussian of standard deviation ``sigma_px``, mirrored at the border."""
    return np.asarray(cv2.GaussianBlur(image, (0, 0), sigma_px, borderType=cv2.BORDER_REFLECT))


@lru_cache(maxsize=64)
def disk_kernel(radius_px: float) -> NDArray[np.float32]:
    """Return the normalised disk of ``radius_px``: each weight is the pixel's area inside the circle.

    The area is counted on a 16 x 16 sub-grid (error below 0.5 % of a pixel).
    """
    reach = math.ceil(radius_px - 0.5)
    count = (2 * reach + 1) * _SUBPIXELS
    axis = (np.arange(count) + 0.5) / _SUBPIXELS - (reach + 0.5)
    inside = axis[:, None] ** 2 + axis[None, :] ** 2 <= radius_px**2
    cells = inside.reshape(2 * reach + 1, _SUBPIXELS, 2 * reach + 1, _SUBPIXELS).mean(axis=(1, 3))
    result: NDArray[np.float32] = (cells / cells.sum()).astype(np.float32)
    return result


def lens_blur(image: Image, _: Generator, radius_px: float) -> Image:
    """Convolve with a disk, the image of a point out of focus, mirrored at the border."""
    return convolve(image, disk_kernel(radius_px))


def line_kernel(length_px: float, angle_deg: float) -> NDArray[np.float32]:
    """Return the normalised path of a point that moves ``length_px`` at ``angle_deg`` (0 is along x, 90 up).

    A pixel weighs by its distance to the segment, falling to 0 at one pixel, as in MATLAB's ``fspecial``.
    """
    half = max(length_px - 1.0, 0.0) / 2
    cosine, sine = math.cos(math.radians(angle_deg)), math.sin(math.radians(angle_deg))
    reach = math.ceil(half)
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1].astype(np.float64)
    along = x * cosine - y * sine
    beyond = np.maximum(np.abs(along) - half, 0.0)
    across = x * sine + y * cosine
    weights = np.maximum(1.0 - np.hypot(across, beyond), 0.0)
    result: NDArray[np.float32] = (weights / weights.sum()).astype(np.float32)
    return result


def motion_blur(image: Image, rng: Generator, length_px: float) -> Image:
    """Convolve with a straight line of ``length_px`` at a random angle in [0, 180) degrees."""
    kernel = line_kernel(length_px, float(rng.uniform(0.0, 180.0)))
    return convolve(image, kernel)


_BLUR = DistortionClass.BLUR
ENTRIES = (
    calibrated(
        "01", _BLUR, gaussian_blur, "sigma", "px", "KADID-10k: 0.1, 0.5, 1, 2, 5; its level 1 is an identity"
    ),
    kadid("02", _BLUR, lens_blur, "px", "the number 02 is printed in the paper", radius=(1, 2, 4, 6, 8)),
    calibrated(
        "03",
        _BLUR,
        motion_blur,
        "length",
        "px",
        "KADID-10k: 1, 2, 4, 6, 10; its level 1 is an identity",
        coherent=True,
    ),
)
