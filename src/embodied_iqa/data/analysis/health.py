"""Whether a database can tell metrics apart: its ceiling, the loss of each class, and how scores fall.

A database whose pairs lie at the highest score, or whose loss comes from one class of distortions, cannot
rank metrics of image quality.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.data.analysis.grid import TASKS_OF_SCALE, Group, GroupScores, PairTable, ScoreGrid
from embodied_iqa.data.analysis.means import CellMeans, cell_means, finite_mean
from embodied_iqa.data.analysis.noise_ceiling import Ceiling, noise_ceiling
from embodied_iqa.data.analysis.opinion import mean_opinion
from embodied_iqa.data.analysis.resampling import FEWEST_REFERENCES, INTERVAL, References
from embodied_iqa.imaging.distortions.spec import LEVELS

Array = NDArray[np.float64]
UNHARMED: Final = 4.95
"""From this mean score on, of 5, the distortion harmed nothing."""
_DRAWS: Final = 500


@dataclass(frozen=True, slots=True)
class ClassLoss:
    """Loss of a class of distortions: the highest score minus the mean opinion.

    Attributes:
        name: Of the class.
        severe: Mean loss at the highest level, in [0, 5]; NaN without pairs.
        low: Lower end of its 95 % interval; NaN for fewer than `FEWEST_REFERENCES`.
        high: Upper end.
        share: Part of all loss, in [0, 1].
        references: Number of references with a pair at the highest level.
    """

    name: str
    severe: float
    low: float
    high: float
    share: float
    references: int


@dataclass(frozen=True, slots=True)
class Trend:
    """Mean opinion by level.

    Attributes:
        distortion_id: Two digits.
        means: At each level, in [0, 5]; NaN without pairs.
        falls: No level lies above the one before it by more than chance, and the last lies below the first by
            more than chance (95 % intervals of the differences, references resampled). None for fewer than
            `FEWEST_REFERENCES`, of which these intervals would say nothing.
    """

    distortion_id: str
    means: tuple[float, ...]
    falls: bool | None


@dataclass(frozen=True, slots=True)
class GroupHealth:
    """One group of subjects.

    Attributes:
        unharmed: Share of the pairs at 4.95 of 5 or more, in [0, 1].
        classes: By class.
        trends: By distortion.
        ceilings: Noise ceiling by view; undefined for fewer than two subjects.
        most_levels: Largest number of levels that one reference has of one distortion.
    """

    unharmed: float
    classes: tuple[ClassLoss, ...]
    trends: tuple[Trend, ...]
    ceilings: Mapping[str, Ceiling]
    most_levels: int

    @property
    def falling(self) -> int:
        """Number of distortions whose scores fall with the level."""
        return sum(trend.falls is True for trend in self.trends)

    @property
    def levels(self) -> tuple[int, ...]:
        """Levels at which a pair has a score."""
        means = [pair for trend in self.trends for pair in zip(LEVELS, trend.means, strict=True)]
        return tuple(sorted({level for level, mean in means if isfinite(mean)}))

    @property
    def one_level_each(self) -> bool:
        """Whether no reference has a distortion at two levels, so that levels compare different images."""
        return self.most_levels <= 1


def health(grid: ScoreGrid, class_of: Mapping[str, str], *, seed: int = 0) -> dict[Group, GroupHealth]:
    """Compute the health of each group's scores.

    Args:
        grid: The scores.
        class_of: Class of each distortion.
        seed: Of intervals and random splits.
    """
    references = References.drawn(grid.pairs.reference_ids, draws=_DRAWS, seed=seed)
    return {
        group: _group_health(scores, grid.pairs, class_of, references, seed)
        for group, scores in grid.groups.items()
    }


def _group_health(
    scores: GroupScores, pairs: PairTable, class_of: Mapping[str, str], references: References, seed: int
) -> GroupHealth:
    opinion = mean_opinion(scores.total, scores.elsewhere).raw
    known = opinion[np.isfinite(opinion)]
    views = pairs.labels.get("view", np.full(len(pairs), ""))
    return GroupHealth(
        finite_mean((known >= UNHARMED).astype(np.float64)),
        _class_losses(TASKS_OF_SCALE - opinion, pairs, class_of, references),
        _trends(opinion, pairs, references),
        {view: noise_ceiling(scores.total[views == view], seed=seed) for view in np.unique(views).tolist()},
        _most_levels(pairs),
    )


def _most_levels(pairs: PairTable) -> int:
    series = np.stack([pairs.reference_ids, pairs.distortion_ids], axis=1)
    counts = np.unique(series, axis=0, return_counts=True)[1]
    return int(counts.max(initial=0))


def _class_losses(
    loss: Array, pairs: PairTable, class_of: Mapping[str, str], references: References
) -> tuple[ClassLoss, ...]:
    names = np.array([class_of.get(name, "other") for name in pairs.distortion_ids.tolist()])
    classes, index = np.unique(names, return_inverse=True)
    severe = np.where(pairs.levels == LEVELS[-1], index.reshape(-1), -1)
    found = cell_means(loss, severe.astype(np.int64), len(classes), references)
    whole, scored = np.nansum(loss), np.isfinite(loss)
    return tuple(
        ClassLoss(
            str(name),
            float(found.means[number]),
            float(found.low[number]),
            float(found.high[number]),
            float(np.nansum(loss[names == name]) / whole) if whole > 0 else 0.0,
            len(np.unique(references.index[scored & (severe == number)])),
        )
        for number, name in enumerate(classes)
    )


def _trends(opinion: Array, pairs: PairTable, references: References) -> tuple[Trend, ...]:
    names, index = np.unique(pairs.distortion_ids, return_inverse=True)
    cells = index.reshape(-1) * len(LEVELS) + pairs.levels - 1
    found = cell_means(opinion, cells.astype(np.int64), len(names) * len(LEVELS), references)
    scored = np.isfinite(opinion)
    return tuple(
        _trend(
            str(name),
            found,
            number * len(LEVELS),
            len(np.unique(references.index[scored & (pairs.distortion_ids == name)])),
        )
        for number, name in enumerate(names)
    )


def _trend(name: str, per_cell: CellMeans, first: int, references: int) -> Trend:
    cells = slice(first, first + len(LEVELS))
    means, draws = per_cell.means[cells], per_cell.draws[:, cells]
    if references < FEWEST_REFERENCES:
        return Trend(name, tuple(means.tolist()), falls=None)
    if not np.isfinite(means).all():
        return Trend(name, tuple(means.tolist()), falls=False)
    steps = np.nanpercentile(np.diff(draws, axis=1), INTERVAL[0], axis=0)
    whole = np.nanpercentile(draws[:, -1] - draws[:, 0], INTERVAL[1])
    return Trend(name, tuple(means.tolist()), falls=bool((steps <= 0).all() and whole < 0))
