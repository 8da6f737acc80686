"""What the back ends with torch share: batches of images, masks, classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError

MOST_TOGETHER: Final = 8
"""Images in a batch."""


def same_sized(images: Sequence[NDArray[np.uint8]]) -> Iterator[Sequence[NDArray[np.uint8]]]:
    """Yield batches of consecutive images of one size: none is padded for the sake of another."""
    for _, group in groupby(images, key=lambda image: image.shape):
        alike = list(group)
        yield from (alike[start : start + MOST_TOGETHER] for start in range(0, len(alike), MOST_TOGETHER))


def class_name(classes: Mapping[int, str], number: int) -> str:
    """Return the name of a class.

    Raises:
        InputError: It has none.
    """
    if number not in classes:
        raise InputError("a predicted class has no name", expected="an entry in its classes", got=number)
    return classes[number]


def boxes_of_masks(masks: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the ``(N, 4)`` boxes around ``(N, H, W)`` masks [px]; zeros for an empty mask."""
    boxes = np.zeros((len(masks), 4))
    for box, mask in zip(boxes, masks, strict=True):
        columns, rows = np.flatnonzero(mask.any(0)), np.flatnonzero(mask.any(1))
        if len(rows):
            box[:] = columns[0], rows[0], columns[-1] + 1, rows[-1] + 1
    return boxes
