"""Statistics of ranks: correlation, agreement between subjects, area under the curve."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_LEAST: Final = 3


class Undefined(StrEnum):
    """Why there is no correlation."""

    FEW = "fewer than three common scores"
    CONSTANT = "one side is constant"


@dataclass(frozen=True, slots=True)
class Correlation:
    """Spearman's rank correlation; ties get mean ranks.

    Attributes:
        value: In [-1, 1]; NaN if undefined.
        count: Number of rows with a finite number on both sides.
        undefined: Why the value is undefined, or None.
    """

    value: float
    count: int
    undefined: Undefined | None = None


@dataclass(frozen=True, slots=True)
class Agreement:
    """Rank correlation between subjects.

    Attributes:
        subjects: In order of the matrix.
        matrix: ``(K, K)`` SRCC; 1 on the diagonal, NaN if undefined.
        counts: ``(K, K)`` common pairs.
        mean: Over the pairs of different subjects whose SRCC is defined; NaN without any.
        undefined: Number of pairs of subjects whose SRCC is undefined.
    """

    subjects: tuple[str, ...]
    matrix: Array
    counts: NDArray[np.int64]
    mean: float
    undefined: int


def mean_ranks(values: Array) -> Array:
    """Return ``(N,)`` ranks from 1 of values without NaN; equal ones get their mean rank.

    As `scipy.stats.rankdata`, which takes ten times as long for some hundred values.
    """
    order = values.argsort()
    ascending = values[order]
    is_first = np.ones(len(values), np.bool_)
    is_first[1:] = ascending[1:] != ascending[:-1]
    first = np.flatnonzero(is_first)
    behind = np.append(first[1:], len(values))
    ranks = np.empty(len(values))
    ranks[order] = np.repeat((first + behind + 1) / 2, behind - first)
    return ranks


def srcc(first: Array, second: Array) -> Correlation:
    """Correlate two columns over the rows with finite values in both."""
    both = np.isfinite(first) & np.isfinite(second)
    count = int(both.sum())
    if count < _LEAST:
        return Correlation(np.nan, count, Undefined.FEW)
    ranks = [mean_ranks(column[both]) for column in (first, second)]
    if any(np.ptp(rank) == 0 for rank in ranks):
        return Correlation(np.nan, count, Undefined.CONSTANT)
    a, b = (rank - rank.mean() for rank in ranks)
    value = float(a @ b / np.sqrt((a @ a) * (b @ b)))
    return Correlation(min(1.0, max(-1.0, value)), count)


def agreement(subjects: tuple[str, ...], scores: Array) -> Agreement:
    """Correlate every subject with every other one.

    Args:
        subjects: Names of the columns.
        scores: ``(pairs, K)``; NaN is excluded pairwise.
    """
    size = len(subjects)
    matrix, counts = np.eye(size), np.diag(np.isfinite(scores).sum(axis=0)).astype(np.int64)
    found = []
    for i, j in combinations(range(size), 2):
        one = srcc(scores[:, i], scores[:, j])
        matrix[i, j] = matrix[j, i] = one.value
        counts[i, j] = counts[j, i] = one.count
        found.append(one)
    defined = [one.value for one in found if one.undefined is None]
    mean = float(np.mean(defined)) if defined else np.nan
    return Agreement(subjects, matrix, counts, mean, len(found) - len(defined))


def area_under_curve(values: Array, positive: NDArray[np.bool_]) -> float:
    """Return the area under the receiver operating characteristic, higher where positives have high values.

    Args:
        values: ``(N,)``, finite; ties count half.
        positive: ``(N,)``.

    Returns:
        In [0, 1]; NaN where one class is empty.
    """
    return float(areas_of_ranks(mean_ranks(values)[:, None], positive)[0])


def areas_of_ranks(ranks: Array, positive: NDArray[np.bool_]) -> Array:
    """Return ``(M,)``, the area under the curve of each column of ``(N, M)`` mean ranks.

    It is the probability that a positive row has the higher value (Mann and Whitney 1947); NaN where one
    class is empty.
    """
    count = int(positive.sum())
    other = len(positive) - count
    if not count or not other:
        return np.full(ranks.shape[1], np.nan)
    above: Array = ranks[positive].sum(axis=0) - count * (count + 1) / 2
    return above / (count * other)
