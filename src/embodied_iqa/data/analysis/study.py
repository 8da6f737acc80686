"""All statistics of a database's report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.data.analysis.attributes import AttributeTable, PairAttributes, attribute_table
from embodied_iqa.data.analysis.breakdowns import (
    BreakdownRow,
    Spread,
    Worst,
    breakdown,
    columns_of,
    spreads,
    worst_distortion,
)
from embodied_iqa.data.analysis.correlation import Agreement, Correlation, agreement, srcc
from embodied_iqa.data.analysis.decision_losses import LossRow, losses_by
from embodied_iqa.data.analysis.execution_correlation import ExecutionRuns, ExecutionTable, execution_table
from embodied_iqa.data.analysis.grid import (
    TASKS_OF_SCALE,
    Group,
    GroupScores,
    PairTable,
    ScoreGrid,
    ViewCount,
)
from embodied_iqa.data.analysis.intervals import Interval, srcc_interval
from embodied_iqa.data.analysis.jnd import LeavingLevel, Thirds, leaving_levels, thirds
from embodied_iqa.data.analysis.means import finite_mean
from embodied_iqa.data.analysis.noise_ceiling import Ceiling, joint_ceiling, noise_ceiling
from embodied_iqa.data.analysis.opinion import Opinion, mean_opinion
from embodied_iqa.data.analysis.resampling import References

Array = NDArray[np.float64]
TOTAL: Final = "score"
"""Key of the score itself, beside its parts."""
_HIGHEST: Final = TASKS_OF_SCALE * (1 - 1e-9)


@dataclass(frozen=True, slots=True)
class SubjectRow:
    """One subject.

    Attributes:
        subject: Name.
        count: Pairs that it scored completely.
        missing: Pairs that it did not.
        elsewhere: Pairs of views that it is not made for, left out.
        mean: In [0, 5].
        deviation: Standard deviation.
        unmoved: Share of its scores that are the highest possible: the distortion changed nothing.
        with_others: SRCC with the mean opinion of the other subjects.
    """

    subject: str
    count: int
    missing: int
    elsewhere: int
    mean: float
    deviation: float
    unmoved: float
    with_others: Correlation


@dataclass(frozen=True, slots=True)
class GroupStudy:
    """Statistics of one group; `agreements`, `ceilings` and `means` have a key for each part and TOTAL.

    Attributes:
        group: The group.
        subjects: By subject.
        opinion: Of their scores.
        thirds: Of the raw opinion.
        agreements: Between the subjects.
        interval: Of the mean agreement of the whole score.
        ceilings: Noise ceilings.
        means: Of the mean opinion over all pairs.
        spreads: Of the raw opinion, by distortion and level.
        leaving: By distortion.
        breakdowns: By property and value.
        losses: By property; only of VLAs.
        worst: The worst distortion; None where fewer than two were scored.
    """

    group: Group
    subjects: tuple[SubjectRow, ...]
    opinion: Opinion
    thirds: Thirds
    agreements: Mapping[str, Agreement]
    interval: Interval
    ceilings: Mapping[str, Ceiling]
    means: Mapping[str, float]
    spreads: tuple[Spread, ...]
    leaving: tuple[LeavingLevel, ...]
    breakdowns: Mapping[str, tuple[BreakdownRow, ...]]
    losses: Mapping[str, tuple[LossRow, ...]]
    worst: Worst | None

    @property
    def scored(self) -> tuple[SubjectRow, ...]:
        """The subjects that scored a pair."""
        return tuple(row for row in self.subjects if row.count)


@dataclass(frozen=True, slots=True)
class Study:
    """Statistics of a database.

    Attributes:
        pairs: Its pairs.
        groups: By group of subjects.
        between_raw: SRCC of the mean opinions of VLMs and VLAs; None unless there are both.
        between_z_scored: Likewise of the z-scored ones.
        between_ceiling: Noise ceiling of `between_raw`.
        between_interval: Interval of `between_raw`; None unless there are both.
        attributes: By distortion.
        execution: None without an experiment.
        views: Number of subjects by view.
        all_views: Whether subjects also count for views that they are not made for.
    """

    pairs: PairTable
    groups: Mapping[Group, GroupStudy]
    between_raw: Correlation | None
    between_z_scored: Correlation | None
    between_ceiling: float
    between_interval: Interval | None
    attributes: AttributeTable
    execution: ExecutionTable | None
    views: tuple[ViewCount, ...]
    all_views: bool


def study(
    grid: ScoreGrid,
    attributes: PairAttributes,
    runs: ExecutionRuns | None,
    *,
    seed: int = 0,
    draws: int = 500,
) -> Study:
    """Compute everything.

    Args:
        grid: The scores.
        attributes: Of the same pairs.
        runs: Of an experiment, or None.
        seed: Of intervals and random splits.
        draws: How often the references are resampled for an interval.
    """
    references = References.drawn(grid.pairs.reference_ids, draws=draws, seed=seed)
    groups = {
        group: _group_study(scores, grid.pairs, references, seed) for group, scores in grid.groups.items()
    }
    both = [groups[group] for group in Group] if len(groups) == len(Group) else []
    opinions = {group: found.opinion.raw for group, found in groups.items()}
    return Study(
        grid.pairs,
        groups,
        srcc(*(found.opinion.raw for found in both)) if both else None,
        srcc(*(found.opinion.z_scored for found in both)) if both else None,
        joint_ceiling(*(found.ceilings[TOTAL].ceiling for found in both)) if both else np.nan,
        srcc_interval(np.stack([found.opinion.raw for found in both], axis=1), references) if both else None,
        attribute_table(attributes, grid.pairs, opinions),
        None if runs is None else execution_table(runs, grid),
        grid.views,
        grid.all_views,
    )


def _group_study(scores: GroupScores, pairs: PairTable, references: References, seed: int) -> GroupStudy:
    columns = {**scores.parts, TOTAL: scores.total}
    opinion = mean_opinion(scores.total, scores.elsewhere)
    cut = thirds(opinion.raw)
    by = {**columns_of(pairs), "JND third": cut.labels}
    return GroupStudy(
        scores.group,
        tuple(_subject_row(scores, column) for column in range(len(scores.subjects))),
        opinion,
        cut,
        {part: agreement(scores.subjects, values) for part, values in columns.items()},
        srcc_interval(scores.total, references),
        {part: noise_ceiling(values, seed=seed) for part, values in columns.items()},
        {part: finite_mean(mean_opinion(values).raw) for part, values in columns.items()},
        spreads(opinion.raw, pairs.distortion_ids, pairs.levels),
        leaving_levels(cut.labels, pairs.distortion_ids, pairs.levels, references),
        {name: breakdown(opinion.raw, values, cut.labels, references) for name, values in by.items()},
        losses_by(scores, pairs),
        worst_distortion(opinion.raw, pairs.distortion_ids, references),
    )


def _subject_row(scores: GroupScores, column: int) -> SubjectRow:
    own = scores.total[:, column]
    known = own[np.isfinite(own)]
    return SubjectRow(
        scores.subjects[column],
        len(known),
        int(scores.missing[column]),
        int(scores.elsewhere[:, column].sum()),
        finite_mean(own),
        float(known.std()) if len(known) else np.nan,
        finite_mean((known >= _HIGHEST).astype(np.float64)),
        srcc(own, mean_opinion(np.delete(scores.total, column, axis=1)).raw),
    )
