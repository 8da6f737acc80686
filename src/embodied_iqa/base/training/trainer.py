"""The loop of every training: batches, steps, epochs, and a checkpoint after each epoch.

What a training depends on stands in its own module: network, data, loss, learning rate. The weights depend
neither on interruptions nor on what the loop reports.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from embodied_iqa.base.errors import InternalError
from embodied_iqa.base.training.training_state import Checkpoint, EpochResult

_WARM_UP: Final = 0.1
_LEAST_SHARE: Final = 1e-3
_MOST_EPOCHS: Final = 10_000
_BFLOAT16: Final = ("amx_bf16", "avx512_bf16", "bf16")
"""Capabilities of processors that multiply in bfloat16, on x86 and on ARM, as torch names them."""

_Batch = TypeVar("_Batch")

Rate = Callable[[int, int, int], float]
"""Learning rate of a step: epoch from 0, step from 0, number of steps of the epoch."""


@dataclass(frozen=True, slots=True, eq=False)
class Trainer:
    """Takes the steps of an epoch.

    Attributes:
        model: What learns.
        optimiser: Of its weights.
        rate: Learning rate of each step.
        largest_gradient: Norm to which gradients are clipped; None not to.
        bfloat16: Compute in bfloat16 where that is safe and the processor has it; one that emulates it takes
            ten times as long as in float32.
    """

    model: nn.Module
    optimiser: torch.optim.Optimizer
    rate: Rate
    largest_gradient: float | None = 1.0
    bfloat16: bool = False

    def epoch(
        self,
        epoch: int,
        batches: Sequence[_Batch],
        prepare: Callable[[_Batch], Callable[[], Tensor]],
        on_step: Callable[[int, float], None] | None = None,
    ) -> EpochResult:
        """Take a step for each batch.

        Args:
            epoch: Number from 0.
            batches: What ``prepare`` gets, in order.
            prepare: Returns what computes the loss of a batch.
            on_step: Called after each step with its number from 1 and its loss.

        Raises:
            InternalError: A loss is not finite.
        """
        began, total = time.monotonic(), 0.0
        self.model.train()
        for step, batch in enumerate(batches):
            loss_of = prepare(batch)
            rate = self.rate(epoch, step, len(batches))
            for group in self.optimiser.param_groups:
                group["lr"] = rate
            loss = self.step(loss_of)
            total += loss
            if on_step is not None:
                on_step(step + 1, loss)
        return EpochResult(epoch + 1, total / len(batches), time.monotonic() - began)

    def step(self, loss_of: Callable[[], Tensor]) -> float:
        """Take one step down a loss, and return the loss; raises as `epoch`."""
        with torch.autocast("cpu", torch.bfloat16, enabled=self.bfloat16 and _has_bfloat16()):
            loss = loss_of()
        value = float(loss.detach())
        if not math.isfinite(value):
            raise InternalError("the loss is not finite")
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        if self.largest_gradient is not None:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.largest_gradient)
        self.optimiser.step()
        return value


def run_epochs(
    results: list[EpochResult],
    epochs: int,
    one_epoch: Callable[[int], EpochResult],
    checkpoint: Checkpoint,
    on_epoch: Callable[[EpochResult], None],
    *,
    has_converged: Callable[[int], bool] = lambda _: False,
) -> list[EpochResult]:
    """Continue a training up to a number of epochs, with a checkpoint after each; return their results.

    Args:
        results: Of the epochs so far, as `Checkpoint.load` returns them; the new ones are added.
        epochs: Of the whole training.
        one_epoch: Trains the epoch of a number from 0.
        checkpoint: What is stored.
        on_epoch: Called after each epoch, also for those of an earlier call.
        has_converged: Asked before each epoch with its number from 0; True ends the training.
    """
    for result in results:
        on_epoch(result)
    for epoch in range(len(results), epochs):
        if has_converged(epoch):
            break
        results.append(one_epoch(epoch))
        checkpoint.save(results)
        on_epoch(results[-1])
    return results


def adamw(model: nn.Module, rate: float, weight_decay: float) -> torch.optim.AdamW:
    """Return an optimiser that decays matrices and kernels, but neither biases nor normalisations."""
    learned = [(name, weight) for name, weight in model.named_parameters() if weight.requires_grad]
    matrices = [weight for name, weight in learned if _is_matrix(name, weight)]
    vectors = [weight for name, weight in learned if not _is_matrix(name, weight)]
    groups = [
        {"params": matrices, "weight_decay": weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=rate)


def _is_matrix(name: str, weight: Tensor) -> bool:
    return weight.ndim > 1 and not name.startswith("biases")  # those of members side by side are matrices


def rate_share(done: float) -> float:
    """Return the learning rate after a share of a training, of the highest: a linear rise, then a cosine."""
    if done < _WARM_UP:
        share = done / _WARM_UP
    else:
        share = 0.5 * (1 + math.cos(math.pi * (done - _WARM_UP) / (1 - _WARM_UP)))
    return max(share, _LEAST_SHARE)


def full_batches(order: NDArray[np.int64], size: int) -> list[NDArray[np.int64]]:
    """Return batches of ``size`` rows; what does not fill one is left out, unless it is all there is."""
    return [order[start * size : (start + 1) * size] for start in range(max(1, len(order) // size))]


def seeded_batches(rows: int, size: int, seed: int, epoch: int) -> list[NDArray[np.int64]]:
    """Seed torch for an epoch, and return all rows in random order, in batches of ``size`` or little more."""
    torch.manual_seed(seed * _MOST_EPOCHS + epoch)
    return np.array_split(torch.randperm(rows).numpy(), max(1, rows // size))


@cache
def _has_bfloat16() -> bool:
    """Whether the processor multiplies in bfloat16."""
    found = torch.cpu.get_capabilities()
    return any(found.get(name, False) for name in _BFLOAT16)
