"""Paired bootstrap over references: is one metric better than another?

One estimator for all: the SRCC on the held-out pairs of a split, mean over the splits. Values of metrics that
were trained on different splits are never ranked together, since their scales differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.data.analysis.intervals import weighted_srcc
from embodied_iqa.data.analysis.means import finite_mean, finite_means
from embodied_iqa.data.analysis.resampling import FEWEST_REFERENCES, References, interval_of
from embodied_iqa.quality.metrics.benchmark.benchmark_statistics import FEWEST_PAIRS, pearson

Array = NDArray[np.float64]
_CHUNK: Final = 20
"""Draws at a time, which bounds the memory."""


@dataclass(frozen=True, slots=True)
class Rank:
    """SRCC of a metric on the pairs that it has a value for, mean over the splits.

    Attributes:
        metric: Name.
        srcc: NaN if undefined.
        low: Lower end of the 95 % interval from drawing references; NaN for fewer than `FEWEST_REFERENCES`.
        high: Upper end.
        pairs: Number of pairs behind it, each counted once.
        references: Number of references behind it.
    """

    metric: str
    srcc: float
    low: float
    high: float
    pairs: int
    references: int


@dataclass(frozen=True, slots=True)
class Difference:
    """SRCC of the first metric minus that of the second, on the same draws of references.

    Attributes:
        first: The metric with the higher SRCC.
        second: The other one.
        value: Difference of the two SRCC of `Rank`.
        low: Lower end of the 95 % interval, as of `Rank`.
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
    """

    ranks: tuple[Rank, ...]
    differences: tuple[Difference, ...]


def compare(
    metrics: Sequence[str], by_split: Sequence[Array], scores: Array, references: References
) -> Comparison:
    """Compare metrics, each on the rows where it and the score are finite.

    Args:
        metrics: M names.
        by_split: Of each split ``(N, M)``, higher is better; NaN for pairs that the split does not test.
        scores: ``(N,)``.
        references: Drawn references; the same draw for all metrics and splits.
    """
    whole = [scores] * len(by_split)
    found = [
        resampled_srcc([values[:, at] for values in by_split], whole, references)
        for at in range(len(metrics))
    ]
    srcc, draws = np.array([one.srcc for one in found]), np.stack([one.draws for one in found], axis=1)
    order = sorted(range(len(metrics)), key=lambda at: (np.isnan(srcc[at]), -srcc[at], metrics[at]))
    ranks = tuple(
        Rank(metrics[at], found[at].srcc, *found[at].interval, found[at].pairs, found[at].references)
        for at in order
    )
    differences = tuple(
        Difference(metrics[a], metrics[b], float(srcc[a] - srcc[b]), *interval_of(draws[:, a] - draws[:, b]))
        for a, b in combinations(order, 2)
        if np.isfinite(srcc[a] - srcc[b])
    )
    return Comparison(ranks, differences)


@dataclass(frozen=True, slots=True)
class Resampled:
    """SRCC of one metric, mean over the folds, and of drawn references.

    Attributes:
        srcc: NaN if undefined.
        draws: ``(draws,)`` NaN for fewer than `FEWEST_REFERENCES`.
        pairs: Number of pairs behind it, each counted once.
        references: Number of references behind it.
    """

    srcc: float
    draws: Array
    pairs: int
    references: int

    @property
    def interval(self) -> tuple[float, float]:
        """Ends of the 95 % interval; NaN without one."""
        return interval_of(self.draws)


def resampled_srcc(by_fold: Sequence[Array], scores: Sequence[Array], references: References) -> Resampled:
    """Return the SRCC of a metric on the rows of each fold where it and the score are finite.

    Args:
        by_fold: Of each fold ``(N,)``, higher is better; NaN for pairs that the fold does not test.
        scores: Of each fold ``(N,)``.
        references: Drawn references; the same draw for all folds.
    """
    from scipy.stats import rankdata  # noqa: PLC0415 - slow to import, and not for --help

    found, draws, used = list[float](), list[Array](), np.zeros(len(references.index), np.bool_)
    for values, opinion in zip(by_fold, scores, strict=True):
        rows = np.isfinite(values) & np.isfinite(opinion)
        if rows.sum() < FEWEST_PAIRS:
            continue
        columns, index = np.stack([values[rows], opinion[rows]], axis=1), references.index[rows]
        srcc = float(pearson(rankdata(columns[:, :1], axis=0), rankdata(columns[:, 1]))[0])
        if np.isfinite(srcc):
            found.append(srcc)
            draws.append(_draws(columns, index, references.weights))
            used |= rows
    count = len(np.unique(references.index[used]))
    undefined = np.full(len(references.weights), np.nan)
    drawn = finite_means(np.stack(draws), axis=0) if draws and count >= FEWEST_REFERENCES else undefined
    return Resampled(finite_mean(np.array(found)), drawn, int(used.sum()), count)


def _draws(columns: Array, index: NDArray[np.int64], weights: Array) -> Array:
    parts = [
        weighted_srcc(columns, weights[at : at + _CHUNK][:, index]) for at in range(0, len(weights), _CHUNK)
    ]
    return np.concatenate(parts)
