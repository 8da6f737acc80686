"""Intervals from resampling: what is drawn with replacement, and the ends of an interval of the draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
INTERVAL: Final = (2.5, 97.5)
"""Ends of every interval, percentiles of the draws."""
FEWEST_REFERENCES: Final = 10
"""What is computed from fewer references has no interval: its percentiles would be too narrow."""


@dataclass(frozen=True, slots=True)
class References:
    """References drawn with replacement, many times.

    Pairs of one reference are not independent, so whole references are drawn.

    Attributes:
        index: ``(pairs,)`` index of each pair's reference.
        weights: ``(draws, references)`` how often each was drawn.
    """

    index: NDArray[np.int64]
    weights: Array

    @classmethod
    def drawn(cls, reference_ids: NDArray[np.str_], *, draws: int = 500, seed: int = 0) -> References:
        """Draw; references are sorted by id, so the order of rows does not matter."""
        names, index = np.unique(reference_ids, return_inverse=True)
        weights = drawn_weights(max(1, len(names)), draws=draws, seed=seed)
        return cls(index.astype(np.int64).reshape(-1), weights)


def drawn_weights(units: int, *, draws: int, seed: int) -> Array:
    """Return ``(draws, units)``, how often each of the units was drawn with replacement."""
    weights = np.random.default_rng(seed).multinomial(units, np.full(units, 1 / units), size=draws)
    return weights.astype(np.float64)


def drawn_rows(units: int, *, draws: int, seed: int) -> NDArray[np.int64]:
    """Return ``(draws, units)``, the indices of the units that were drawn with replacement."""
    return np.random.default_rng(seed).integers(units, size=(draws, units))


def interval_of(draws: Array) -> tuple[float, float]:
    """Return the ends of the 95 % percentile interval of ``(draws,)`` values.

    Values that are not finite (draws that leave a statistic undefined) do not count; NaN without any other.
    """
    known = draws[np.isfinite(draws)]
    if not len(known):
        return float("nan"), float("nan")
    low, high = np.percentile(known, INTERVAL)
    return float(low), float(high)
