"""Scores by properties of images and distortions: distributions, and means with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.data.analysis.grid import PairTable
from embodied_iqa.data.analysis.jnd import Third
from embodied_iqa.data.analysis.means import cell_means
from embodied_iqa.data.analysis.resampling import FEWEST_REFERENCES, References, interval_of
from embodied_iqa.imaging.distortions import entry
from embodied_iqa.imaging.distortions.spec import LEVELS

Array = NDArray[np.float64]
QUANTILES: Final = (5, 25, 50, 75, 95)
"""In percent."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Distribution of the scores of one distortion at one level.

    Attributes:
        distortion_id: Two digits.
        level: 1 to 5.
        count: Pairs with a score.
        mean: In [0, 5]; NaN without a score.
        deviation: Standard deviation.
        quantiles: At `QUANTILES`; NaN without a score.
    """

    distortion_id: str
    level: int
    count: int
    mean: float
    deviation: float
    quantiles: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class BreakdownRow:
    """The pairs that share a value.

    Attributes:
        value: The value; empty if unknown.
        count: Pairs with a score.
        mean: In [0, 5]; NaN without a score.
        low: Lower end of the 95 % interval from resampling references; NaN for fewer than
            `FEWEST_REFERENCES` with a score.
        high: Upper end.
        shares: Share of the pairs in each third of all scores, in [0, 1]; NaN without a score.
    """

    value: str
    count: int
    mean: float
    low: float
    high: float
    shares: Mapping[Third, float]


@dataclass(frozen=True, slots=True)
class Worst:
    """The distortion with the lowest mean score.

    Attributes:
        distortion_id: Two digits.
        mean: In [0, 5].
        ties: Others whose mean may be as low, the lowest first: the 95 % interval of the difference, from the
            same draws of references, reaches 0. None where too few references give no interval.
        references: Number of references behind it.
    """

    distortion_id: str
    mean: float
    ties: tuple[str, ...] | None
    references: int


def worst_distortion(scores: Array, distortion_ids: NDArray[np.str_], references: References) -> Worst | None:
    """Return the worst distortion of pairs with a score; None without two distortions to compare."""
    names, index = np.unique(distortion_ids, return_inverse=True)
    found = cell_means(scores, index.reshape(-1).astype(np.int64), len(names), references)
    order = [at for at in np.argsort(found.means, kind="stable") if np.isfinite(found.means[at])]
    if len(order) < 2:
        return None
    worst, count = order[0], len(np.unique(references.index[np.isfinite(scores)]))
    ends = {at: interval_of(found.draws[:, at] - found.draws[:, worst]) for at in order[1:]}
    ties = tuple(str(names[at]) for at, (low, _) in ends.items() if not low > 0)
    mean = float(found.means[worst])
    return Worst(str(names[worst]), mean, ties if count >= FEWEST_REFERENCES else None, count)


def levels_are_mixed(pairs: PairTable) -> bool:
    """Return whether each reference has one level of a distortion, and not the same for all."""
    owners = {*zip(pairs.reference_ids.tolist(), pairs.distortion_ids.tolist(), strict=True)}
    return len(owners) == len(pairs) and len(np.unique(pairs.levels)) > 1


def spreads(scores: Array, distortion_ids: NDArray[np.str_], levels: NDArray[np.int64]) -> tuple[Spread, ...]:
    """Return the distribution for every distortion and level, also for those without a pair."""
    known = np.isfinite(scores)
    result = []
    for number in np.unique(distortion_ids):
        for level in LEVELS:
            own = np.sort(scores[known & (distortion_ids == number) & (levels == level)])
            if len(own):
                quantiles = tuple(float(value) for value in np.percentile(own, QUANTILES))
                mean, deviation = float(own.mean()), float(own.std())
            else:
                mean, deviation, quantiles = np.nan, np.nan, (np.nan,) * len(QUANTILES)
            result.append(Spread(str(number), level, len(own), mean, deviation, quantiles))
    return tuple(result)


def columns_of(pairs: PairTable) -> dict[str, NDArray[np.str_]]:
    """Return the properties that scores are broken down by, in the order of the report."""
    numbers = np.unique(pairs.distortion_ids)
    classes = {number: str(entry(str(number)).distortion_class) for number in numbers}
    return {
        "distortion": pairs.distortion_ids,
        "class": np.array([classes[number] for number in pairs.distortion_ids], dtype=np.str_),
        "level": pairs.levels.astype(np.str_),
        **pairs.labels,
    }


def breakdown(
    scores: Array, values: NDArray[np.str_], third: NDArray[np.str_], references: References
) -> tuple[BreakdownRow, ...]:
    """Average the scores of the pairs that share a value.

    Args:
        scores: ``(pairs,)``; NaN does not count.
        values: ``(pairs,)``.
        third: ``(pairs,)`` from `jnd.thirds`.
        references: For the intervals.

    Returns:
        By value.
    """
    names, index = np.unique(values, return_inverse=True)
    cells = index.reshape(-1).astype(np.int64)
    found = cell_means(scores, cells, len(names), references)
    numbers = zip(
        *(column.tolist() for column in (found.counts, found.means, found.low, found.high)), strict=True
    )
    return tuple(
        BreakdownRow(str(name), count, mean, low, high, _shares(third[cells == cell]))
        for cell, (name, (count, mean, low, high)) in enumerate(zip(names, numbers, strict=True))
    )


def _shares(labels: NDArray[np.str_]) -> dict[Third, float]:
    scored = int((labels != "").sum())
    return {third: float((labels == third).sum()) / scored if scored else float("nan") for third in Third}
