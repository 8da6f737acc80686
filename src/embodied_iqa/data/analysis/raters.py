"""Agreement between people who rate the same things: Cohen's kappa, Krippendorff's alpha."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.data.analysis.resampling import drawn_rows, drawn_weights, interval_of

Array = NDArray[np.float64]
_DRAWS: Final = 1000
_LEAST: Final = 2


class Scale(StrEnum):
    """Scale of the ratings: what the distance between two values is."""

    NOMINAL = "nominal"
    ORDINAL = "ordinal"
    INTERVAL = "interval"


@dataclass(frozen=True, slots=True)
class RaterAgreement:
    """A coefficient of agreement with its interval.

    Attributes:
        value: 1 for perfect agreement, 0 for agreement by chance; NaN if undefined: nothing was rated twice,
            or all ratings are equal.
        low: Lower end of the 95 % interval from resampling the units; NaN for fewer than two.
        high: Upper end.
        units: Things that two or more people rated.
        raters: People with a rating that counts.
        observed: Share of pairs of ratings of a unit that are equal, 0 to 1; NaN without pairs.
    """

    value: float
    low: float
    high: float
    units: int
    raters: int
    observed: float


def krippendorff_alpha(ratings: Array, scale: Scale, seed: int = 0) -> RaterAgreement:
    """Krippendorff's alpha, higher is better; any number of raters, ratings may be missing.

    Args:
        ratings: ``(raters, units)``, NaN for missing ratings; numbers stand for categories.
        scale: The distance between values; ranks of an ordinal scale are counted over all ratings.
        seed: Of the resampling.

    Source: K. Krippendorff, Computing Krippendorff's Alpha-Reliability, 2011, sections C and D. The interval
    is a percentile bootstrap over units, 1,000 draws; draws with a constant rating do not count.
    """
    pairable = ratings[:, np.isfinite(ratings).sum(axis=0) >= _LEAST]
    values, counts = _counts(pairable)
    units = len(counts)
    if not units:
        return RaterAgreement(np.nan, np.nan, np.nan, 0, 0, np.nan)
    draws = drawn_weights(units, draws=_DRAWS if units >= _LEAST else 0, seed=seed)
    low, high = interval_of(np.array([_alpha(values, counts, weights, scale) for weights in draws]))
    raters = int(np.isfinite(pairable).any(axis=1).sum())
    everything = np.ones(units)
    value = _alpha(values, counts, everything, scale)
    return RaterAgreement(value, low, high, units, raters, _observed(counts))


def cohen_kappa(first: Array, second: Array, seed: int = 0) -> RaterAgreement:
    """Cohen's kappa of two raters on a nominal scale, higher is better.

    Args:
        first: ``(units,)``, NaN for missing ratings; numbers stand for categories.
        second: Likewise.
        seed: Of the resampling, as of `krippendorff_alpha`.

    Source: J. Cohen, A coefficient of agreement for nominal scales, 1960, equation 1.
    """
    both = np.isfinite(first) & np.isfinite(second)
    pair = np.stack([first[both], second[both]])
    units = pair.shape[1]
    if not units:
        return RaterAgreement(np.nan, np.nan, np.nan, 0, 0, np.nan)
    draws = drawn_rows(units, draws=_DRAWS if units >= _LEAST else 0, seed=seed)
    low, high = interval_of(np.array([_kappa(pair[:, rows]) for rows in draws]))
    observed = float((pair[0] == pair[1]).mean())
    return RaterAgreement(_kappa(pair), low, high, units, 2, observed)


def _kappa(pair: Array) -> float:
    categories = np.unique(pair)
    observed = (pair[0] == pair[1]).mean()
    shares = [(side[:, None] == categories).mean(axis=0) for side in pair]
    expected = float(shares[0] @ shares[1])
    return float((observed - expected) / (1 - expected)) if expected < 1 else np.nan


def _counts(ratings: Array) -> tuple[Array, Array]:
    """Return the values ``(V,)`` and how often each unit got each of them ``(units, V)``."""
    values = np.unique(ratings[np.isfinite(ratings)])
    counts = (ratings[:, :, None] == values).sum(axis=0).astype(np.float64)
    return values, counts


def _alpha(values: Array, counts: Array, weights: Array, scale: Scale) -> float:
    """Return alpha with units repeated by their weight."""
    totals = counts.sum(axis=1)
    per_unit = weights / (totals - 1)
    coincidences = (counts * per_unit[:, None]).T @ counts - np.diag((counts * per_unit[:, None]).sum(axis=0))
    frequencies = coincidences.sum(axis=1)
    count = frequencies.sum()
    distances = _distances(values, frequencies, scale)
    expected = (np.outer(frequencies, frequencies) * distances).sum() / (count - 1)
    observed = (coincidences * distances).sum()
    return float(1 - observed / expected) if expected > 0 else np.nan


def _distances(values: Array, frequencies: Array, scale: Scale) -> Array:
    """Return the squared distances ``(V, V)`` between values."""
    if scale is Scale.NOMINAL:
        return 1.0 - np.eye(len(values))
    places = values if scale is Scale.INTERVAL else np.cumsum(frequencies) - frequencies / 2
    return np.subtract.outer(places, places) ** 2


def _observed(counts: Array) -> float:
    totals = counts.sum(axis=1)
    equal = (counts * (counts - 1)).sum(axis=1) / (totals * (totals - 1))
    return float(equal.mean())
