"""MIQD's digital distortions and its noise: contrast, pixelate, JPEG, Gaussian noise."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.random import Generator

from embodied_iqa.imaging.distortions.compression import jpeg
from embodied_iqa.imaging.distortions.entry import DistortionClass, miqd
from embodied_iqa.imaging.distortions.image import Image
from embodied_iqa.imaging.distortions.noise import white_noise
from embodied_iqa.imaging.distortions.spatial import shrink_and_enlarge


def contrast(image: Image, _: Generator, factor: float) -> Image:
    """Multiply each channel's difference from its mean by ``factor``."""
    means = np.array(cv2.mean(image)[:3])
    matrix = np.column_stack([np.eye(3) * factor, means * (1.0 - factor)])
    return np.asarray(cv2.transform(image, matrix))


def pixelate(image: Image, _: Generator, scale: float) -> Image:
    """Shrink by ``scale``, averaging areas, and enlarge again by nearest neighbour."""
    return shrink_and_enlarge(image, scale, cv2.INTER_AREA)


def gaussian_noise(image: Image, rng: Generator, sigma: float) -> Image:
    """Add independent Gaussian noise to every value; ``sigma`` for an image of range [0, 1]."""
    return white_noise(image, rng, sigma**2)


_DIGITAL = DistortionClass.DIGITAL
_NOISE = DistortionClass.NOISE
ENTRIES = (
    miqd(
        "miqd:contrast",
        _DIGITAL,
        contrast,
        "share of the contrast that is left",
        factor=(0.9, 0.573, 0.327, 0.164, 0.05),
    ),
    miqd(
        "miqd:pixelate",
        _DIGITAL,
        pixelate,
        "share of the width and height",
        scale=(0.95, 0.61, 0.355, 0.185, 0.07),
    ),
    miqd("miqd:jpeg", _DIGITAL, jpeg, "libjpeg quality", quality=(100, 63, 36, 18, 0)),
    miqd(
        "miqd:gaussian-noise",
        _NOISE,
        gaussian_noise,
        "standard deviation of RGB in [0, 1]",
        sigma=(0.01, 0.053, 0.187, 0.433, 1.0),
    ),
)
