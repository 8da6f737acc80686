"""Trains one member, epoch by epoch, resumable after each."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import cv2
import numpy as np
import torch
from torch import Tensor, nn

from embodied_iqa.errors import InternalError
from embodied_iqa.panel.training.batches import Lessons
from embodied_iqa.panel.training.captioners import Captioner
from embodied_iqa.panel.training.losses import (
    Batch,
    ThingHead,
    caption_loss,
    grounding_loss,
    plan_loss,
    vote_loss,
)
from embodied_iqa.panel.training.networks import Network, feature_width, make_network
from embodied_iqa.panel.training.recipes import Recipe
from embodied_iqa.panel.training.training_state import EpochResult, load_checkpoint, save_checkpoint

__all__ = ["Pupil", "train_member"]

_GROUNDING: Final = 0.3
_THINGS: Final = 0.3
_WEIGHT_DECAY: Final = 0.02
_WARM_UP: Final = 0.1
_SECOND: Final = 0.5
"""The highest rate with tasks of all ranks, as a share of that with plain ones."""
_LARGEST_GRADIENT: Final = 1.0


class Pupil(nn.Module):
    """A network with the head that is only there to learn from."""

    def __init__(self, recipe: Recipe, lessons: Lessons) -> None:
        super().__init__()
        answers = 0 if lessons.answer_words is None else len(lessons.answer_words.words)
        self.network: Network = make_network(recipe, len(lessons.words.words), answers)
        self.things = ThingHead(feature_width(recipe), len(recipe.views))

    def loss(self, batch: Batch) -> Tensor:
        """Return the whole loss of a batch."""
        if isinstance(self.network, Captioner):
            answer = self.network(batch.pictures, batch.tasks, batch.answers)
            main, said = caption_loss(answer, batch), answer
        else:
            plan = self.network(batch.pictures, batch.tasks)
            main, said = plan_loss(plan, batch) + vote_loss(plan.votes, batch), plan
        helpers = _GROUNDING * grounding_loss(said.attention, batch.marks)
        return main + helpers + _THINGS * self.things(said.tokens, batch)


def train_member(
    recipe: Recipe,
    lessons: Lessons,
    folder: Path,
    tell: Callable[[EpochResult], None],
    *,
    stop_after: int | None = None,
) -> tuple[Network, list[EpochResult]]:
    """Train a member; go on where an earlier call was stopped.

    The weights after an epoch depend on recipe and samples only, not on where training was interrupted.

    Args:
        recipe: How.
        lessons: What from.
        folder: Where its state is kept.
        tell: Called after every epoch, also those that were done before.
        stop_after: Leave after this epoch, as if stopped there.

    Returns:
        The network, ready for use, and its history.
    """
    cv2.setNumThreads(1)
    torch.manual_seed(recipe.seed)
    pupil = Pupil(recipe, lessons)
    pupil.to(memory_format=torch.channels_last)
    optimiser = _optimiser(pupil, recipe)
    record = dataclasses.asdict(recipe) | {"lessons": len(lessons)}
    results = load_checkpoint(folder, pupil, optimiser, record)
    for result in results:
        tell(result)
    for epoch in range(len(results), min(recipe.all_epochs, stop_after or recipe.all_epochs)):
        result = _epoch(pupil, optimiser, recipe, lessons, epoch)
        results.append(result)
        save_checkpoint(folder, pupil, optimiser, results, record)
        tell(result)
    return pupil.network.eval(), results


def _optimiser(pupil: nn.Module, recipe: Recipe) -> torch.optim.AdamW:
    matrices = [weight for weight in pupil.parameters() if weight.ndim > 1]
    vectors = [weight for weight in pupil.parameters() if weight.ndim <= 1]
    groups = [
        {"params": matrices, "weight_decay": _WEIGHT_DECAY},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=recipe.rate)


def _epoch(
    pupil: Pupil, optimiser: torch.optim.Optimizer, recipe: Recipe, lessons: Lessons, epoch: int
) -> EpochResult:
    """Go once through all scenes."""
    begin = time.monotonic()
    rng = np.random.default_rng([recipe.seed, epoch])
    order = rng.permutation(len(lessons))
    steps = max(1, len(order) // recipe.batch)
    plain = epoch < recipe.epochs
    several = lessons.tasks.shape[1] - (lessons.samples.ranked if plain else 0)
    total = 0.0
    pupil.train()
    for step in range(steps):
        scenes = order[step * recipe.batch : (step + 1) * recipe.batch]
        tasks = rng.permuted(np.tile(np.arange(several), (len(scenes), 1)), axis=1)[:, : recipe.tasks]
        batch = lessons.batch(scenes, tasks, recipe.augmentation, rng)
        _set_rate(optimiser, recipe, epoch + step / steps)
        total += _step(pupil, optimiser, batch)
    return EpochResult(epoch + 1, total / steps, time.monotonic() - begin)


def _step(pupil: Pupil, optimiser: torch.optim.Optimizer, batch: Batch) -> float:
    with torch.autocast("cpu", torch.bfloat16):
        loss = pupil.loss(batch)
    value = float(loss.detach())
    if not math.isfinite(value):
        raise InternalError("the loss is no number any more")
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(pupil.parameters(), _LARGEST_GRADIENT)
    optimiser.step()
    return value


def _set_rate(optimiser: torch.optim.Optimizer, recipe: Recipe, epoch: float) -> None:
    """Rise in a line, then fall along half a cosine, once for plain tasks and, lower, for all."""
    if epoch < recipe.epochs:
        highest, done = recipe.rate, epoch / recipe.epochs
    else:
        highest, done = _SECOND * recipe.rate, (epoch - recipe.epochs) / recipe.ranked_epochs
    if done < _WARM_UP:
        share = done / _WARM_UP
    else:
        share = 0.5 * (1 + math.cos(math.pi * (done - _WARM_UP) / (1 - _WARM_UP)))
    for group in optimiser.param_groups:
        group["lr"] = highest * max(share, 1e-3)
