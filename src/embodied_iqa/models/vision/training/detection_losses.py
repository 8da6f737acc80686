"""Losses of detectors and segmenters."""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor
from torch.nn import functional

from embodied_iqa.models.vision.training.batches import DetectionBatch
from embodied_iqa.models.vision.training.detectors import MASK_STRIDE, Detector, Grid

_BOXES: Final = 2.0
_MASKS: Final = 2.0
_BORDER_PX: Final = 4.0
"""Part of the image around a box in which its mask is compared."""


def detection_loss(network: Detector, batch: DetectionBatch) -> Tensor:
    """Return the whole loss of a batch."""
    grid = network.grid(batch.images)
    loss = centre_loss(grid.centre, batch.centre, batch.counted)
    near = batch.kind >= 0
    weight = batch.centre[near]
    if not len(weight):
        return loss
    total = weight.sum()
    kinds = functional.cross_entropy(grid.kind[near], batch.kind[near], reduction="none")
    overlap = 1 - generalised_iou(grid.boxes()[near], batch.boxes[near])
    loss = loss + (weight * (kinds + _BOXES * overlap)).sum() / total
    if grid.prototypes is not None:
        loss = loss + _MASKS * _mask_loss(network, grid, batch)
    return loss


def centre_loss(logits: Tensor, target: Tensor, counted: Tensor) -> Tensor:
    """Return the focal loss of centres (Zhou et al. 2019, equation 1), by the number of objects."""
    chance = logits.sigmoid()
    found, missed = functional.logsigmoid(logits), functional.logsigmoid(-logits)
    at_centre = (target == 1).float()
    gain = at_centre * (1 - chance) ** 2 * found
    gain = gain + (1 - at_centre) * (1 - target) ** 4 * chance**2 * missed
    return -(gain * counted).sum() / at_centre.sum().clamp_min(1)


def generalised_iou(first: Tensor, second: Tensor) -> Tensor:
    """Return the generalised IoU of ``(N, 4)`` boxes (Rezatofighi et al. 2019), in (-1, 1]."""
    inner = torch.minimum(first[:, 2:], second[:, 2:]) - torch.maximum(first[:, :2], second[:, :2])
    outer = torch.maximum(first[:, 2:], second[:, 2:]) - torch.minimum(first[:, :2], second[:, :2])
    common = inner.clamp_min(0).prod(-1)
    union = _area(first) + _area(second) - common
    hull = outer.prod(-1).clamp_min(1e-6)
    return common / union.clamp_min(1e-6) - (hull - union) / hull


def _area(boxes: Tensor) -> Tensor:
    return (boxes[:, 2:] - boxes[:, :2]).clamp_min(0).prod(-1)


def _mask_loss(network: Detector, grid: Grid, batch: DetectionBatch) -> Tensor:
    """Return binary cross entropy and Dice loss of the masks inside their boxes."""
    if network.shapes is None or grid.prototypes is None or not len(batch.shapes):
        return grid.centre.new_zeros(())
    image, row, column = batch.shape_cells.T
    true_boxes = batch.boxes[image, row, column]
    drawn = network.shapes.masks(
        grid.shape[image, row, column][:, None], true_boxes[:, None], grid.prototypes[image]
    )[:, 0]
    target = batch.shapes.float() / 255
    inside = _inside(true_boxes, *target.shape[1:])
    entropy = functional.binary_cross_entropy_with_logits(drawn, target, reduction="none")
    entropy = (entropy * inside).sum((1, 2)) / inside.sum((1, 2)).clamp_min(1)
    chance = drawn.sigmoid() * inside
    both = (chance * target).sum((1, 2))
    dice = 1 - (2 * both + 1) / (chance.sum((1, 2)) + target.sum((1, 2)) + 1)
    return (entropy + dice).mean()


def _inside(boxes: Tensor, rows: int, columns: int) -> Tensor:
    """Return ``(N, rows, columns)``, 1 in each box and near it."""
    x = (torch.arange(columns) + 0.5) * MASK_STRIDE
    y = (torch.arange(rows) + 0.5) * MASK_STRIDE
    low, high = boxes[:, :2] - _BORDER_PX, boxes[:, 2:] + _BORDER_PX
    across = (x >= low[:, :1]) & (x <= high[:, :1])
    down = (y >= low[:, 1:]) & (y <= high[:, 1:])
    return (across[:, None] & down[:, :, None]).float()
