"""Images as data URIs of limited size."""

from __future__ import annotations

import base64
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

_PAGE_BYTES: Final = 4_100_000
"""Of all images of a page together, before base64 adds a third."""
_LARGEST_BYTES: Final = 90_000
_SMALLEST_BYTES: Final = 12_000
_WIDEST_PX: Final = 800
_LADDER: Final = ((1.0, 90), (1.0, 75), (0.8, 70), (0.6, 70), (0.6, 50), (0.4, 60), (0.4, 35), (0.25, 30))
"""Scale and WebP quality, tried in turn until an image fits."""


def bytes_for_each(images: int) -> int:
    """Return the maximum size of each of a number of images."""
    return max(_SMALLEST_BYTES, min(_LARGEST_BYTES, _PAGE_BYTES // max(1, images)))


def data_uri(rgb: NDArray[np.uint8], max_bytes: int) -> str:
    """Return an image as a WebP data URI.

    Args:
        rgb: ``(H, W, 3)`` uint8, red first.
        max_bytes: Size before base64; noisy images are scaled down and compressed until they fit. The last
            step of the ladder is used in any case.
    """
    first_scale = min(1.0, _WIDEST_PX / rgb.shape[1])
    encoded = b""
    for scale, quality in _LADDER:
        encoded = _webp(rgb, first_scale * scale, quality)
        if len(encoded) <= max_bytes:
            break
    return "data:image/webp;base64," + base64.b64encode(encoded).decode("ascii")


def _webp(rgb: NDArray[np.uint8], scale: float, quality: int) -> bytes:
    bgr = rgb[:, :, ::-1]
    if scale < 1.0:
        size = (max(1, round(rgb.shape[1] * scale)), max(1, round(rgb.shape[0] * scale)))
        bgr = cv2.resize(np.ascontiguousarray(bgr), size, interpolation=cv2.INTER_AREA)
    _, data = cv2.imencode(".webp", bgr, (cv2.IMWRITE_WEBP_QUALITY, quality))
    return bytes(data)
