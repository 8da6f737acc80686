"""Predictions of vision models and the truth that they are compared with."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError


class VisionTask(StrEnum):
    """What a vision model does, by the names of MIQD-2.5M."""

    CLASSIFICATION = "cls"
    DETECTION = "det"
    SEGMENTATION = "ins"


@dataclass(frozen=True, slots=True)
class Classification:
    """The class of an image.

    Attributes:
        label: Its name; empty for no class.
        score: Confidence in [0, 1]; 1 for truth.
    """

    label: str
    score: float = 1.0


@dataclass(frozen=True, slots=True)
class Instances:
    """Objects in an image, predicted or true.

    Attributes:
        labels: N class names.
        scores: ``(N,)`` confidences in [0, 1]; 1 for truth.
        boxes_px: ``(N, 4)`` left, top, right, bottom.
        masks: ``(N, H, W)`` bool; None where only boxes are known.
        crowd: ``(N,)`` bool: true regions that hold several objects; predictions inside neither count for nor
            against a model. None for no such region.
    """

    labels: tuple[str, ...]
    scores: NDArray[np.float64]
    boxes_px: NDArray[np.float64]
    masks: NDArray[np.bool_] | None = None
    crowd: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        count = len(self.labels)
        agree = self.scores.shape == (count,) and self.boxes_px.shape == (count, 4)
        agree &= self.masks is None or (self.masks.ndim == 3 and len(self.masks) == count)
        agree &= self.crowd is None or self.crowd.shape == (count,)
        if not agree:
            raise InputError("instances differ in number", expected=f"{count} scores, boxes and masks")
        if not (np.isfinite(self.scores).all() and np.isfinite(self.boxes_px).all()):
            raise InputError("a score or box is not finite", expected="finite numbers")

    def __len__(self) -> int:
        return len(self.labels)


Prediction: TypeAlias = Classification | Instances
