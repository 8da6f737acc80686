"""What a metric computes of the reference alone, kept while images are compared with the same reference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

Value = TypeVar("Value")

_LARGEST_BYTES: Final = 8 << 20
"""Maps of larger images would occupy hundreds of megabytes; they are computed every time."""


class LastImage(Generic[Value]):
    """A function of an image that keeps its value of the last image.

    Every process has one value for each function; threads share it. The key is the content: the image is
    copied, so a change of the array's values in place is a different image.

    Args:
        function: ``function(image) -> value`` for ``(H, W, 3)`` uint8; nobody changes the value.
    """

    def __init__(self, function: Callable[[NDArray[np.uint8]], Value]) -> None:
        self.function = function
        self._kept: tuple[NDArray[np.uint8], Value] | None = None

    def __call__(self, image: NDArray[np.uint8]) -> Value:
        """Return the function's value."""
        kept = self._kept  # read once: another thread may replace it
        if kept is not None and _equal(kept[0], image):
            return kept[1]
        if image.nbytes > _LARGEST_BYTES:
            return self.function(image)
        copy = image.copy()
        value = self.function(copy)
        self._kept = copy, value
        return value

    def forget(self) -> None:
        """Drop the kept image and its value."""
        self._kept = None


def _equal(first: NDArray[np.uint8], second: NDArray[np.uint8]) -> bool:
    return first.shape == second.shape and cv2.norm(first, second, cv2.NORM_INF) == 0
