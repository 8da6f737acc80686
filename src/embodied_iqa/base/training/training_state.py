"""State of a training after an epoch: a checkpoint (safetensors and JSON), and the loss curve as SVG."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from embodied_iqa.base.errors import InputError, first_line
from embodied_iqa.base.files import write_text_whole, write_whole
from embodied_iqa.base.jobs.plan import require_same_plan

_TENSORS, _NUMBERS = "state.safetensors", "state.json"
_WIDTH, _HEIGHT, _MARGIN = 420, 240, 40
_DECADES: Final = 0.05
"""Space above and below the curve, in decades."""


@dataclass(frozen=True, slots=True)
class EpochResult:
    """Result of an epoch.

    Attributes:
        epoch: Number from 1.
        loss: Mean over its steps.
        seconds: Duration.
    """

    epoch: int
    loss: float
    seconds: float


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """What a training resumes from.

    Attributes:
        folder: Of the files.
        network: Whose weights are stored.
        optimiser: Whose moments are stored.
        recipe: What the weights depend on; another training must not resume from these files.
    """

    folder: Path
    network: nn.Module
    optimiser: torch.optim.Optimizer
    recipe: Mapping[str, object]

    def save(self, results: list[EpochResult]) -> None:
        """Store weights and optimiser state after an epoch; replaces the previous checkpoint atomically.

        Raises:
            InputError: A file cannot be written, such as on a full disk; the previous checkpoint stays.
        """
        tensors: dict[str, Tensor] = {
            f"weights.{name}": value.contiguous().clone() for name, value in self.network.state_dict().items()
        }
        for index, state in self.optimiser.state_dict()["state"].items():
            for name, value in state.items():
                tensors[f"moments.{index}.{name}"] = torch.as_tensor(value).contiguous().clone()
        partial = self.folder.with_name(f".{self.folder.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        numbers = {"recipe": dict(self.recipe), "results": [asdict(result) for result in results]}
        try:
            write_tensors(partial / _TENSORS, tensors)
            write_text_whole(partial / _NUMBERS, json.dumps(numbers, indent=1))
        except InputError:
            shutil.rmtree(partial, ignore_errors=True)
            raise
        _replace(partial, self.folder)

    def load(self) -> list[EpochResult]:
        """Restore what `save` stored; return the results so far, empty without a checkpoint.

        Raises:
            UsageError: The checkpoint was made with another recipe.
            InputError: It is broken.
        """
        folder = self.folder
        old = folder.with_name(f".{folder.name}.old")
        if not folder.exists() and old.exists():
            old.rename(folder)  # the process was stopped between the two renames
        if not folder.exists():
            return []
        try:
            numbers: dict[str, Any] = json.loads((folder / _NUMBERS).read_text(encoding="utf-8"))
            tensors = load_file(folder / _TENSORS)
            results, stored = (
                [EpochResult(**result) for result in numbers["results"]],
                dict(numbers["recipe"]),
            )
        except (OSError, ValueError, TypeError, KeyError, SafetensorError) as error:
            raise InputError(f"broken checkpoint {folder}: {error}; delete it to start again") from error
        require_same_plan(folder, stored, dict(self.recipe))
        self.network.load_state_dict(_below(tensors, "weights."))
        _restore_moments(self.optimiser, _below(tensors, "moments."))
        return results


def write_tensors(path: Path, tensors: dict[str, Tensor]) -> None:
    """Write tensors as a file of safetensors, whole or not at all.

    Raises:
        InputError: The file cannot be written; the message names it and the reason.
    """
    try:
        write_whole(path, lambda fresh: save_file(tensors, fresh))
    except SafetensorError as error:  # its way to report a full disk
        reason = first_line(error).rpartition("I/O error: ")[2]
        raise InputError(f"cannot write {path}: {reason}") from error


def _replace(partial: Path, folder: Path) -> None:
    """Replace a folder by a finished one; at any moment one of the two exists, complete."""
    old = folder.with_name(f".{folder.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    partial.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def stored_results(folder: Path) -> list[EpochResult]:
    """Return the results in a checkpoint; empty without one, also while it is being replaced."""
    try:
        numbers = json.loads((folder / _NUMBERS).read_text(encoding="utf-8"))
        return [EpochResult(**result) for result in numbers["results"]]
    except (OSError, ValueError, TypeError, KeyError):
        return []  # the training itself reports what is wrong


def _below(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _restore_moments(optimiser: torch.optim.Optimizer, moments: Mapping[str, Tensor]) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in moments.items():
        index, _, key = name.partition(".")
        state.setdefault(int(index), {})[key] = value
    optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})


def save_curve(results: Sequence[EpochResult], title: str, path: Path) -> None:
    """Draw the loss over the epochs as SVG, on a logarithmic scale; nothing without epochs."""
    if not results:
        return
    logs = [math.log10(max(result.loss, 1e-6)) for result in results]
    low, high = min(logs) - _DECADES, max(logs) + _DECADES
    points = " ".join(
        f"{_x(index, len(logs)):.1f},{_y(value, low, high):.1f}" for index, value in enumerate(logs)
    )
    labels = "".join(
        f'<text x="4" y="{_y(value, low, high):.1f}">{10**value:.3g}</text>'
        for value in (min(logs), max(logs))
    )
    text = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" '
        f'font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="white"/>'
        f'<text x="{_WIDTH / 2}" y="16" text-anchor="middle" font-weight="bold">{title}: loss</text>{labels}'
        f'<text x="{_WIDTH / 2}" y="{_HEIGHT - 8}" text-anchor="middle">epoch 1 to {len(logs)}</text>'
        f'<polyline points="{points}" fill="none" stroke="#1f6fb4" stroke-width="2"/></svg>\n'
    )
    write_text_whole(path, text)


def _x(index: int, count: int) -> float:
    return _MARGIN + (_WIDTH - 2 * _MARGIN) * index / max(1, count - 1)


def _y(value: float, low: float, high: float) -> float:
    return _HEIGHT - _MARGIN - (_HEIGHT - 2 * _MARGIN) * (value - low) / (high - low)
