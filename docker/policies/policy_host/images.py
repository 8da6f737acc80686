"""Images in the input size of a policy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image


def stretched(image: NDArray[np.uint8], height_px: int, width_px: int) -> NDArray[np.uint8]:
    """Resize ``(H, W, 3)`` to ``(height, width, 3)``, without keeping the aspect ratio."""
    if image.shape[:2] == (height_px, width_px):
        return image
    return np.array(Image.fromarray(image).resize((width_px, height_px), Image.Resampling.LANCZOS))


def fitted(image: NDArray[np.uint8], height_px: int, width_px: int) -> NDArray[np.uint8]:
    """Resize into a size, keeping the aspect ratio, with black edges."""
    height, width = image.shape[:2]
    if (height, width) == (height_px, width_px):
        return image
    ratio = min(height_px / height, width_px / width)
    inner = (max(1, round(height * ratio)), max(1, round(width * ratio)))
    canvas = np.zeros((height_px, width_px, 3), dtype=np.uint8)
    top, left = (height_px - inner[0]) // 2, (width_px - inner[1]) // 2
    canvas[top : top + inner[0], left : left + inner[1]] = stretched(image, *inner)
    return canvas


def centre_crop(image: NDArray[np.uint8], area: float) -> NDArray[np.uint8]:
    """Crop the centre to this share of the area and enlarge it to the old size."""
    height, width = image.shape[:2]
    edge = (1.0 - area**0.5) / 2.0
    box = (edge * width, edge * height, (1.0 - edge) * width, (1.0 - edge) * height)
    return np.array(Image.fromarray(image).resize((width, height), Image.Resampling.BILINEAR, box=box))
