"""CIE Lab (D65, from sRGB) in float32, as OpenCV computes it: L in [0, 100], a and b about [-127, 127]."""

from __future__ import annotations

import cv2

from embodied_iqa.distortions.image import FloatImage, Image, from_unit, to_unit

__all__ = ["lab_of", "rgb_of_lab"]


def lab_of(image: Image) -> FloatImage:
    """Return an RGB picture as Lab."""
    lab: FloatImage = cv2.cvtColor(to_unit(image), cv2.COLOR_RGB2Lab)
    return lab


def rgb_of_lab(lab: FloatImage) -> Image:
    """Return Lab as an RGB picture; colours outside of sRGB saturate channel by channel."""
    return from_unit(cv2.cvtColor(lab, cv2.COLOR_Lab2RGB))
