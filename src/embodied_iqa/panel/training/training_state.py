"""A training's state between two epochs: tensors as safetensors, numbers as JSON, replaced as one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from embodied_iqa.errors import InputError

__all__ = ["EpochResult", "load_checkpoint", "save_checkpoint"]

_TENSORS, _NUMBERS = "state.safetensors", "state.json"


@dataclass(frozen=True, slots=True)
class EpochResult:
    """What an epoch came to.

    Attributes:
        epoch: Number from 1.
        loss: Mean over its steps.
        seconds: What it took.
    """

    epoch: int
    loss: float
    seconds: float


def save_checkpoint(
    folder: Path,
    network: nn.Module,
    optimiser: torch.optim.Optimizer,
    results: list[EpochResult],
    recipe: Mapping[str, object],
) -> None:
    """Store weights and moments after an epoch; the previous checkpoint stays until this one is whole."""
    tensors: dict[str, Tensor] = {
        f"weights.{name}": value.contiguous().clone() for name, value in network.state_dict().items()
    }
    for index, state in optimiser.state_dict()["state"].items():
        for name, value in state.items():
            tensors[f"moments.{index}.{name}"] = torch.as_tensor(value).contiguous().clone()
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    save_file(tensors, partial / _TENSORS)
    numbers = {"recipe": dict(recipe), "results": [asdict(result) for result in results]}
    (partial / _NUMBERS).write_text(json.dumps(numbers, indent=1), encoding="utf-8")
    _replace(partial, folder)


def _replace(partial: Path, folder: Path) -> None:
    """Put a finished folder in another's place: at every moment one of the two is there, whole."""
    old = folder.with_name(f".{folder.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    partial.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def load_checkpoint(
    folder: Path, network: nn.Module, optimiser: torch.optim.Optimizer, recipe: Mapping[str, object]
) -> list[EpochResult]:
    """Bring back what `save_checkpoint` stored; an empty list where there is nothing.

    Raises:
        InputError: The checkpoint is broken, or of another recipe.
    """
    old = folder.with_name(f".{folder.name}.old")
    if not folder.exists() and old.exists():
        old.rename(folder)  # stopped between the two renames
    if not folder.exists():
        return []
    try:
        numbers: dict[str, Any] = json.loads((folder / _NUMBERS).read_text(encoding="utf-8"))
        tensors = load_file(folder / _TENSORS)
        results = [EpochResult(**result) for result in numbers["results"]]
    except (OSError, ValueError, TypeError, KeyError, SafetensorError) as error:
        raise InputError(f"broken checkpoint {folder}: {error}; delete it to begin again") from error
    if numbers["recipe"] != json.loads(json.dumps(dict(recipe))):
        raise InputError(f"{folder} belongs to another recipe", expected="a folder of its own")
    network.load_state_dict(_below(tensors, "weights."))
    _restore_moments(optimiser, _below(tensors, "moments."))
    return results


def _below(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _restore_moments(optimiser: torch.optim.Optimizer, moments: Mapping[str, Tensor]) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in moments.items():
        index, _, key = name.partition(".")
        state.setdefault(int(index), {})[key] = value
    optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
