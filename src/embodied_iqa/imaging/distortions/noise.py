"""Noise: white (12), colour (13), impulse (14), multiplicative (15), Gaussian (16) and CNN denoise (17)."""

from __future__ import annotations

import math
from functools import lru_cache

import cv2
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from embodied_iqa.imaging.distortions.denoiser import shipped_denoiser
from embodied_iqa.imaging.distortions.entry import DistortionClass, calibrated, kadid
from embodied_iqa.imaging.distortions.image import Image, rounded
from embodied_iqa.imaging.distortions.random_fields import gaussian_field

_DENOISE_SIGMA_PX = 2.0
_YCBCR_TO_RGB = np.array(
    [[1.164384, 0.0, 1.596027], [1.164384, -0.391762, -0.812968], [1.164384, 2.017232, 0.0]]
)
"""ITU-R BT.601, studio range, as MATLAB's ``ycbcr2rgb``."""


def white_noise(image: Image, rng: Generator, variance: float) -> Image:
    """Add independent Gaussian noise to every value; ``variance`` for an image of range [0, 1]."""
    noise = gaussian_field(rng, image.shape, 255.0 * math.sqrt(variance))
    return np.asarray(cv2.add(image, noise, dtype=cv2.CV_8U))


def color_noise(image: Image, rng: Generator, variance: float) -> Image:
    """Add Gaussian noise to Y, Cb and Cr (BT.601, studio range), ``variance`` for the range [0, 1].

    The conversion is linear, so the noise is converted and added to RGB: YCbCr is not rounded.
    """
    fine = 16.0
    noise = gaussian_field(rng, image.shape, fine * 255.0 * math.sqrt(variance))
    mixed = cv2.transform(noise.astype(np.float32), (_YCBCR_TO_RGB / fine).astype(np.float32))
    return np.asarray(cv2.add(image, mixed, dtype=cv2.CV_8U))


def impulse_noise(image: Image, rng: Generator, density: float) -> Image:
    """Set each value to 0 or 255, equally likely, with probability ``density`` (MATLAB's salt & pepper).

    Values are hit by a Poisson process of rate ``-ln(1 - density)``: a value is hit at least once with
    probability ``density`` exactly, independently of all others; the cost grows with the hits only.
    """
    hits = int(rng.poisson(-math.log1p(-density) * image.size))
    places = rng.integers(0, image.size, size=hits)
    colours = rng.integers(0, 1, size=hits, dtype=np.uint8, endpoint=True) * np.uint8(255)
    out = image.copy()
    out.reshape(-1)[places] = colours
    return out


def gaussian_denoise(image: Image, rng: Generator, variance: float) -> Image:
    """Add white noise of ``variance``, then smooth with a Gaussian of 2 px."""
    noisy = white_noise(image, rng, variance)
    return np.asarray(cv2.GaussianBlur(noisy, (0, 0), _DENOISE_SIGMA_PX, borderType=cv2.BORDER_REFLECT))


def cnn_denoise(image: Image, rng: Generator, variance: float) -> Image:
    """Add white noise of ``variance``, then denoise with the shipped network."""
    return shipped_denoiser().denoise(white_noise(image, rng, variance), math.sqrt(variance))


@lru_cache(maxsize=16)
def _speckle_table(variance: float) -> NDArray[np.uint8]:
    uniform = (np.arange(256) + 0.5) / 256 - 0.5
    factors = 1.0 + uniform * math.sqrt(12.0 * variance * 256**2 / (256**2 - 1))
    return rounded(np.arange(256)[:, None] * factors[None, :]).reshape(-1)


def multiplicative_noise(image: Image, rng: Generator, variance: float) -> Image:
    """Multiply every value by ``1 + n``, ``n`` uniform with mean 0 and that variance (MATLAB's speckle)."""
    draws = rng.integers(0, 255, size=image.shape, dtype=np.uint8, endpoint=True)
    words = cv2.merge([draws.reshape(len(draws), -1), image.reshape(len(image), -1)]).view("<u2")
    return np.asarray(cv2.LUT(words.reshape(image.shape), _speckle_table(variance)))


_NOISE = DistortionClass.NOISE
ENTRIES = (
    kadid(
        "12", _NOISE, white_noise, "variance of RGB in [0, 1]", variance=(0.001, 0.002, 0.003, 0.005, 0.01)
    ),
    kadid(
        "13",
        _NOISE,
        color_noise,
        "variance of YCbCr in [0, 1]",
        variance=(0.0001, 0.0005, 0.001, 0.002, 0.003),
    ),
    kadid("14", _NOISE, impulse_noise, "share of the values", density=(0.001, 0.005, 0.01, 0.02, 0.03)),
    kadid(
        "15",
        _NOISE,
        multiplicative_noise,
        "variance of the factor",
        "the number 15 is printed in the paper",
        variance=(0.001, 0.005, 0.01, 0.02, 0.05),
    ),
    kadid(
        "16",
        _NOISE,
        gaussian_denoise,
        "variance of the noise, RGB in [0, 1]",
        "the number 16 is printed in the paper; the smoothing of 2 px is ours",
        variance=(0.01, 0.03, 0.05, 0.1, 0.15),
    ),
    calibrated(
        "17",
        _NOISE,
        cnn_denoise,
        "variance",
        "variance of the noise, RGB in [0, 1]",
        "KADID-10k runs DnCNN on each channel; ours is one small network on colour",
    ),
)
