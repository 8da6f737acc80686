"""Just-noticeable differences: thirds of the scores, and the level at which a distortion leaves the first."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.data.analysis.means import cell_means
from embodied_iqa.data.analysis.resampling import FEWEST_REFERENCES, INTERVAL, References
from embodied_iqa.imaging.distortions.spec import LEVELS

Array = NDArray[np.float64]
NEVER = len(LEVELS) + 1
"""In place of a level: at none of the levels."""
_HALF = 0.5
_ROUNDING = 1e-9
"""Tolerance between means of equal scores."""


class Third(StrEnum):
    """Third of all scores that the score of an image is in."""

    MILD = "mild"
    MEDIUM = "medium"
    SEVERE = "severe"


@dataclass(frozen=True, slots=True)
class Thirds:
    """All scores cut in thirds.

    Attributes:
        lower: Lower scores are severe.
        upper: Scores from here on are mild. Equal scores stay together: ties make thirds unequal.
        labels: ``(pairs,)`` the third's name; empty without a score.
        counts: Number of pairs in each third.
        unscored: Number of pairs without a score.
    """

    lower: float
    upper: float
    labels: NDArray[np.str_]
    counts: dict[Third, int]
    unscored: int


@dataclass(frozen=True, slots=True)
class LeavingLevel:
    """Level at which a distortion first leaves "mild".

    Attributes:
        distortion_id: Two digits.
        level: The lowest level at which fewer than half of the pairs are mild; NEVER if there is none; None
            without scores.
        low: Lower end of the 95 % interval (references resampled, the cut fixed); None for fewer than
            `FEWEST_REFERENCES` with a score.
        high: Upper end; NEVER beyond the last level.
        shares: Share of mild pairs at each level, 1 to 5, in [0, 1]; NaN without a score.
    """

    distortion_id: str
    level: int | None
    low: int | None
    high: int | None
    shares: tuple[float, ...]


def thirds(scores: Array) -> Thirds:
    """Cut the scores at their 1/3 and 2/3 quantiles."""
    known = np.isfinite(scores)
    labels = np.full(len(scores), "", dtype="<U6")
    if not known.any():
        return Thirds(np.nan, np.nan, labels, dict.fromkeys(Third, 0), len(scores))
    lower, upper = (float(value) for value in np.quantile(scores[known], (1 / 3, 2 / 3)))
    labels[known] = Third.MEDIUM
    labels[known & (scores < lower - _ROUNDING)] = Third.SEVERE
    labels[known & (scores >= upper - _ROUNDING)] = Third.MILD
    counts = {third: int((labels == third).sum()) for third in Third}
    return Thirds(lower, upper, labels, counts, int((~known).sum()))


def leaving_levels(
    labels: NDArray[np.str_],
    distortion_ids: NDArray[np.str_],
    levels: NDArray[np.int64],
    references: References,
) -> tuple[LeavingLevel, ...]:
    """Find for every distortion the first level at which fewer than half of the pairs are mild.

    Counting pairs instead of averaging scores also works if most scores are the highest possible one: any
    mean is below that.

    Args:
        labels: ``(pairs,)`` `Thirds.labels`.
        distortion_ids: ``(pairs,)``.
        levels: ``(pairs,)``.
        references: For the intervals.
    """
    mild = np.where(labels == "", np.nan, labels == Third.MILD)
    names, index = np.unique(distortion_ids, return_inverse=True)
    cells = index.reshape(-1) * len(LEVELS) + levels - 1
    found = cell_means(mild, cells.astype(np.int64), len(names) * len(LEVELS), references)
    shares = found.means.reshape(len(names), -1)
    draws = found.draws.reshape(len(found.draws), len(names), -1)
    counts = [len(np.unique(references.index[(labels != "") & (distortion_ids == name)])) for name in names]
    result = []
    for number, name in enumerate(names):
        known = tuple(float(share) for share in shares[number])
        if not np.isfinite(shares[number]).any():
            result.append(LeavingLevel(str(name), None, None, None, known))
            continue
        few = counts[number] < FEWEST_REFERENCES
        low, high = (None, None) if few else _ends(draws[:, number, :])
        result.append(LeavingLevel(str(name), int(_first(shares[number][None])[0]), low, high, known))
    return tuple(result)


def _ends(draws: Array) -> tuple[int, int]:
    """Return the ends of the 95 % interval of the first level, from ``(draws, 5)`` shares."""
    low, high = np.percentile(_first(draws), INTERVAL, method="nearest")
    return round(float(low)), round(float(high))


def _first(shares: Array) -> NDArray[np.int64]:
    """``(rows, 5)`` to the first level below a half, NEVER without one; NaN is not below."""
    below = np.nan_to_num(shares, nan=1.0) < _HALF - _ROUNDING
    return np.where(below.any(axis=1), below.argmax(axis=1) + 1, NEVER)
