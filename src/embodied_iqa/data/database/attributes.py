"""Low-level attributes of an image, and its suitability as a reference."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Attributes:
    """Five low-level attributes of an image.

    Attributes:
        luminance: Mean of BT.601 luma, 0 (black) to 1 (white).
        contrast: Standard deviation of luma (RMS contrast), 0 to 0.5.
        chrominance: Colourfulness of Hasler and Suesstrunk (2003), 0 (grey) to about 110.
        sharpness: Variance of the Laplacian of 8-bit luma (Pech-Pacheco et al. 2000), from 0; less by blur.
        spatial_information: Standard deviation of the Sobel magnitude of 8-bit luma (ITU-T P.910), from 0.
    """

    luminance: float
    contrast: float
    chrominance: float
    sharpness: float
    spatial_information: float


@dataclass(frozen=True, slots=True)
class QualityLimits:
    """Minimum quality of a reference, so that a distortion has something to degrade.

    Attributes:
        smallest_side_px: Of width and height.
        luminance: Darkest and brightest mean.
        smallest_contrast: Below it the image is flat.
        smallest_sharpness: Below it the image is blurred.
    """

    smallest_side_px: int = 96
    luminance: tuple[float, float] = (0.08, 0.95)
    smallest_contrast: float = 0.04
    smallest_sharpness: float = 10.0


def attributes_of(rgb: NDArray[np.uint8]) -> Attributes:
    """Measure an image, ``(H, W, 3)`` uint8 RGB; the same bits for any number of threads."""
    luma = cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY)
    mean, spread = _mean_and_spread(luma)
    _, laplacian = _mean_and_spread(cv2.Laplacian(luma, cv2.CV_16S))
    gradient = np.hypot(
        cv2.Sobel(luma, cv2.CV_16S, 1, 0).astype(np.float64),
        cv2.Sobel(luma, cv2.CV_16S, 0, 1).astype(np.float64),
    )
    return Attributes(mean / 255, spread / 255, _colourfulness(rgb), laplacian**2, float(gradient.std()))


def _mean_and_spread(values: Any) -> tuple[float, float]:
    """Return mean and standard deviation of whole numbers; their sums are exact in any order."""
    numbers = values.astype(np.int64)
    count, total, squares = numbers.size, int(numbers.sum()), int((numbers * numbers).sum())
    return total / count, math.sqrt(max(0, count * squares - total * total)) / count


def _colourfulness(rgb: NDArray[np.uint8]) -> float:
    red, green, blue = (rgb[..., channel].astype(np.int16) for channel in range(3))
    across, twice_along = _mean_and_spread(red - green), _mean_and_spread(red + green - 2 * blue)
    mean = math.hypot(across[0], twice_along[0] / 2)
    return math.hypot(across[1], twice_along[1] / 2) + 0.3 * mean


def rejection_reason(
    rgb: NDArray[np.uint8], attributes: Attributes, limits: QualityLimits | None = None
) -> str | None:
    """Return why an image is unsuitable as a reference, as "kind: numbers"; None where it is suitable."""
    limits = limits or QualityLimits()
    low, high = limits.luminance
    side_px = min(rgb.shape[:2])
    if side_px < limits.smallest_side_px:
        return f"too small: {side_px} px, needs {limits.smallest_side_px} px"
    if attributes.luminance < low:
        return f"too dark: luminance {attributes.luminance:.3f}, needs {low}"
    if attributes.luminance > high:
        return f"too bright: luminance {attributes.luminance:.3f}, at most {high}"
    if attributes.contrast < limits.smallest_contrast:
        return f"too flat: contrast {attributes.contrast:.3f}, needs {limits.smallest_contrast}"
    if attributes.sharpness < limits.smallest_sharpness:
        return f"blurred: sharpness {attributes.sharpness:.1f}, needs {limits.smallest_sharpness}"
    return None
