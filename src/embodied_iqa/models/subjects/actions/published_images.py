"""Images of LIBERO as the published evaluations give them to their policies.

The training data show the cameras' images turned by 180 degrees from the raw buffer, which is upside down: to
a viewer they are mirrored. openpi scales them with Pillow's bilinear filter, OpenVLA with TensorFlow's
Lanczos filter behind a JPEG round trip. Both widen the filter where they shrink, which OpenCV does not.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import UsageError

Image = NDArray[np.uint8]
Array = NDArray[np.float64]
Filter = Callable[[Array], Array]

SIDE_PX: Final = 224
_PRECISION_BITS: Final = 22
"""Of Pillow's fixed-point weights for 8-bit images."""
_JPEG_QUALITY: Final = 95
"""TensorFlow's default, of the data sets' builder."""


def openpi_image(rgb: Image) -> Image:
    """Return an upright image of LIBERO as openpi's evaluation prepares it; every bit is that of Pillow.

    Args:
        rgb: ``(N, N, 3)``.

    Returns:
        ``(224, 224, 3)``, mirrored.

    Raises:
        UsageError: The image is not square.
    """
    side_px = _side(rgb)
    one = float(1 << _PRECISION_BITS)
    weights = np.floor(_weights(side_px, _triangle, 1.0) * one + 0.5)
    mirrored = rgb[:, ::-1].astype(np.float64)
    for axes in ("ox,yxc->yoc", "oy,yxc->oxc"):  # Pillow rounds between its two passes
        # sums of whole numbers below 2**53, which are exact: several times faster than with integers
        scaled = np.einsum(axes, weights, mirrored, optimize=True)
        mirrored = np.clip(np.floor(scaled / one + 0.5), 0, 255)
    return np.ascontiguousarray(mirrored, dtype=np.uint8)


def openvla_image(rgb: Image) -> Image:
    """Return an upright image of LIBERO as OpenVLA's evaluation prepares it: JPEG and back, then Lanczos.

    Args:
        rgb: ``(N, N, 3)``.

    Returns:
        ``(224, 224, 3)``, mirrored.

    Raises:
        UsageError: The image is not square.
    """
    weights = _weights(_side(rgb), _lanczos3, 3.0)
    flags = [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY]
    _, encoded = cv2.imencode(".jpg", cv2.cvtColor(rgb[:, ::-1], cv2.COLOR_RGB2BGR), flags)
    decoded = cv2.cvtColor(cv2.imdecode(encoded, cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB).astype(np.float64)
    scaled = np.einsum("oy,px,yxc->opc", weights, weights, decoded, optimize=True)
    return np.ascontiguousarray(np.clip(np.rint(scaled), 0, 255), dtype=np.uint8)


def _side(rgb: Image) -> int:
    height, width = rgb.shape[:2]
    if height != width:
        raise UsageError("an image of LIBERO is square", expected="N x N", got=f"{width}x{height}")
    return int(width)


@cache
def _weights(side_px: int, kernel: Filter, radius: float) -> Array:
    """Return the weights ``(224, side_px)`` of the pixels of a line in those of the scaled line."""
    ratio = side_px / SIDE_PX
    stretch = max(ratio, 1.0)
    centres = (np.arange(SIDE_PX) + 0.5) * ratio
    first = np.maximum((centres - radius * stretch + 0.5).astype(np.int64), 0)
    end = np.minimum((centres + radius * stretch + 0.5).astype(np.int64), side_px)
    pixels = np.arange(side_px)
    inside = (pixels >= first[:, None]) & (pixels < end[:, None])
    weights = np.where(inside, kernel((pixels + 0.5 - centres[:, None]) / stretch), 0.0)
    normalised: Array = weights / weights.sum(axis=1, keepdims=True)
    return normalised


def _triangle(x: Array) -> Array:
    return np.maximum(1.0 - np.abs(x), 0.0)


def _lanczos3(x: Array) -> Array:
    return np.where(np.abs(x) < 3.0, np.sinc(x) * np.sinc(x / 3.0), 0.0)
