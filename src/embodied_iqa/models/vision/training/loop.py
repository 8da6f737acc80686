"""Training of one member of the vision panel, resumable after each epoch."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from embodied_iqa.models.panel.training.training_loop import adamw, run_epochs, set_rate, train_step
from embodied_iqa.models.panel.training.training_state import Checkpoint, EpochResult
from embodied_iqa.models.vision.predictions import VisionTask
from embodied_iqa.models.vision.samples.sample_store import SampleStore
from embodied_iqa.models.vision.training.batches import crop_batch, detection_batch
from embodied_iqa.models.vision.training.classifiers import Classifier
from embodied_iqa.models.vision.training.detection_losses import detection_loss
from embodied_iqa.models.vision.training.detectors import Detector
from embodied_iqa.models.vision.training.vision_members import VisionRecipe

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
    optimiser = adamw(network, recipe.rate)
    record = dataclasses.asdict(recipe) | {"stored": len(store)}
    one_epoch = partial(_epoch, network, optimiser, recipe, store)
    checkpoint = Checkpoint(folder, network, optimiser, record)
    results = run_epochs(min(recipe.epochs, last_epoch or recipe.epochs), one_epoch, checkpoint, on_epoch)
    return network.eval(), results


def _epoch(
    network: Network,
    optimiser: torch.optim.Optimizer,
    recipe: VisionRecipe,
    store: SampleStore,
    epoch: int,
) -> EpochResult:
    """Train on all images or crops once."""
    begin = time.monotonic()
    rng = np.random.default_rng([recipe.seed, epoch])
    order = rng.permutation(_lessons(recipe, store))
    steps = max(1, len(order) // recipe.batch)
    total = 0.0
    network.train()
    for step in range(steps):
        rows = order[step * recipe.batch : (step + 1) * recipe.batch]
        set_rate(optimiser, recipe.rate, (epoch + step / steps) / recipe.epochs)
        total += train_step(network, optimiser, _loss_of(network, recipe, store, rows, rng))
    return EpochResult(epoch + 1, total / steps, time.monotonic() - begin)


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
