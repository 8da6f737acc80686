"""Means that leave missing scores (NaN) out, with intervals from resampling the references."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.data.analysis.resampling import FEWEST_REFERENCES, References, interval_of

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class CellMeans:
    """Means of groups of pairs.

    Attributes:
        counts: ``(cells,)`` pairs with a score.
        means: ``(cells,)``; NaN without a score.
        low: ``(cells,)`` lower end of the 95 % interval; NaN for too few references, see `cell_means`.
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


def cell_means(
    scores: Array,
    cells: NDArray[np.int64],
    n_cells: int,
    references: References,
    fewest: int = FEWEST_REFERENCES,
) -> CellMeans:
    """Average the scores of each cell.

    Args:
        scores: ``(pairs,)``; NaN does not count.
        cells: ``(pairs,)`` index of each pair's cell; negative for none.
        n_cells: Number of cells.
        references: For the intervals.
        fewest: Number of references with a score from which a cell has an interval.
    """
    used = np.isfinite(scores) & (cells >= 0)
    shape = (references.weights.shape[1], n_cells)
    flat = references.index[used] * n_cells + cells[used]
    sums = np.bincount(flat, scores[used], minlength=shape[0] * n_cells).reshape(shape)
    counts = np.bincount(flat, minlength=shape[0] * n_cells).reshape(shape)
    draws = _divide(references.weights @ sums, references.weights @ counts)
    low, high = np.full((2, n_cells), np.nan)
    for cell in np.flatnonzero((counts > 0).sum(axis=0) >= fewest):
        low[cell], high[cell] = interval_of(draws[:, cell])
    return CellMeans(counts.sum(axis=0), _divide(sums.sum(axis=0), counts.sum(axis=0)), low, high, draws)


def _divide(sums: Array, counts: NDArray[np.int64] | Array) -> Array:
    means: Array = np.full(np.shape(sums), np.nan)
    np.divide(sums, counts, out=means, where=np.asarray(counts) > 0)
    return means
