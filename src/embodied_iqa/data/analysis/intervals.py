"""Intervals of rank correlations, from resampling the references."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.data.analysis.means import finite_means
from embodied_iqa.data.analysis.resampling import FEWEST_REFERENCES, References, interval_of

Array = NDArray[np.float64]
_DRAWS: Final = 200
_LEAST: Final = 2
"""Finite numbers that a row needs for a correlation."""


@dataclass(frozen=True, slots=True)
class Interval:
    """95 % interval of a mean rank correlation.

    Attributes:
        low: Lower end; NaN for fewer than `FEWEST_REFERENCES`.
        high: Upper end.
        references: Number of references behind the correlation.
    """

    low: float
    high: float
    references: int


def srcc_interval(columns: Array, references: References) -> Interval:
    """Resample the mean SRCC between columns.

    Args:
        columns: ``(pairs, K)`` with K of 2 or more; rows with fewer than two finite numbers do not count.
        references: Drawn references; at most 200 draws are used.
    """
    known = np.isfinite(columns)
    count = len(np.unique(references.index[known.sum(axis=1) >= _LEAST]))
    if count < FEWEST_REFERENCES:
        return Interval(np.nan, np.nan, count)
    weights = references.weights[:_DRAWS]
    found = []
    for i, j in combinations(range(columns.shape[1]), 2):
        both = known[:, i] & known[:, j]
        found.append(weighted_srcc(columns[both][:, [i, j]], weights[:, references.index[both]]))
    return Interval(*interval_of(finite_means(np.array(found), axis=0)), count)


def weighted_srcc(columns: Array, weights: Array) -> Array:
    """Return the SRCC of two columns for each draw, as if each row were repeated by its weight.

    Args:
        columns: ``(rows, 2)``, finite.
        weights: ``(draws, rows)``.

    Returns:
        ``(draws,)``; NaN where one side is constant.
    """
    groups = [np.unique(columns[:, side], return_inverse=True)[1].reshape(-1) for side in (0, 1)]
    found = np.full(len(weights), np.nan)
    for draw, weight in enumerate(weights):
        first, second = (_centred_ranks(group, weight) for group in groups)
        norm = np.sqrt(((weight * first) @ first) * ((weight * second) @ second))
        if norm > 0:
            found[draw] = (weight * first) @ second / norm
    return found


def _centred_ranks(group: NDArray[np.intp], weight: Array) -> Array:
    """Return mean ranks of rows that are repeated by their weight, minus the mean of all ranks."""
    counts = np.bincount(group, weight)
    ranks: Array = (np.cumsum(counts) - counts / 2 - counts.sum() / 2)[group]
    return ranks
