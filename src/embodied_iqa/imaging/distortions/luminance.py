"""Luminance: maximum brighten (18), maximum darken (19), mean brighten (20), mean darken (21)."""

from __future__ import annotations

from functools import lru_cache

import cv2
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from embodied_iqa.imaging.distortions.entry import DistortionClass, calibrated, kadid
from embodied_iqa.imaging.distortions.image import FloatImage, Image, lab_of, rgb_of_lab, rounded


def tone_curve(middle: float) -> NDArray[np.float64]:
    """Return the coefficients ``(b, c)`` of ``b x + c x^2`` through (0, 0), (0.5, middle) and (1, 1)."""
    return np.array([4.0 * middle - 1.0, 2.0 - 4.0 * middle])


@lru_cache(maxsize=32)
def _curve_table(middle: float) -> Image:
    linear, square = tone_curve(middle)
    x = np.arange(256) / 255.0
    return rounded(255.0 * (linear * x + square * x * x))


def _curve_unit(x: FloatImage, middle: float) -> FloatImage:
    linear, square = (np.float32(value) for value in tone_curve(middle))
    result: FloatImage = np.clip((x * square + linear) * x, 0, 1, dtype=np.float32)
    return result


def max_brighten(image: Image, _: Generator, amount: float) -> Image:
    """Brighten by the tone curve through (0.5, 0.5 + amount / 2), 2/3 in RGB and 1/3 in Lab lightness."""
    lab = lab_of(image)
    lightness = lab[..., 0] * np.float32(0.01)
    lab[..., 0] = _curve_unit(lightness, 0.5 + amount / 2) * np.float32(100.0)
    of_lab = rgb_of_lab(lab)
    of_rgb = cv2.LUT(image, _curve_table(0.5 + amount / 2))
    return np.asarray(cv2.addWeighted(of_rgb, 2 / 3, of_lab, 1 / 3, 0.0))


def max_darken(image: Image, _: Generator, amount: float) -> Image:
    """Darken RGB by the tone curve through (0.5, 0.5 - amount / 2)."""
    return np.asarray(cv2.LUT(image, _curve_table(0.5 - amount / 2)))


def mean_brighten(image: Image, _: Generator, shift: float) -> Image:
    """Add ``shift`` (of the range [0, 1], either sign) to every value."""
    return np.asarray(cv2.LUT(image, rounded(np.arange(256) + 255.0 * shift)))


def mean_darken(image: Image, rng: Generator, shift: float) -> Image:
    """Subtract ``shift`` (of the range [0, 1]) from every value."""
    return mean_brighten(image, rng, -shift)


_LUMINANCE = DistortionClass.LUMINANCE
ENTRIES = (
    kadid(
        "18",
        _LUMINANCE,
        max_brighten,
        "lift of the middle tone x 2, of the range [0, 1]",
        amount=(0.1, 0.2, 0.4, 0.7, 1.1),
    ),
    kadid(
        "19",
        _LUMINANCE,
        max_darken,
        "drop of the middle tone x 2, of the range [0, 1]",
        amount=(0.05, 0.1, 0.2, 0.4, 0.8),
    ),
    calibrated(
        "20",
        _LUMINANCE,
        mean_brighten,
        "shift",
        "shift of the range [0, 1]",
        "KADID-10k has +0.08 and +0.15 only",
    ),
    calibrated(
        "21",
        _LUMINANCE,
        mean_darken,
        "shift",
        "shift of the range [0, 1], downwards",
        "KADID-10k has -0.08 and -0.15 only",
    ),
)
