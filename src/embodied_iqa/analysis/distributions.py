"""How scores are spread for each distortion and level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.distortions.spec import LEVELS

__all__ = ["QUANTILES", "Spread", "spreads"]

Array = NDArray[np.float64]
QUANTILES: Final = (5, 25, 50, 75, 95)
"""In percent."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Scores of one distortion at one level.

    Attributes:
        distortion_id: Two digits.
        level: 1 to 5.
        count: Pairs with a score.
        mean: In [0, 5]; NaN where there is none.
        deviation: Standard deviation.
        quantiles: Of `QUANTILES`; NaN where there is none.
    """

    distortion_id: str
    level: int
    count: int
    mean: float
    deviation: float
    quantiles: tuple[float, ...]


def spreads(scores: Array, distortion_ids: NDArray[np.str_], levels: NDArray[np.int64]) -> tuple[Spread, ...]:
    """Describe the scores of every distortion and level, also of those without a pair."""
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
