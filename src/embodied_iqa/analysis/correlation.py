"""Rank correlation, agreement between subjects, and the noise ceiling of a correlation."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from math import comb
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from embodied_iqa.analysis.opinion import mean_opinion

__all__ = [
    "Agreement",
    "Ceiling",
    "Correlation",
    "Undefined",
    "agreement",
    "joint_ceiling",
    "noise_ceiling",
    "srcc",
]

Array = NDArray[np.float64]
_LEAST: Final = 3
_MAX_SPLITS: Final = 50


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


@dataclass(frozen=True, slots=True)
class Ceiling:
    """Agreement of the mean opinions of two disjoint halves of the subjects.

    Attributes:
        mean: SRCC, mean over the splits; NaN without any.
        spread: Standard deviation over the splits.
        corrected: Spearman-Brown, ``2 r / (1 + r)``: the SRCC of two full sets of as many subjects.
        splits: Number of splits with a correlation.
        undefined: Number of splits without one.
    """

    mean: float
    spread: float
    corrected: float
    splits: int
    undefined: int


def srcc(first: Array, second: Array) -> Correlation:
    """Correlate two columns over the rows with finite values in both."""
    both = np.isfinite(first) & np.isfinite(second)
    count = int(both.sum())
    if count < _LEAST:
        return Correlation(np.nan, count, Undefined.FEW)
    ranks = [rankdata(column[both]) for column in (first, second)]
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


def noise_ceiling(scores: Array, *, seed: int = 0, most: int = _MAX_SPLITS) -> Ceiling:
    """Split the subjects in halves in all ways, or in a random sample of `most` ways.

    If the number of subjects is odd, one half has one more.

    Args:
        scores: ``(pairs, subjects)``, NaN for missing scores.
        seed: Of the sample.
        most: Maximum number of splits.
    """
    found = [
        srcc(mean_opinion(scores[:, half]).raw, mean_opinion(scores[:, rest]).raw)
        for half, rest in _splits(scores.shape[1], seed, most)
    ]
    values = np.array([one.value for one in found if one.undefined is None])
    if not len(values):
        return Ceiling(np.nan, np.nan, np.nan, 0, len(found))
    mean = float(values.mean())
    corrected = 2 * mean / (1 + mean) if mean > -1 else np.nan
    return Ceiling(mean, float(values.std()), corrected, len(values), len(found) - len(values))


def joint_ceiling(first: float, second: float) -> float:
    """Return the ceiling of a correlation between two mean opinions: the geometric mean of both ceilings.

    Args:
        first: Corrected ceiling of one side.
        second: Of the other side.

    Returns:
        NaN if a ceiling is negative or undefined.
    """
    known = np.isfinite(first) and np.isfinite(second) and first >= 0 and second >= 0
    return float(np.sqrt(first * second)) if known else float("nan")


def _splits(size: int, seed: int, most: int) -> list[tuple[list[int], list[int]]]:
    half = size // 2
    if half == 0:
        return []
    # of an even number, the half with subject 0 represents both
    total = comb(size, half) // (2 if size % 2 == 0 else 1)
    if total <= most:
        chosen = [c for c in combinations(range(size), half) if size % 2 or 0 in c]
    else:
        generator = np.random.default_rng(seed)
        drawn: dict[tuple[int, ...], None] = {}
        while len(drawn) < most:
            one = {int(i) for i in generator.permutation(size)[:half]}
            if size % 2 == 0 and 0 not in one:
                one = set(range(size)) - one
            drawn[tuple(sorted(one))] = None
        chosen = list(drawn)
    return [(list(c), [i for i in range(size) if i not in c]) for c in chosen]
