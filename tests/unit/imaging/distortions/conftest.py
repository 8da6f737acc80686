"""Images that the tests of distortions share."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray
from skimage import data

Image = NDArray[np.uint8]


def crop_4_3(image: Image, width_px: int) -> Image:
    height = min(image.shape[1] * 3 // 4, image.shape[0])
    cut = image[:height, : height * 4 // 3]
    return cv2.resize(cut, (width_px, width_px * 3 // 4), interpolation=cv2.INTER_AREA)


@pytest.fixture(scope="session")
def photographs() -> list[Image]:
    """Four natural images, 320 x 240."""
    return [crop_4_3(load(), 320) for load in (data.astronaut, data.chelsea, data.coffee, data.rocket)]


@pytest.fixture(scope="session")
def photograph(photographs: list[Image]) -> Image:
    image = photographs[2]
    image.flags.writeable = False
    return image


@pytest.fixture(scope="session")
def flat() -> Image:
    """Middle gray, large enough for statistics."""
    image = np.full((400, 500, 3), 128, np.uint8)
    image.flags.writeable = False
    return image
