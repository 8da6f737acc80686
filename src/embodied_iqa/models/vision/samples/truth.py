"""Truth of a rendered image: instances of the renderer's segmentation, and crops of single objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import UsageError
from embodied_iqa.models.vision.predictions import Instances, VisionTask
from embodied_iqa.world.scenes.scene import SceneObject
from embodied_iqa.world.tasks.vocabulary import Colour, Kind

KIND_CLASSES: Final = tuple(str(kind) for kind in Kind)
"""Classes of detection and segmentation."""
COLOURED_CLASSES: Final = tuple(f"{colour} {kind}" for kind in Kind for colour in Colour)
"""Classes of classification."""
MIN_VISIBLE_SHARE: Final = 2.5e-4
"""Least visible area of an object as a share of the image (77 px of 640x480); smaller ones are marked as
crowd: finding them counts neither for nor against a model."""
CROP_PX: Final = 160
"""Side of the image of a single object [px]."""
CROP_SCALE: Final = 2.0
"""Side of the cut square as a multiple of the longer side of the object's box."""
MIN_CUT_PX: Final = 48
"""Least side of the cut square [px]."""


@dataclass(frozen=True, slots=True, eq=False)
class Crop:
    """The image of one object.

    Attributes:
        rgb: ``(S, S, 3)`` uint8 RGB.
        mask: ``(S, S)`` bool, the visible pixels of the object.
        label: Colour and kind, one of `COLOURED_CLASSES`.
        square_px: Left, top and side of the square in the whole image.
    """

    rgb: NDArray[np.uint8]
    mask: NDArray[np.bool_]
    label: str
    square_px: tuple[int, int, int]


def classes_of_cell(task: VisionTask) -> frozenset[str]:
    """Return the classes of a task in the cell."""
    return frozenset(COLOURED_CLASSES if task is VisionTask.CLASSIFICATION else KIND_CLASSES)


def coloured_class(item: SceneObject) -> str:
    """Return the class of an object in classification, such as "red cube"."""
    return f"{item.colour} {item.kind}"


def box_of(mask: NDArray[np.bool_]) -> tuple[int, int, int, int]:
    """Return left, top, right and bottom edge of the true pixels: right and bottom lie outside.

    Raises:
        UsageError: The mask is empty.
    """
    columns, rows = np.flatnonzero(mask.any(0)), np.flatnonzero(mask.any(1))
    if not len(columns):
        raise UsageError("an empty mask has no box", expected="a visible object")
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1


def instances_of(
    labels: NDArray[np.int16], objects: Sequence[SceneObject]
) -> tuple[Instances, tuple[int, ...]]:
    """Return the visible objects of a segmentation, and the index of each among ``objects``.

    Args:
        labels: ``(H, W)``, the index of the object that each pixel shows; negative for none.
        objects: Of the scene.
    """
    visible = tuple(int(index) for index in np.unique(labels) if index >= 0)
    masks = labels == np.array(visible, np.int16)[:, None, None]
    boxes = np.array([box_of(mask) for mask in masks], np.float64).reshape(-1, 4)
    small = masks.sum(axis=(1, 2)) < MIN_VISIBLE_SHARE * labels.size
    names = tuple(str(objects[index].kind) for index in visible)
    return Instances(names, np.ones(len(visible)), boxes, masks, small), visible


def square_around(box: Sequence[float], height_px: int, width_px: int) -> tuple[int, int, int]:
    """Return left, top and side of the square around a box, moved into the image where needed."""
    left, top, right, bottom = box
    longer = max(right - left, bottom - top)
    side = min(max(round(CROP_SCALE * longer), MIN_CUT_PX), height_px, width_px)
    x = round((left + right - side) / 2)
    y = round((top + bottom - side) / 2)
    return min(max(x, 0), width_px - side), min(max(y, 0), height_px - side), side


def crop_of(rgb: NDArray[np.uint8], mask: NDArray[np.bool_], label: str, size_px: int = CROP_PX) -> Crop:
    """Cut the square around an object and resize it.

    Args:
        rgb: ``(H, W, 3)`` uint8 RGB.
        mask: ``(H, W)`` bool, the visible pixels of the object.
        label: Its class.
        size_px: Side of the result [px].

    Raises:
        UsageError: The mask is empty.
    """
    x, y, side = square = square_around(box_of(mask), *mask.shape)
    rows, columns = slice(y, y + side), slice(x, x + side)
    method = cv2.INTER_AREA if side >= size_px else cv2.INTER_LINEAR
    image = cv2.resize(rgb[rows, columns], (size_px, size_px), interpolation=method)
    inside = cv2.resize(mask[rows, columns].astype(np.float32), (size_px, size_px), interpolation=method)
    return Crop(np.asarray(image, np.uint8), np.asarray(inside >= 0.5), label, square)
