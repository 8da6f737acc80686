"""A vision model of your own: `python:own_vision:make`, with this folder in PYTHONPATH."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from embodied_iqa import Instances, Prediction, VisionModelInfo, VisionTask


class BrightRegion:
    """Finds one cube: where the image is brightest."""

    info = VisionModelInfo("bright-region", VisionTask.DETECTION, version="1", classes=("cube",))

    def predict(self, images: Sequence[NDArray[np.uint8]]) -> list[Prediction]:
        """Return one box for each ``(H, W, 3)`` uint8 RGB image."""
        return [self._box(image) for image in images]

    def _box(self, image: NDArray[np.uint8]) -> Instances:
        grey = image.mean(axis=2)
        y, x = np.nonzero(grey >= np.quantile(grey, 0.99))
        box_px = np.array([[x.min(), y.min(), x.max() + 1, y.max() + 1]], np.float64)
        return Instances(("cube",), np.array([0.5]), box_px)


def make() -> BrightRegion:
    """Load the model; called once."""
    return BrightRegion()
