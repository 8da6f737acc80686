"""The interface of all image-quality metrics."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.imaging.images.frame import View

Image = NDArray[np.uint8]
"""``(H, W, 3)`` RGB."""


class Needs(StrEnum):
    """What a metric compares a distorted image with."""

    REFERENCE = "reference"
    """Full reference: the undistorted image of the same instant."""
    NOTHING = "nothing"
    """No reference."""


@dataclass(frozen=True, slots=True)
class MetricInfo:
    """Description of a metric.

    Attributes:
        name: By which `embodied_iqa.metric` and the commands find it; of a metric of your own any word, which
            ``python:module:factory`` replaces.
        needs: Full reference or no reference.
        higher_is_better: Direction.
        lowest: Least possible value.
        highest: Largest possible value.
        source: Paper, and the implementation where it is not ours.
        smallest_px: Shortest side of an image that it takes.
        megabytes: Size of its weights; 0 without.
    """

    name: str
    needs: Needs
    higher_is_better: bool
    lowest: float = -math.inf
    highest: float = math.inf
    source: str = ""
    smallest_px: int = 1
    megabytes: float = 0.0

    @property
    def perfect(self) -> float:
        """The best value; of a full-reference metric that of the reference itself."""
        return self.highest if self.higher_is_better else self.lowest

    @property
    def sign(self) -> int:
        """Factor that makes a higher value better."""
        return 1 if self.higher_is_better else -1


@dataclass(frozen=True, slots=True)
class MetricContext:
    """What is known of an image beside its pixels; a metric may use it, none requires it.

    Attributes:
        view: The camera.
        instruction: The task at hand.
    """

    view: View | None = None
    instruction: str | None = None


@runtime_checkable
class Metric(Protocol):
    """An image-quality metric. Stateless: the same images give the same value."""

    @property
    def info(self) -> MetricInfo:
        """Description of the metric."""
        ...

    def measure(
        self, distorted: Image, reference: Image | None = None, context: MetricContext | None = None
    ) -> float:
        """Return the quality of an image.

        Args:
            distorted: ``(H, W, 3)`` uint8 RGB.
            reference: Of the same shape; None for a metric without reference, which ignores it.
            context: Camera and task, where known.

        Raises:
            InputError: Wrong dtype, shape or size, or a reference is missing.
        """
        ...
