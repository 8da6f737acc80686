"""Training of one member, resumable after each epoch."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Final

import cv2
import numpy as np
import torch
from torch import Tensor, nn

from embodied_iqa.base.errors import InternalError
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
from embodied_iqa.models.panel.training.training_state import Checkpoint, EpochResult

_GROUNDING: Final = 0.3
_THINGS: Final = 1.0
_WEIGHT_DECAY: Final = 0.02
_WARM_UP: Final = 0.1
_RANKED_RATE: Final = 0.5
"""Highest learning rate with tasks of all ranks, as a share of that with plain tasks."""
_LARGEST_GRADIENT: Final = 1.0
_BFLOAT16: Final = ("amx_bf16", "avx512_bf16", "bf16")
"""Capabilities of processors that multiply in bfloat16, on x86 and on ARM, as torch names them."""


Network = QueryPolicy | Captioner


def _make_network(recipe: Recipe, words: int, answers: int) -> tuple[Network, int]:
    """Return a new network for vocabularies of these sizes, and the number of channels of its features."""
    shape = SightShape(recipe.encoder, Look(recipe.look), recipe.context, recipe.pictures.size_px)
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
    optimiser = adamw(model, recipe.rate)
    record = dataclasses.asdict(recipe) | {"lessons": len(data)}
    epochs = min(recipe.all_epochs, stop_after or recipe.all_epochs)
    one_epoch = partial(_epoch, model, optimiser, recipe, data)
    results = run_epochs(epochs, one_epoch, Checkpoint(folder, model, optimiser, record), on_epoch)
    return model.network.eval(), results


def run_epochs(
    epochs: int,
    one_epoch: Callable[[int], EpochResult],
    checkpoint: Checkpoint,
    on_epoch: Callable[[EpochResult], None],
) -> list[EpochResult]:
    """Continue a training up to a number of epochs, with a checkpoint after each; return their results.

    Args:
        epochs: Of the whole training.
        one_epoch: Trains the epoch of a number from 0.
        checkpoint: What is restored and stored.
        on_epoch: Called after each epoch, also for those of an earlier call.

    Raises:
        UserError: The checkpoint is broken or belongs to another training.
    """
    results = checkpoint.load()
    for result in results:
        on_epoch(result)
    for epoch in range(len(results), epochs):
        results.append(one_epoch(epoch))
        checkpoint.save(results)
        on_epoch(results[-1])
    return results


def adamw(model: nn.Module, rate: float) -> torch.optim.AdamW:
    """Return an optimiser that decays matrices and kernels, but neither biases nor normalisations."""
    matrices = [weight for weight in model.parameters() if weight.ndim > 1]
    vectors = [weight for weight in model.parameters() if weight.ndim <= 1]
    groups = [
        {"params": matrices, "weight_decay": _WEIGHT_DECAY},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=rate)


def _epoch(
    model: TrainingModel, optimiser: torch.optim.Optimizer, recipe: Recipe, data: TrainingData, epoch: int
) -> EpochResult:
    """Train on all scenes once."""
    begin = time.monotonic()
    rng = np.random.default_rng([recipe.seed, epoch])
    order = rng.permutation(len(data))
    steps = max(1, len(order) // recipe.batch)
    plain = epoch < recipe.epochs
    several = data.tasks.shape[1] - (data.samples.ranked if plain else 0)
    total = 0.0
    model.train()
    for step in range(steps):
        scenes = order[step * recipe.batch : (step + 1) * recipe.batch]
        tasks = rng.permuted(np.tile(np.arange(several), (len(scenes), 1)), axis=1)[:, : recipe.tasks]
        batch = data.batch(scenes, tasks, recipe.augmentation, rng)
        _set_recipe_rate(optimiser, recipe, epoch + step / steps)
        total += train_step(model, optimiser, partial(model.loss, batch))
    return EpochResult(epoch + 1, total / steps, time.monotonic() - begin)


def train_step(model: nn.Module, optimiser: torch.optim.Optimizer, loss_of: Callable[[], Tensor]) -> float:
    """Take one step down a loss, and return the loss.

    It computes in bfloat16 where that is safe and the processor has it. One that emulates it takes ten times
    as long as in float32.

    Raises:
        InternalError: The loss is not finite.
    """
    with torch.autocast("cpu", torch.bfloat16, enabled=_has_bfloat16()):
        loss = loss_of()
    value = float(loss.detach())
    if not math.isfinite(value):
        raise InternalError("the loss is not finite")
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), _LARGEST_GRADIENT)
    optimiser.step()
    return value


@cache
def _has_bfloat16() -> bool:
    """Whether the processor multiplies in bfloat16."""
    found = torch.cpu.get_capabilities()
    return any(found.get(name, False) for name in _BFLOAT16)


def _set_recipe_rate(optimiser: torch.optim.Optimizer, recipe: Recipe, epoch: float) -> None:
    """Set linear warm-up and cosine decay, first for plain tasks, then for tasks of all ranks."""
    if epoch < recipe.epochs:
        highest, done = recipe.rate, epoch / recipe.epochs
    else:
        highest, done = _RANKED_RATE * recipe.rate, (epoch - recipe.epochs) / recipe.ranked_epochs
    set_rate(optimiser, highest, done)


def set_rate(optimiser: torch.optim.Optimizer, highest: float, done: float) -> None:
    """Set linear warm-up and cosine decay; ``done`` is the finished share of the training."""
    if done < _WARM_UP:
        share = done / _WARM_UP
    else:
        share = 0.5 * (1 + math.cos(math.pi * (done - _WARM_UP) / (1 - _WARM_UP)))
    for group in optimiser.param_groups:
        group["lr"] = highest * max(share, 1e-3)
