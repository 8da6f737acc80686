"""Training of one member, resumable after each epoch."""

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
from torch import Tensor, nn

from embodied_iqa.base.training.trainer import Trainer, adamw, full_batches, rate_share, run_epochs
from embodied_iqa.base.training.training_state import Checkpoint, EpochResult
from embodied_iqa.models.panel.panel_members import Recipe
from embodied_iqa.models.panel.training.batches import TrainingData
from embodied_iqa.models.panel.training.captioners import Captioner
from embodied_iqa.models.panel.training.encoders import ENCODERS
from embodied_iqa.models.panel.training.glimpses import Look
from embodied_iqa.models.panel.training.panel_losses import (
    Batch,
    ThingHead,
    caption_loss,
    grounding_loss,
    plan_loss,
    vote_loss,
)
from embodied_iqa.models.panel.training.policies import QueryPolicy, SightShape

_GROUNDING: Final = 0.3
_THINGS: Final = 1.0
_WEIGHT_DECAY: Final = 0.02
_RANKED_RATE: Final = 0.5
"""Highest learning rate with tasks of all ranks, as a share of that with plain tasks."""

Network = QueryPolicy | Captioner


def _make_network(recipe: Recipe, words: int, answers: int) -> tuple[Network, int]:
    """Return a new network for vocabularies of these sizes, and the number of channels of its features."""
    shape = SightShape(recipe.encoder, Look(recipe.look), recipe.context, recipe.images.size_px)
    width = ENCODERS[recipe.encoder]
    if recipe.is_vla:
        return QueryPolicy(words, recipe.reader, shape, len(recipe.views)), width
    return Captioner(words, answers, recipe.reader, shape), width


class TrainingModel(nn.Module):
    """A network with the auxiliary head, which only training uses."""

    def __init__(self, recipe: Recipe, data: TrainingData) -> None:
        super().__init__()
        answers = 0 if data.answer_words is None else len(data.answer_words.words)
        self.network, width = _make_network(recipe, len(data.words.words), answers)
        self.things = ThingHead(width, len(recipe.views))

    def loss(self, batch: Batch) -> Tensor:
        """Return the whole loss of a batch."""
        if isinstance(self.network, Captioner):
            output = self.network(batch.images, batch.tasks, batch.answers, batch.spots)
            main = caption_loss(output, batch)
        else:
            output = self.network(batch.images, batch.tasks, batch.spots)
            main = plan_loss(output, batch) + vote_loss(output.votes, batch)
        grounding = _GROUNDING * grounding_loss(output.attention, batch.wanted)
        return main + grounding + _THINGS * self.things(output.objects, batch)


def train_member(
    recipe: Recipe,
    data: TrainingData,
    folder: Path,
    on_epoch: Callable[[EpochResult], None],
    *,
    stop_after: int | None = None,
) -> tuple[Network, list[EpochResult]]:
    """Train a member, or continue an interrupted training; the weights do not depend on interruptions.

    Args:
        recipe: Network and hyperparameters.
        data: Training samples.
        folder: Folder of the checkpoint.
        on_epoch: Called after each epoch, also for those of an earlier call.
        stop_after: Return after this epoch.

    Returns:
        The network in evaluation mode, and the results of all epochs.
    """
    cv2.setNumThreads(1)
    torch.manual_seed(recipe.seed)
    model = TrainingModel(recipe, data)
    model.to(memory_format=torch.channels_last)
    optimiser = adamw(model, recipe.rate, _WEIGHT_DECAY)
    record = dataclasses.asdict(recipe) | {"lessons": len(data)}
    epochs = min(recipe.all_epochs, stop_after or recipe.all_epochs)
    trainer = Trainer(model, optimiser, partial(_rate, recipe), bfloat16=True)
    checkpoint = Checkpoint(folder, model, optimiser, record)
    one_epoch = partial(_epoch, trainer, model, recipe, data)
    results = run_epochs(checkpoint.load(), epochs, one_epoch, checkpoint, on_epoch)
    return model.network.eval(), results


def _epoch(
    trainer: Trainer, model: TrainingModel, recipe: Recipe, data: TrainingData, epoch: int
) -> EpochResult:
    """Train on all scenes once."""
    rng = np.random.default_rng([recipe.seed, epoch])
    batches = full_batches(rng.permutation(len(data)), recipe.batch)
    several = data.tasks.shape[1] - (data.samples.ranked if epoch < recipe.epochs else 0)

    def prepare(scenes: NDArray[np.int64]) -> Callable[[], Tensor]:
        tasks = rng.permuted(np.tile(np.arange(several), (len(scenes), 1)), axis=1)[:, : recipe.tasks]
        return partial(model.loss, data.batch(scenes, tasks, recipe.augmentation, rng))

    return trainer.epoch(epoch, batches, prepare)


def _rate(recipe: Recipe, epoch: int, step: int, steps: int) -> float:
    """Return the learning rate: it rises and falls first for plain tasks, then for tasks of all ranks."""
    done = epoch + step / steps
    if done < recipe.epochs:
        return recipe.rate * rate_share(done / recipe.epochs)
    return _RANKED_RATE * recipe.rate * rate_share((done - recipe.epochs) / recipe.ranked_epochs)
