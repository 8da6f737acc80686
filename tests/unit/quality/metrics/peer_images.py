"""Images on which the metrics are compared with other implementations."""

from __future__ import annotations

from functools import cache

import cv2
import numpy as np
from numpy.typing import NDArray
from skimage import data

Image = NDArray[np.uint8]


@cache
def pairs() -> dict[str, tuple[Image, Image]]:
    """Return (reference, distorted) by name: an odd width, and a size that is reduced to half."""
    small, large = data.chelsea()[20:280, 100:351], data.astronaut()[:400]
    grey = cv2.cvtColor(cv2.cvtColor(small, cv2.COLOR_RGB2GRAY), cv2.COLOR_GRAY2RGB)
    return {
        "noise": (small, _noise(small, 12.0)),
        "blur": (large, cv2.GaussianBlur(large, (0, 0), 2.5)),
        "grey": (small, grey),
        "dark": (large, (large * 0.4).astype(np.uint8)),
    }


def _noise(image: Image, deviation: float) -> Image:
    noise = np.random.default_rng(5).normal(0, deviation, image.shape)
    return np.clip(np.rint(image + noise), 0, 255).astype(np.uint8)
