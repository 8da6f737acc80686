"""MIQD's digital distortions and its noise: contrast, pixelate, JPEG, Gaussian noise."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.random import Generator

from embodied_iqa.distortions.compression import jpeg
from embodied_iqa.distortions.entry import DistortionClass, Entry, Source, single
from embodied_iqa.distortions.image import Image
from embodied_iqa.distortions.noise import white_noise
from embodied_iqa.distortions.spatial import pixelate

__all__ = ["ENTRIES", "contrast", "gaussian_noise", "pixelate_area"]


def contrast(image: Image, rng: Generator, factor: float) -> Image:
    """Multiply each channel's difference from its mean by ``factor``."""
    del rng
    means = np.array(cv2.mean(image)[:3])
    matrix = np.column_stack([np.eye(3) * factor, means * (1.0 - factor)])
    result: Image = cv2.transform(image, matrix)
    return result


def pixelate_area(image: Image, rng: Generator, scale: float) -> Image:
    """Shrink by ``scale``, averaging areas, and enlarge again by nearest neighbour."""
    del rng
    return pixelate(image, scale, cv2.INTER_AREA)


def gaussian_noise(image: Image, rng: Generator, sigma: float) -> Image:
    """Add independent Gaussian noise to every value; ``sigma`` for a picture of range [0, 1]."""
    return white_noise(image, rng, sigma**2)


ENTRIES = (
    Entry(
        "miqd:contrast",
        "contrast",
        DistortionClass.DIGITAL,
        ("factor",),
        single(0.9, 0.573, 0.327, 0.164, 0.05),
        "share of the contrast that is left",
        Source.MIQD,
        contrast,
    ),
    Entry(
        "miqd:pixelate",
        "pixelate",
        DistortionClass.DIGITAL,
        ("scale",),
        single(0.95, 0.61, 0.355, 0.185, 0.07),
        "share of the width and height",
        Source.MIQD,
        pixelate_area,
    ),
    Entry(
        "miqd:jpeg",
        "jpeg",
        DistortionClass.DIGITAL,
        ("quality",),
        single(100, 63, 36, 18, 0),
        "libjpeg quality",
        Source.MIQD,
        jpeg,
    ),
    Entry(
        "miqd:gaussian-noise",
        "gaussian-noise",
        DistortionClass.NOISE,
        ("sigma",),
        single(0.01, 0.053, 0.187, 0.433, 1.0),
        "standard deviation of RGB in [0, 1]",
        Source.MIQD,
        gaussian_noise,
    ),
)
