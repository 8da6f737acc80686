"""Others: sharpness change (29), contrast change (30)."""

from __future__ import annotations

from functools import lru_cache

import cv2
import numpy as np
from numpy.random import Generator

from embodied_iqa.imaging.distortions.entry import DistortionClass, calibrated, kadid
from embodied_iqa.imaging.distortions.image import Image, lab_of, rgb_of_lab, rounded

_RADIUS_PX = 3.0


def sharpness_change(image: Image, _: Generator, amount: float) -> Image:
    """Add ``amount`` times the detail finer than 3 px to Lab lightness (high-boost filter)."""
    lightness, a, b = cv2.split(lab_of(image))
    smooth = cv2.GaussianBlur(lightness, (0, 0), _RADIUS_PX, borderType=cv2.BORDER_REFLECT)
    boosted = cv2.addWeighted(lightness, 1.0 + amount, smooth, -amount, 0.0)
    return rgb_of_lab(cv2.merge([np.clip(boosted, 0, 100, out=boosted), a, b]))


@lru_cache(maxsize=32)
def contrast_curve(amount: float) -> Image:
    """Return the table of a curve through (0.3, 0.25 - a/4), (0.5, 0.5), (0.7, 0.75 + a/4) and the ends.

    The polynomial through these points is odd about the middle, ``y = 1/2 + p u + q u^3``, ``u = x - 1/2``.
    ``a = -0.2`` is the identity; above it contrast grows, below it shrinks.
    """
    slope = (0.218 + 0.25 * amount) / 0.168
    u = np.arange(256) / 255.0 - 0.5
    return rounded(255.0 * (0.5 + slope * u + 4.0 * (1.0 - slope) * u**3))


def contrast_change(image: Image, _: Generator, amount: float) -> Image:
    """Apply a tone curve that is odd about the middle; the slope there is ``1.298 + 1.488 amount``."""
    return np.asarray(cv2.LUT(image, contrast_curve(amount)))


_OTHERS = DistortionClass.OTHERS
ENTRIES = (
    kadid("29", _OTHERS, sharpness_change, "factor of the detail finer than 3 px", amount=(1, 2, 3, 6, 12)),
    calibrated(
        "30",
        _OTHERS,
        contrast_change,
        "amount",
        "outward bend of the tone curve at 0.3 and 0.7, x 4",
        "KADID-10k: 0.3, 0.15, 0, -0.4, -0.6, identity at -0.2; one direction here, so that levels rank",
    ),
)
