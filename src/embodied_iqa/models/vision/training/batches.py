"""Training batches of the vision panel: mirrored, augmented images with targets for every cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from embodied_iqa.models.panel.training.augmentation import augment
from embodied_iqa.models.subjects.backends.panel.format import shrink
from embodied_iqa.models.vision.predictions import VisionTask
from embodied_iqa.models.vision.samples.sample_store import SampleStore
from embodied_iqa.models.vision.training.detectors import MASK_STRIDE, STRIDE
from embodied_iqa.models.vision.training.vision_members import VisionRecipe

_SPREAD: Final = 0.16
"""Standard deviation of the target around a centre, as a part of the box's side."""
_LEAST_SPREAD: Final = 0.7
"""The same in cells."""
_NEAR: Final = 0.3
"""Least target at which a cell also learns class and box."""
_NO_CLASS: Final = -1
_MOST_MASKS: Final = 64
"""Masks of a batch: more take most of a step's time and teach little."""


@dataclass(frozen=True, slots=True, eq=False)
class DetectionBatch:
    """Images and targets.

    Attributes:
        images: ``(N, H, W, 3)`` uint8.
        centre: ``(N, h, w)`` in [0, 1]; 1 at the cell of a centre.
        counted: ``(N, h, w)``; 0 in objects of which too little is visible.
        kind: ``(N, h, w)`` int64, -1 far from all centres.
        boxes: ``(N, h, w, 4)`` left, top, right, bottom of the object of a cell [px].
        shape_cells: ``(Q, 3)`` int64: image, row and column of cells that learn a mask.
        shapes: ``(Q, H/2, W/2)`` uint8, the part of each place that the object covers, in 255ths; empty for
            detectors.
    """

    images: Tensor
    centre: Tensor
    counted: Tensor
    kind: Tensor
    boxes: Tensor
    shape_cells: Tensor
    shapes: Tensor


def crop_batch(
    store: SampleStore, rows: NDArray[np.int64], recipe: VisionRecipe, rng: np.random.Generator
) -> tuple[Tensor, Tensor]:
    """Return ``(N, S, S, 3)`` uint8 images of single objects, half of them mirrored, and their classes."""
    images = np.stack([shrink(store.crop(row), recipe.input_px) for row in rows])
    mirrored = rng.random(len(rows)) < 0.5
    images[mirrored] = images[mirrored, :, ::-1]
    images = augment(images, recipe.augmentation, rng)
    return torch.from_numpy(images), torch.from_numpy(store.coloured[rows])


def detection_batch(
    store: SampleStore, images: NDArray[np.int64], recipe: VisionRecipe, rng: np.random.Generator
) -> DetectionBatch:
    """Return a batch of whole images, half of them mirrored."""
    drawn = [_Image(store, index, recipe.input_px, mirror=rng.random() < 0.5) for index in images]
    shown = augment(np.stack([item.rgb for item in drawn]), recipe.augmentation, rng)
    targets = [item.targets() for item in drawn]
    centre, counted, kind, boxes = (torch.from_numpy(np.stack(parts)) for parts in zip(*targets, strict=True))
    cells, shapes = _masks(drawn, rng) if recipe.task is VisionTask.SEGMENTATION else ([], [])
    size = (recipe.input_px[1] // MASK_STRIDE, recipe.input_px[0] // MASK_STRIDE)
    return DetectionBatch(
        torch.from_numpy(shown),
        centre,
        counted,
        kind,
        boxes,
        torch.from_numpy(np.array(cells, np.int64).reshape(-1, 3)),
        torch.from_numpy(np.array(shapes, np.uint8).reshape(-1, *size)),
    )


class _Image:
    """One image with the instances that it shows, reduced to the input of a network."""

    def __init__(self, store: SampleStore, index: int, size_px: tuple[int, int], *, mirror: bool) -> None:
        width, height = self.size_px = size_px
        self._step = -1 if mirror else 1
        self.rgb = shrink(store.image(index), size_px)[:, :: self._step]
        self._map = store.instance_map(index)
        rows = np.flatnonzero(store.image_of == index)
        boxes = store.boxes[rows] * np.array([width, height, width, height], np.float32)
        if mirror:
            boxes[:, [0, 2]] = width - boxes[:, [2, 0]]
        self.boxes, self.kinds, self.crowd = boxes, store.kinds[rows], store.crowd[rows]
        self.columns, self.rows = -(-width // STRIDE), -(-height // STRIDE)

    def targets(self) -> tuple[NDArray[np.float32], ...]:
        """Return centre, counted, kind and boxes of a `DetectionBatch`."""
        near = self._nearness()
        counted = np.ones((self.rows, self.columns), np.float32)
        for box in self.boxes[self.crowd] / STRIDE:
            left, top, right, bottom = np.round(box).astype(int)
            counted[top : bottom + 1, left : right + 1] = 0
        if not len(near):
            kind = np.full(counted.shape, _NO_CLASS)
            return np.zeros_like(counted), counted, kind, np.zeros((*counted.shape, 4), np.float32)
        owner, centre = near.argmax(0), near.max(0)
        kept = np.flatnonzero(~self.crowd)
        kind = np.where(centre >= _NEAR, self.kinds[kept][owner], _NO_CLASS)
        return centre, counted, kind, self.boxes[kept][owner]

    def _nearness(self) -> NDArray[np.float32]:
        """Return ``(instances, h, w)``, a Gaussian around each counted instance, 1 at its cell."""
        kept = self.boxes[~self.crowd]
        x, y = np.arange(self.columns), np.arange(self.rows)
        column, row = self._cells(kept)
        width, height = ((kept[:, 2 + axis] - kept[:, axis]) / STRIDE for axis in (0, 1))
        across = ((x - column[:, None]) / np.maximum(_SPREAD * width, _LEAST_SPREAD)[:, None]) ** 2
        down = ((y - row[:, None]) / np.maximum(_SPREAD * height, _LEAST_SPREAD)[:, None]) ** 2
        near: NDArray[np.float32] = np.exp(-0.5 * (across[:, None] + down[:, :, None])).astype(np.float32)
        return near

    def _cells(self, boxes: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return column and row of the cell that holds the middle of each box."""
        middle = (boxes[:, :2] + boxes[:, 2:]) / (2 * STRIDE)
        column, row = middle.astype(np.int64).T
        return np.minimum(column, self.columns - 1), np.minimum(row, self.rows - 1)

    def mask_cells(self, rng: np.random.Generator) -> Iterator[tuple[int, int, int]]:
        """Yield visible instances, each with row and column of a cell near its centre, which learns it."""
        near = self._nearness()
        for order, instance in enumerate(np.flatnonzero(~self.crowd)):
            cells_near = np.argwhere((near[order] >= _NEAR) & (near.argmax(0) == order))
            if len(cells_near):  # else hidden behind another object
                row, column = cells_near[rng.integers(len(cells_near))]
                yield int(instance), int(row), int(column)

    def coverage(self, instance: int) -> NDArray[np.uint8]:
        """Return ``(H/2, W/2)``, the part of each place that an instance covers, in 255ths.

        Picking one pixel for each place instead would move the mask by half a place.
        """
        width, height = self.size_px
        mask = (self._map == instance).astype(np.uint8) * 255
        return shrink(mask, (width // MASK_STRIDE, height // MASK_STRIDE))[:, :: self._step]


def _masks(
    drawn: Sequence[_Image], rng: np.random.Generator
) -> tuple[list[tuple[int, int, int]], list[NDArray[np.uint8]]]:
    """Return cells and masks of a batch, a random part where there are many."""
    found = [(number, *cell) for number, item in enumerate(drawn) for cell in item.mask_cells(rng)]
    chosen = [found[index] for index in rng.permutation(len(found))[:_MOST_MASKS]]
    cells = [(number, row, column) for number, _, row, column in chosen]
    return cells, [drawn[number].coverage(instance) for number, instance, _, _ in chosen]
