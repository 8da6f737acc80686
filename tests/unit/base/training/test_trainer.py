"""The loop of every training takes the steps that one would write down, and resumes to the same weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from torch import Tensor, nn

from embodied_iqa.base.errors import InputError, InternalError
from embodied_iqa.base.training import trainer, training_state
from embodied_iqa.base.training.trainer import (
    Trainer,
    adamw,
    full_batches,
    rate_share,
    run_epochs,
    seeded_batches,
)
from embodied_iqa.base.training.training_state import Checkpoint, EpochResult, write_tensors

ROWS, SIZE, EPOCHS, RATE = 23, 5, 3, 0.01
INPUTS = torch.from_numpy(np.random.default_rng(0).normal(size=(ROWS, 4)).astype(np.float32))

FULL = "Error while serializing: I/O error: No space left on device (os error 28)"


def network() -> nn.Module:
    torch.manual_seed(7)
    return nn.Sequential(nn.Linear(4, 6), nn.Dropout(0.3), nn.Tanh(), nn.Linear(6, 1))


def loss_of(model: nn.Module, rows: NDArray[np.int64]) -> Tensor:
    """Return a loss that draws random numbers of its own."""
    noise = torch.rand(len(rows), 1)
    loss: Tensor = (model(INPUTS[rows]) - INPUTS[rows].sum(1, keepdim=True) - noise).square().mean()
    return loss


def rate(epoch: int, step: int, steps: int) -> float:
    return RATE * rate_share((epoch + step / steps) / EPOCHS)


def trained(folder: Path, epochs: int, on_epoch: Callable[[EpochResult], None] = lambda _: None) -> nn.Module:
    model = network()
    optimiser = adamw(model, RATE, 0.1)
    taught = Trainer(model, optimiser, rate)

    def one_epoch(epoch: int) -> EpochResult:
        batches = seeded_batches(ROWS, SIZE, 2, epoch)
        return taught.epoch(epoch, batches, lambda rows: partial(loss_of, model, rows))

    checkpoint = Checkpoint(folder, model, optimiser, {"seed": 2})
    run_epochs(checkpoint.load(), epochs, one_epoch, checkpoint, on_epoch)
    return model


def written_down() -> tuple[nn.Module, list[float]]:
    """Return what the same training gives without the loop, and the mean loss of each epoch."""
    model, losses = network(), list[float]()
    groups = [
        {"params": [model[0].weight, model[3].weight], "weight_decay": 0.1},
        {"params": [model[0].bias, model[3].bias], "weight_decay": 0.0},
    ]
    optimiser = torch.optim.AdamW(groups, lr=RATE)
    for epoch in range(EPOCHS):
        torch.manual_seed(20_000 + epoch)
        parts = np.array_split(torch.randperm(ROWS).numpy(), ROWS // SIZE)
        total = 0.0
        for step, rows in enumerate(parts):
            done = (epoch + step / len(parts)) / EPOCHS
            falling = 0.5 * (1 + math.cos(math.pi * (done - 0.1) / 0.9))
            for group in optimiser.param_groups:
                group["lr"] = RATE * max(done / 0.1 if done < 0.1 else falling, 1e-3)
            optimiser.zero_grad()
            loss = loss_of(model.train(), rows)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            total += loss.item()
        losses.append(total / len(parts))
    return model, losses


def test_weights_and_losses_are_those_of_the_loop_written_down(tmp_path: Path) -> None:
    results: list[EpochResult] = []
    model = trained(tmp_path / "state", EPOCHS, results.append)
    expected, losses = written_down()
    for name, weight in model.state_dict().items():
        assert weight.equal(expected.state_dict()[name]), name
    assert [result.loss for result in results] == losses
    assert [result.epoch for result in results] == [1, 2, 3]


def test_a_stopped_training_reports_all_epochs_and_ends_with_the_same_weights(tmp_path: Path) -> None:
    whole = trained(tmp_path / "whole", EPOCHS)
    trained(tmp_path / "parts", 1)
    seen: list[int] = []
    parts = trained(tmp_path / "parts", EPOCHS, lambda result: seen.append(result.epoch))
    assert seen == [1, 2, 3]
    for name, weight in whole.state_dict().items():
        assert weight.equal(parts.state_dict()[name]), name


def test_a_converged_training_ends_before_the_next_epoch(tmp_path: Path) -> None:
    model = network()
    checkpoint = Checkpoint(tmp_path / "state", model, adamw(model, RATE, 0.0), {})
    results = run_epochs(
        [],
        9,
        lambda epoch: EpochResult(epoch + 1, 1.0, 0.0),
        checkpoint,
        lambda _: None,
        has_converged=lambda epoch: epoch == 2,
    )
    assert [result.epoch for result in results] == [1, 2] == [one.epoch for one in checkpoint.load()]


def test_a_loss_that_is_not_finite_changes_no_weight() -> None:
    model = network()
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    taught = Trainer(model, adamw(model, RATE, 0.0), rate)
    with pytest.raises(InternalError, match="not finite"):
        taught.step(lambda: model(INPUTS).sum() * math.inf)
    for name, weight in model.state_dict().items():
        assert weight.equal(before[name]), name


@pytest.mark.parametrize(("rows", "sizes"), [(3, [3]), (5, [5]), (9, [5]), (11, [5, 5])])
def test_full_batches_leave_out_what_does_not_fill_one(rows: int, sizes: list[int]) -> None:
    batches = full_batches(np.arange(rows), SIZE)
    assert [len(batch) for batch in batches] == sizes
    assert np.concatenate(batches).tolist() == list(range(sum(sizes)))


@pytest.mark.parametrize(
    ("capabilities", "dtype"),
    [
        ({"avx2": True, "avx512_bf16": False, "amx_bf16": False}, torch.float32),
        ({"avx2": True, "avx512_bf16": True}, torch.bfloat16),
        ({"bf16": True}, torch.bfloat16),
    ],
)
def test_bfloat16_only_where_the_processor_has_it(
    capabilities: dict[str, bool], dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Emulated, a step takes ten times as long as in float32."""
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities)
    trainer._has_bfloat16.cache_clear()
    layer = torch.nn.Linear(2, 1)
    seen: list[torch.dtype] = []

    def loss_of() -> torch.Tensor:
        output = layer(torch.ones(1, 2))
        seen.append(output.dtype)
        return output.float().sum()

    try:
        Trainer(layer, adamw(layer, 1e-3, 0.0), lambda *_: 1e-3, bfloat16=True).step(loss_of)
    finally:
        trainer._has_bfloat16.cache_clear()
    assert seen == [dtype]


def test_a_full_disk_is_one_line_with_the_file_and_leaves_the_last_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained(tmp_path / "state", 1)

    def full(_tensors: object, _path: Path) -> None:
        raise SafetensorError(FULL)

    monkeypatch.setattr(training_state, "save_file", full)
    with pytest.raises(InputError, match=r"^cannot write .*state\.safetensors: No space left on device"):
        trained(tmp_path / "state", 2)
    assert [file.name for file in tmp_path.iterdir()] == ["state"]
    assert len(training_state.stored_results(tmp_path / "state")) == 1
    with pytest.raises(InputError, match=r"^cannot write .*w\.safetensors: No space left on device"):
        write_tensors(tmp_path / "w.safetensors", {})
