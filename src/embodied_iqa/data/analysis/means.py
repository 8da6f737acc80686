"""Means that leave missing scores (NaN) out, with intervals from resampling the references."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
INTERVAL: Final = (2.5, 97.5)
"""Ends of every interval, percentiles of the draws."""


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
        size = max(1, len(names))
        weights = np.random.default_rng(seed).multinomial(size, np.full(size, 1 / size), size=draws)
        return cls(index.astype(np.int64).reshape(-1), weights.astype(np.float64))


@dataclass(frozen=True, slots=True)
class CellMeans:
    """Means of groups of pairs.

    Attributes:
        counts: ``(cells,)`` pairs with a score.
        means: ``(cells,)``; NaN without a score.
        low: ``(cells,)`` lower end of the 95 % interval; NaN for fewer than two references.
        high: ``(cells,)`` upper end.
        draws: ``(draws, cells)`` means of the drawn references; NaN if none of the cell was drawn.
    """

    counts: NDArray[np.int64]
    means: Array
    low: Array
    high: Array
    draws: Array


def finite_mean(values: Array) -> float:
    """Return the mean of the finite values of an array; NaN without any."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")


def finite_means(values: Array, axis: int) -> Array:
    """Return the means of the finite values along an axis; NaN without any."""
    known = np.isfinite(values)
    return _divide(np.where(known, values, 0.0).sum(axis=axis), known.sum(axis=axis))


def cell_means(scores: Array, cells: NDArray[np.int64], n_cells: int, references: References) -> CellMeans:
    """Average the scores of each cell.

    Args:
        scores: ``(pairs,)``; NaN does not count.
        cells: ``(pairs,)`` index of each pair's cell; negative for none.
        n_cells: Number of cells.
        references: For the intervals.
    """
    used = np.isfinite(scores) & (cells >= 0)
    shape = (references.weights.shape[1], n_cells)
    flat = references.index[used] * n_cells + cells[used]
    sums = np.bincount(flat, scores[used], minlength=shape[0] * n_cells).reshape(shape)
    counts = np.bincount(flat, minlength=shape[0] * n_cells).reshape(shape)
    draws = _divide(references.weights @ sums, references.weights @ counts)
    low, high = np.full((2, n_cells), np.nan)
    for cell in np.flatnonzero((counts > 0).sum(axis=0) >= 2):
        low[cell], high[cell] = np.nanpercentile(draws[:, cell], INTERVAL)
    return CellMeans(counts.sum(axis=0), _divide(sums.sum(axis=0), counts.sum(axis=0)), low, high, draws)


def _divide(sums: Array, counts: NDArray[np.int64] | Array) -> Array:
    means: Array = np.full(np.shape(sums), np.nan)
    np.divide(sums, counts, out=means, where=np.asarray(counts) > 0)
    return means
