"""Normalisation statistics of a policy's training data."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.user_files.json_files import load_json
from embodied_iqa.models.subjects.catalogue import StatisticsKind

Array = NDArray[np.float64]

_MOST_BYTES: Final = 16 << 20
_EPSILON_BOUNDS: Final = 1e-6
_WORDS: Final = {StatisticsKind.MOMENTS: ("mean", "std"), StatisticsKind.PERCENTILES: ("q01", "q99")}
_MOST: Final = 1e300
_WRAPPED: Final = "norm_stats"
_ACTION_KEYS: Final = ("actions", "action")
_STATE_KEYS: Final = ("state", "proprio", "observation.state")


@dataclass(frozen=True, slots=True, eq=False)
class Statistics:
    """Statistics of each number of an action or a state.

    openpi adds 1e-6 to the deviation, or to the distance of the percentiles, so that it can divide by that of
    a constant number. Here 1e-6 is the least that they count as when dividing, and nothing is added when that
    is undone: an action differs from openpi's by at most 1e-6 for each normalised unit.

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

    def digest(self) -> str:
        """Return a hash of all numbers, eight hexadecimal digits."""
        numbers = b"".join(part.tobytes() for part in (self.centre, self.half, self.mask))
        return hashlib.sha256(numbers).hexdigest()[:8]

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


def load_statistics(
    path: Path, key: str = "", *, kind: StatisticsKind = StatisticsKind.AUTO, of_state: bool = False
) -> Statistics:
    """Read OpenVLA's and Octo's ``dataset_statistics.json`` or openpi's ``norm_stats.json``.

    Args:
        path: The file.
        key: Data set in the file; may be empty if there is only one.
        kind: Statistics to use; auto if the file has only one kind.
        of_state: Statistics of the robot's state instead of its actions.

    Raises:
        InputError: The file cannot be read, has no statistics of this kind, or wrong ones; see
            `checked_statistics`.
        UsageError: ``key`` is missing or unknown, or the file has both kinds and none is chosen.
    """
    content = load_json(path, "the statistics", most_bytes=_MOST_BYTES)
    where = str(path)
    content = content.get(_WRAPPED, content) if isinstance(content, dict) else content
    names = _STATE_KEYS if of_state else _ACTION_KEYS
    if isinstance(content, dict) and not any(name in content for name in names):
        key = _chosen(content, key, path)
        content, where = content[key], f"{path}: {key}"
    name = next((name for name in names if name in content), "") if isinstance(content, dict) else ""
    part = content[name] if name else None
    if not isinstance(part, dict):
        raise InputError(f"{where} has no statistics", expected=" or ".join(names))
    where = f"{where}.{name}" if key else f"{path}: {name}"
    kind = _kind_in(part, kind, where)
    first, second = (_numbers(part[word], f"{where}.{word}") for word in _WORDS[kind])
    mask = part.get("mask")
    used = None if mask is None else _bools(mask, where)
    return checked_statistics(kind, first, second, where, used, varies=not of_state)


def checked_statistics(
    kind: StatisticsKind,
    first: Array,
    second: Array,
    where: str,
    mask: NDArray[np.bool_] | None = None,
    *,
    varies: bool = True,
) -> Statistics:
    """Return statistics with which motions keep their direction.

    A number that is constant in the training data (deviation 0, or equal percentiles) keeps its value, as in
    openpi, whose files are padded with such numbers.

    Args:
        kind: Mean and deviation, or percentiles.
        first: ``(D,)``, means or 1st percentiles.
        second: ``(D,)``, deviations or 99th percentiles.
        where: What the numbers come from, for the message.
        mask: ``(D,)``, numbers that are normalised; None for all.
        varies: Whether some number must vary: else every motion stops. A state may be constant.

    Raises:
        InputError: A deviation is below 0 or a 1st percentile above its 99th, a number is not finite, the
            lengths differ, or no number varies that must.
    """
    used = _or_all(mask, first)
    lists = dict(zip((*_WORDS[kind], "mask"), (first, second, used), strict=True))
    if len({len(numbers) for numbers in lists.values()}) > 1:
        lengths = {word: len(numbers) for word, numbers in lists.items()}
        raise InputError(f"{where}: the lists differ in length", got=lengths)
    for word, numbers in zip(_WORDS[kind], (first, second), strict=True):
        _refuse(~np.isfinite(numbers), numbers, f"{where}.{word}", "a finite number")
    is_moments = kind is StatisticsKind.MOMENTS
    least = np.zeros_like(first) if is_moments else first
    name = f"{where}.{_WORDS[kind][1]}"
    _refuse(used & (second < least), second, name, "0 or more" if is_moments else "q01 or more")
    if varies and not (used & (second > least)).any():
        expected = "a number above 0" if is_moments else "a number above its q01"
        raise InputError(f"{name}: no number of the training data varies", expected=expected)
    return (Statistics.from_moments if is_moments else Statistics.from_bounds)(first, second, used)


def _refuse(wrong: NDArray[np.bool_], numbers: Array, name: str, expected: str) -> None:
    """Raise an error about the first of the wrong numbers, if there is one."""
    if wrong.any():
        index = int(wrong.argmax())
        raise InputError(f"{name}[{index}]", expected=expected, got=float(numbers[index]))


def _chosen(content: dict[str, Any], key: str, path: Path) -> str:
    keys = [name for name, value in content.items() if isinstance(value, dict)]
    if not key and len(keys) == 1:
        return keys[0]
    if key not in keys:
        raise UsageError(f"which data set of {path}?", got=key or "none", available=keys)
    return key


def _kind_in(part: dict[str, Any], kind: StatisticsKind, where: str) -> StatisticsKind:
    found = [one for one, words in _WORDS.items() if all(part.get(word) is not None for word in words)]
    if kind is StatisticsKind.AUTO and len(found) > 1:
        raise UsageError(
            f"which statistics of {where} does the policy's family normalise with?",
            expected="policy.statistics_kind, or a name of the catalogue in front of the address",
            available=[f"{one} ({' and '.join(_WORDS[one])})" for one in found],
        )
    if kind not in {*found, StatisticsKind.AUTO} or not found:
        words = [" and ".join(names) for one, names in _WORDS.items() if kind in {one, StatisticsKind.AUTO}]
        raise InputError(f"{where} lacks statistics", expected=" or ".join(words), available=part)
    return found[0] if kind is StatisticsKind.AUTO else kind


def _numbers(values: object, where: str) -> Array:
    if not isinstance(values, list) or not values:
        raise InputError(where, expected="a list of numbers", got=type(values).__name__)
    for index, value in enumerate(values):
        if type(value) not in {int, float} or abs(value) > _MOST:
            raise InputError(f"{where}[{index}]", expected="a finite number", got=value)
    return np.array(values, dtype=np.float64)


def _bools(values: object, where: str) -> NDArray[np.bool_]:
    if not isinstance(values, list) or not all(isinstance(value, bool) for value in values):
        raise InputError(f"{where}.mask", expected="a list of true and false", got=values)
    return np.array(values, dtype=np.bool_)


def _or_all(mask: NDArray[np.bool_] | None, like: Array) -> NDArray[np.bool_]:
    return np.ones(like.shape, dtype=np.bool_) if mask is None else mask
