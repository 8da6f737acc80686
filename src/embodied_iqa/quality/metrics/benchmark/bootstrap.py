"""Paired bootstrap over references: is one metric better than another?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from embodied_iqa.data.analysis.intervals import weighted_srcc
from embodied_iqa.data.analysis.resampling import References, interval_of
from embodied_iqa.quality.metrics.benchmark.benchmark_statistics import FEWEST_PAIRS, pearson

Array = NDArray[np.float64]
_CHUNK: Final = 20
"""Draws at a time, which bounds the memory."""


@dataclass(frozen=True, slots=True)
class Rank:
    """SRCC of a metric over all pairs that every metric of the comparison has a value for.

    Attributes:
        metric: Name.
        srcc: NaN if undefined.
        low: Lower end of the 95 % interval from drawing references; NaN if undefined.
        high: Upper end.
    """

    metric: str
    srcc: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Difference:
    """SRCC of the first metric minus that of the second, on the same draws of references.

    Attributes:
        first: The metric with the higher SRCC.
        second: The other one.
        value: Difference over all pairs.
        low: Lower end of the 95 % interval.
        high: Upper end; the metrics differ if the interval excludes 0.
    """

    first: str
    second: str
    value: float
    low: float
    high: float

    @property
    def certain(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True, slots=True)
class Comparison:
    """Metrics against each other.

    Attributes:
        ranks: Best metric first; undefined ones last.
        differences: Of all pairs of metrics with a defined SRCC.
        pairs: Number of pairs behind them.
        references: Number of references behind them.
    """

    ranks: tuple[Rank, ...]
    differences: tuple[Difference, ...]
    pairs: int
    references: int


def compare(metrics: Sequence[str], values: Array, scores: Array, references: References) -> Comparison:
    """Compare metrics on the rows where all of them and the score are finite.

    Args:
        metrics: M names.
        values: ``(N, M)``, higher is better; a column without any finite value is undefined.
        scores: ``(N,)``.
        references: Drawn references.
    """
    defined = np.isfinite(values).any(axis=0)
    rows = np.isfinite(values[:, defined]).all(axis=1) & np.isfinite(scores)
    used, truth, index = values[rows], scores[rows], references.index[rows]
    count = len(np.unique(index))
    srcc, draws = np.full(len(metrics), np.nan), np.full((len(references.weights), len(metrics)), np.nan)
    if len(truth) >= FEWEST_PAIRS:
        srcc[defined] = pearson(rankdata(used[:, defined], axis=0), rankdata(truth))
    for column in np.flatnonzero(np.isfinite(srcc)) if count > 1 else ():
        draws[:, column] = _draws(np.stack([used[:, column], truth], axis=1), index, references.weights)
    order = sorted(range(len(metrics)), key=lambda at: (np.isnan(srcc[at]), -srcc[at], metrics[at]))
    ranks = tuple(Rank(metrics[at], float(srcc[at]), *interval_of(draws[:, at])) for at in order)
    differences = tuple(
        Difference(metrics[a], metrics[b], float(srcc[a] - srcc[b]), *interval_of(draws[:, a] - draws[:, b]))
        for a, b in combinations(order, 2)
        if np.isfinite(srcc[a] - srcc[b])
    )
    return Comparison(ranks, differences, len(truth), count)


def _draws(columns: Array, index: NDArray[np.int64], weights: Array) -> Array:
    parts = [
        weighted_srcc(columns, weights[at : at + _CHUNK][:, index]) for at in range(0, len(weights), _CHUNK)
    ]
    return np.concatenate(parts)
