"""Normalisation statistics of a policy's training data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.errors import InputError, UsageError
from embodied_iqa.subjects.checkpoints import read_json

Array = NDArray[np.float64]

_MOST_BYTES: Final = 16 << 20
_EPSILON_BOUNDS: Final = 1e-6
_BOUNDS, _MOMENTS = ("q01", "q99"), ("mean", "std")
_WRAPPED: Final = "norm_stats"
_ACTION_KEYS: Final = ("actions", "action")
_STATE_KEYS: Final = ("state", "proprio", "observation.state")


@dataclass(frozen=True, slots=True, eq=False)
class Statistics:
    """Statistics of each number of an action or a state.

    Attributes:
        centre: ``(D,)``, middle of the 1st and 99th percentile, or the mean.
        half: ``(D,)``, half of their distance, or the standard deviation.
        mask: ``(D,)`` bool; numbers outside the mask are not normalised.
    """

    centre: Array
    half: Array
    mask: NDArray[np.bool_]

    @classmethod
    def from_bounds(cls, q01: Array, q99: Array, mask: NDArray[np.bool_] | None = None) -> Statistics:
        """Return statistics of percentiles: -1 is the 1st, 1 the 99th (OpenVLA, openpi's quantiles)."""
        return cls((q01 + q99) / 2.0, (q99 - q01) / 2.0, _or_all(mask, q01))

    @classmethod
    def from_moments(cls, mean: Array, std: Array, mask: NDArray[np.bool_] | None = None) -> Statistics:
        """Return statistics of mean and standard deviation (Octo, pi0)."""
        return cls(mean, std, _or_all(mask, mean))

    def first(self, count: int) -> Statistics:
        """Return the statistics of the first numbers; files are padded to the network's size.

        Raises:
            InputError: There are fewer.
        """
        if len(self.centre) < count:
            raise InputError(
                "the statistics do not match these numbers",
                expected=f"{count} numbers a row",
                got=len(self.centre),
            )
        return Statistics(self.centre[:count], self.half[:count], self.mask[:count])

    def undo(self, values: Array) -> Array:
        """Return normalised ``(..., D' >= D)`` in units; numbers beyond D are unchanged.

        Raises:
            InputError: There are fewer numbers than statistics.
        """
        return self._replaced(values, lambda part: part * self.half + self.centre)

    def apply(self, values: Array) -> Array:
        """Normalise ``(..., D)``, the inverse of `undo`; a constant number becomes 0."""
        scale = np.maximum(self.half, _EPSILON_BOUNDS)
        return self._replaced(values, lambda part: (part - self.centre) / scale)

    def _replaced(self, values: Array, change: Callable[[Array], Array]) -> Array:
        size = len(self.centre)
        if values.shape[-1] < size:
            raise InputError(
                "the statistics do not match these numbers",
                expected=f"{size} numbers a row",
                got=values.shape[-1],
            )
        result = values.copy()
        result[..., :size] = np.where(self.mask, change(values[..., :size]), values[..., :size])
        return result


def load_statistics(path: Path, key: str = "", *, of_state: bool = False) -> Statistics:
    """Read OpenVLA's and Octo's ``dataset_statistics.json`` or openpi's ``norm_stats.json``.

    Percentiles are used if the file has them, else mean and standard deviation.

    Args:
        path: The file.
        key: Data set in the file; may be empty if there is only one.
        of_state: Statistics of the robot's state instead of its actions.

    Raises:
        InputError: The file cannot be read or has no statistics.
        UsageError: ``key`` is missing or unknown.
    """
    content = read_json(path, _MOST_BYTES)
    content = content.get(_WRAPPED, content)
    names = _STATE_KEYS if of_state else _ACTION_KEYS
    if not any(name in content for name in names):
        content = _chosen(content, key, path)
    part = next((content[name] for name in names if name in content), None)
    if not isinstance(part, dict):
        raise InputError(f"{path} has no statistics", expected=" or ".join(names), available=content)
    return _statistics(part, path)


def _chosen(content: dict[str, Any], key: str, path: Path) -> dict[str, Any]:
    keys = [name for name, value in content.items() if isinstance(value, dict)]
    if not key and len(keys) == 1:
        key = keys[0]
    if key not in keys:
        raise UsageError(f"which data set of {path}?", got=key or "none", available=keys)
    chosen: dict[str, Any] = content[key]
    return chosen


def _statistics(part: dict[str, Any], path: Path) -> Statistics:
    for names, make in ((_BOUNDS, Statistics.from_bounds), (_MOMENTS, Statistics.from_moments)):
        if all(part.get(name) is not None for name in names):
            first, second = (_numbers(part[name], path) for name in names)
            mask = np.array(part.get("mask", [True] * len(first)), dtype=np.bool_)
            if len(first) != len(second) or mask.shape != first.shape:
                raise InputError(f"the statistics in {path} are of different lengths")
            return make(first, second, mask)
    raise InputError(f"{path} has no statistics", expected="q01 and q99, or mean and std", available=part)


def _numbers(values: object, path: Path) -> Array:
    try:
        numbers = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.ndim != 1 or not len(numbers) or not np.isfinite(numbers).all():
        raise InputError(f"the statistics in {path} are not a list of numbers")
    return numbers


def _or_all(mask: NDArray[np.bool_] | None, like: Array) -> NDArray[np.bool_]:
    return np.ones(like.shape, dtype=np.bool_) if mask is None else mask
