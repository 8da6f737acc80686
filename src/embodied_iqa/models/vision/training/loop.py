"""Training of one member of the vision panel, resumable after each epoch."""

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

from embodied_iqa.base.training.trainer import Trainer, adamw, full_batches, rate_share, run_epochs
from embodied_iqa.base.training.training_state import Checkpoint, EpochResult
from embodied_iqa.models.vision.predictions import VisionTask
from embodied_iqa.models.vision.samples.sample_store import SampleStore
from embodied_iqa.models.vision.training.batches import crop_batch, detection_batch
from embodied_iqa.models.vision.training.classifiers import Classifier
from embodied_iqa.models.vision.training.detection_losses import detection_loss
from embodied_iqa.models.vision.training.detectors import Detector
from embodied_iqa.models.vision.training.vision_members import VisionRecipe

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
