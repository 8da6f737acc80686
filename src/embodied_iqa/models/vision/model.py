"""The interface of vision models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.models.vision.predictions import Prediction, VisionTask


@dataclass(frozen=True, slots=True)
class VisionModelInfo:
    """What is known of a vision model.

    Attributes:
        name: Of the model, unique in a panel.
        task: What it does.
        version: Changes with everything that its predictions depend on.
        classes: Names of all classes that it can predict.
        performance: Measured on clean held-out images, in [0, 1]: top-1 accuracy, box AP or mask AP; the
            weight of the model in labels. None if not measured.
        threshold: Least score at which a prediction on the clean image counts as pseudo-truth.
    """

    name: str
    task: VisionTask
    version: str
    classes: tuple[str, ...]
    performance: float | None = None
    threshold: float = 0.3


@runtime_checkable
class VisionModel(Protocol):
    """A classifier, a detector or an instance segmenter."""

    @property
    def info(self) -> VisionModelInfo:
        """What is known of the model."""
        ...

    def predict(self, images: Sequence[NDArray[np.uint8]]) -> list[Prediction]:
        """Return one prediction for each image.

        Args:
            images: ``(H, W, 3)`` uint8 RGB; sizes may differ.

        Returns:
            A `Classification`, or `Instances` by falling score, at most 100; segmenters give masks of the
            size of the image.

        Raises:
            InputError: The prediction is not usable, such as a box that is not finite.
        """
        ...
