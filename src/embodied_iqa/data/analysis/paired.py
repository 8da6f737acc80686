"""Paired statistics of matched runs: intervals from drawing scenes, differences of shares, McNemar's test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.data.analysis.means import cell_means
from embodied_iqa.data.analysis.resampling import References, interval_of
from embodied_iqa.models.scoring.proportions import wilson

Array = NDArray[np.float64]
_FEWEST_SCENES: Final = 2
"""With an interval."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its 95 % interval.

    Attributes:
        value: NaN without a run.
        low: Lower end; NaN for fewer than two scenes.
        high: Upper end.
    """

    value: float
    low: float
    high: float


def mean_of(values: Array, scenes: References) -> Estimate:
    """Return the mean with its interval from drawing whole scenes.

    Args:
        values: ``(N,)``; NaN does not count.
        scenes: Drawn scenes; its index is that of the values.
    """
    means = cell_means(values, np.zeros(len(values), dtype=np.int64), 1, scenes, _FEWEST_SCENES)
    return Estimate(float(means.means[0]), float(means.low[0]), float(means.high[0]))


def mean_of_events(values: Array, scenes: References, least: float = 0.0) -> Estimate:
    """Return the mean of events with an interval that is not empty where all values are alike.

    Drawn scenes do not differ then; up to ``1 - 0.025^(1/n)`` of all of which these n are a sample may.

    Args:
        values: ``(N,)`` from ``least`` to 1; NaN does not count.
        scenes: As of `mean_of`.
        least: Lowest possible value: -1 for differences.

    Source: Clopper and Pearson, Biometrika 26 (1934), 404-413.
    """
    found, known = mean_of(values, scenes), np.isfinite(values)
    count = len(np.unique(scenes.index[known]))
    if count < _FEWEST_SCENES or np.ptp(values[known]) > 0:
        return found
    other = 1 - 0.025 ** (1 / count)
    low, high = max(least, found.value - other), min(1.0, found.value + other)
    return Estimate(found.value, min(low, found.value), max(high, found.value))


def median_of(values: Array, scenes: References) -> Estimate:
    """Return the median with its interval from drawing whole scenes; arguments as of `mean_of`."""
    used = np.isfinite(values)
    if not used.any():
        return Estimate(np.nan, np.nan, np.nan)
    order = np.argsort(values[used], kind="stable")
    ordered, index = values[used][order], scenes.index[used][order]
    total = np.cumsum(scenes.weights[:, index], axis=1)
    known = total[:, -1] > 0
    half = total[known, -1:] / 2
    draws = (
        ordered[(total[known] >= half).argmax(axis=1)] + ordered[(total[known] > half).argmax(axis=1)]
    ) / 2
    ends = interval_of(draws) if len(np.unique(index)) > 1 else (np.nan, np.nan)
    return Estimate(float(np.median(ordered)), *ends)


def paired_difference(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> Estimate:
    """Return the share of successes of the second arm minus that of the first, within [-1, 1].

    Args:
        first: ``(N,)`` outcomes of one arm, N of 1 or more.
        second: ``(N,)`` outcomes of the other arm in the same runs.

    Source: Newcombe, Statistics in Medicine 17 (1998), 2635-2650: method 10, hybrid score interval with the
    continuity-corrected phi.
    """
    both, neither = float((first & second).sum()), float((~first & ~second).sum())
    gained, lost = float((second & ~first).sum()), float((first & ~second).sum())
    total = len(first)
    one, two = wilson(int(both + lost), total), wilson(int(both + gained), total)
    excess = both * neither - gained * lost
    margins = (both + lost) * (gained + neither) * (both + gained) * (lost + neither)
    phi = (max(excess - total / 2, 0.0) if excess > 0 else excess) / np.sqrt(margins) if margins else 0.0

    def half(up: float, down: float) -> float:
        return float(np.sqrt(max(0.0, up**2 - 2 * phi * up * down + down**2)))

    value = two.value - one.value
    low = value - half(two.value - two.low, one.high - one.value)
    high = value + half(two.high - two.value, one.value - one.low)
    return Estimate(value, max(-1.0, low), min(1.0, high))


def mcnemar(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> float:
    """Return the p-value of McNemar's exact test: two-sided binomial test of the discordant pairs.

    Args:
        first: ``(N,)`` outcomes of one arm.
        second: ``(N,)`` outcomes of the other arm in the same runs.

    Source: McNemar, Psychometrika 12 (1947), 153-157.
    """
    from scipy.stats import binomtest  # noqa: PLC0415 - slow to import, and not for --help

    gained, lost = int((second & ~first).sum()), int((first & ~second).sum())
    return float(binomtest(gained, gained + lost, 0.5).pvalue) if gained + lost else 1.0
