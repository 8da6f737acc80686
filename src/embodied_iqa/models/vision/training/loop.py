"""Training of one member of the vision panel and its losses; resumable after each epoch."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from embodied_iqa.base.training.trainer import Trainer, adamw, full_batches, rate_share, run_epochs
from embodied_iqa.base.training.training_state import Checkpoint, EpochResult
from embodied_iqa.models.vision.predictions import VisionTask
from embodied_iqa.models.vision.samples.sample_store import SampleStore
from embodied_iqa.models.vision.training.batches import DetectionBatch, crop_batch, detection_batch
from embodied_iqa.models.vision.training.classifiers import Classifier
from embodied_iqa.models.vision.training.detectors import MASK_STRIDE, Detector, Grid
from embodied_iqa.models.vision.training.vision_members import VisionRecipe

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


_WEIGHT_DECAY: Final = 0.02

Network = Classifier | Detector


def make_network(recipe: VisionRecipe) -> Network:
    """Return a new network."""
    return Classifier(recipe) if recipe.task is VisionTask.CLASSIFICATION else Detector(recipe)


def train_member(
    recipe: VisionRecipe,
    store: SampleStore,
    folder: Path,
    *,
    on_epoch: Callable[[EpochResult], None],
    last_epoch: int | None = None,
) -> tuple[Network, list[EpochResult]]:
    """Train a member, or continue its training; the weights do not depend on interruptions.

    Args:
        recipe: Network and amount of training.
        store: Training samples.
        folder: Of the checkpoint.
        on_epoch: Gets the result of each epoch, also of those of an earlier call.
        last_epoch: Of this call; None for all.

    Returns:
        The network in evaluation mode, and the results of all epochs.

    Raises:
        UserError: The checkpoint is broken or belongs to another training.
    """
    cv2.setNumThreads(1)
    torch.manual_seed(recipe.seed)
    network = make_network(recipe)
    network.to(memory_format=torch.channels_last)
    optimiser = adamw(network, recipe.rate, _WEIGHT_DECAY)
    record = dataclasses.asdict(recipe) | {"stored": len(store)}
    trainer = Trainer(network, optimiser, partial(_rate, recipe), bfloat16=True)
    checkpoint = Checkpoint(folder, network, optimiser, record)
    epochs = min(recipe.epochs, last_epoch or recipe.epochs)
    one_epoch = partial(_epoch, trainer, network, recipe, store)
    results = run_epochs(checkpoint.load(), epochs, one_epoch, checkpoint, on_epoch)
    return network.eval(), results


def _epoch(
    trainer: Trainer, network: Network, recipe: VisionRecipe, store: SampleStore, epoch: int
) -> EpochResult:
    """Train on all images or crops once."""
    rng = np.random.default_rng([recipe.seed, epoch])
    batches = full_batches(rng.permutation(_lessons(recipe, store)), recipe.batch)
    return trainer.epoch(epoch, batches, lambda rows: _loss_of(network, recipe, store, rows, rng))


def _rate(recipe: VisionRecipe, epoch: int, step: int, steps: int) -> float:
    return recipe.rate * rate_share((epoch + step / steps) / recipe.epochs)


def _lessons(recipe: VisionRecipe, store: SampleStore) -> NDArray[np.int64]:
    """Return the numbers of images, or for a classifier those of sufficiently visible instances."""
    if recipe.task is VisionTask.CLASSIFICATION:
        return np.flatnonzero(~store.crowd)
    return np.arange(len(store))


def _loss_of(
    network: Network,
    recipe: VisionRecipe,
    store: SampleStore,
    rows: NDArray[np.int64],
    rng: np.random.Generator,
) -> Callable[[], Tensor]:
    if isinstance(network, Classifier):
        return partial(network.loss, *crop_batch(store, rows, recipe, rng))
    return partial(detection_loss, network, detection_batch(store, rows, recipe, rng))
