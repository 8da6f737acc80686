"""Means of cells with intervals from drawing the references again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["CellMeans", "References", "cell_means"]

Array = NDArray[np.float64]
_INTERVAL = (2.5, 97.5)


@dataclass(frozen=True, slots=True)
class References:
    """References drawn with replacement, many times.

    Pairs of one reference are not independent, so whole references are drawn.

    Attributes:
        index: ``(pairs,)`` number of each pair's reference.
        weights: ``(draws, references)`` how often each was drawn.
    """

    index: NDArray[np.int64]
    weights: Array

    @classmethod
    def drawn(cls, reference_ids: NDArray[np.str_], *, draws: int = 500, seed: int = 0) -> References:
        """Draw; the references are ordered by id, so that the order of rows does not matter."""
        names, index = np.unique(reference_ids, return_inverse=True)
        size = max(1, len(names))
        weights = np.random.default_rng(seed).multinomial(size, np.full(size, 1 / size), size=draws)
        return cls(index.astype(np.int64).reshape(-1), weights.astype(np.float64))


@dataclass(frozen=True, slots=True)
class CellMeans:
    """Means of groups of pairs.

    Attributes:
        counts: ``(cells,)`` pairs with a score.
        means: ``(cells,)``; NaN where there is none.
        low: ``(cells,)`` lower end of the 95 % interval; NaN below two references.
        high: ``(cells,)`` upper end.
        draws: ``(draws, cells)`` means of the drawn references; NaN where none of the cell was drawn.
    """

    counts: NDArray[np.int64]
    means: Array
    low: Array
    high: Array
    draws: Array


def cell_means(scores: Array, cells: NDArray[np.int64], n_cells: int, references: References) -> CellMeans:
    """Average the scores of every cell.

    Args:
        scores: ``(pairs,)``; NaN does not count.
        cells: ``(pairs,)`` number of each pair's cell; negative for none.
        n_cells: How many cells.
        references: For the intervals.
    """
    used = np.isfinite(scores) & (cells >= 0)
    n_references = references.weights.shape[1]
    flat = references.index[used] * n_cells + cells[used]
    shape = (n_references, n_cells)
    sums = np.bincount(flat, scores[used], minlength=shape[0] * n_cells).reshape(shape)
    counts = np.bincount(flat, minlength=shape[0] * n_cells).reshape(shape)
    draws = _divide(references.weights @ sums, references.weights @ counts)
    low, high = _interval(draws, (counts > 0).sum(axis=0))
    return CellMeans(counts.sum(axis=0), _divide(sums.sum(axis=0), counts.sum(axis=0)), low, high, draws)


def _interval(draws: Array, n_references: NDArray[np.int64]) -> tuple[Array, Array]:
    low, high = np.full(draws.shape[1], np.nan), np.full(draws.shape[1], np.nan)
    for cell in np.flatnonzero(n_references >= 2):
        low[cell], high[cell] = np.nanpercentile(draws[:, cell], _INTERVAL)
    return low, high


def _divide(sums: Array, counts: Array) -> Array:
    means: Array = np.full(np.shape(sums), np.nan)
    np.divide(sums, counts, out=means, where=np.asarray(counts) > 0)
    return means
