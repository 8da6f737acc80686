"""Everything that the report of a database tells, computed once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.analysis.attributes import AttributeTable, PairAttributes, attribute_table
from embodied_iqa.analysis.breakdowns import BreakdownRow, breakdown, columns_of
from embodied_iqa.analysis.ceiling import Ceiling, noise_ceiling
from embodied_iqa.analysis.correlation import Agreement, Correlation, agreement, srcc
from embodied_iqa.analysis.distributions import Spread, spreads
from embodied_iqa.analysis.execution import (
    ExecutionRuns,
    ExecutionTable,
    PairOpinion,
    execution_table,
)
from embodied_iqa.analysis.grid import (
    TASKS_OF_SCALE,
    Group,
    GroupScores,
    PairTable,
    ScoreGrid,
    ViewCount,
)
from embodied_iqa.analysis.jnd import LeavingLevel, Thirds, leaving_levels, thirds
from embodied_iqa.analysis.opinion import Opinion, mean_opinion
from embodied_iqa.analysis.resampling import References

__all__ = ["TOTAL", "GroupStudy", "Study", "SubjectRow", "study"]

Array = NDArray[np.float64]
TOTAL: Final = "score"
"""Stands beside the parts for the score made of them."""
_MOST: Final = TASKS_OF_SCALE * (1 - 1e-9)


@dataclass(frozen=True, slots=True)
class SubjectRow:
    """One subject.

    Attributes:
        subject: Its name.
        count: Pairs that it scored in full.
        missing: Pairs that it did not.
        elsewhere: Pairs of views that it is not made for, left out.
        mean: Its mean score in [0, 5].
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
    """What the subjects of one kind show.

    Attributes:
        group: The kind.
        subjects: One row each.
        opinion: Of their scores.
        thirds: Of the raw opinion.
        agreements: Part, or TOTAL, to agreement.
        ceilings: Likewise.
        means: Part, or TOTAL, to the mean opinion over all pairs.
        spreads: By distortion and level, of the raw opinion.
        leaving: By distortion.
        breakdowns: Column to rows.
    """

    group: Group
    subjects: tuple[SubjectRow, ...]
    opinion: Opinion
    thirds: Thirds
    agreements: Mapping[str, Agreement]
    ceilings: Mapping[str, Ceiling]
    means: Mapping[str, float]
    spreads: tuple[Spread, ...]
    leaving: tuple[LeavingLevel, ...]
    breakdowns: Mapping[str, tuple[BreakdownRow, ...]]


@dataclass(frozen=True, slots=True)
class Study:
    """A database at a glance.

    Attributes:
        pairs: Its pairs.
        groups: Kind of subject to what they show.
        between_raw: SRCC of the mean opinions of VLMs and VLAs; None unless there are both.
        between_z_scored: Likewise of the z-scored ones.
        between_ceiling: Geometric mean of both kinds' corrected ceilings: more cannot be expected.
        attributes: By distortion.
        execution: None where no experiment was joined.
        views: How many subjects answered about each view, and how many of them count.
        all_views: Whether subjects also count for views that they are not made for.
    """

    pairs: PairTable
    groups: Mapping[Group, GroupStudy]
    between_raw: Correlation | None
    between_z_scored: Correlation | None
    between_ceiling: float
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
        seed: Of intervals and drawn splits.
        draws: How often the references are drawn again for an interval.
    """
    references = References.drawn(grid.pairs.reference_ids, draws=draws, seed=seed)
    groups = {
        group: _group_study(scores, grid.pairs, references, seed) for group, scores in grid.groups.items()
    }
    opinions = {group: found.opinion for group, found in groups.items()}
    both = len(opinions) == len(Group)
    raw = [opinions[group].raw for group in Group] if both else []
    z_scored = [opinions[group].z_scored for group in Group] if both else []
    return Study(
        grid.pairs,
        groups,
        srcc(raw[0], raw[1]) if both else None,
        srcc(z_scored[0], z_scored[1]) if both else None,
        _between_ceiling([groups[group].ceilings[TOTAL] for group in Group] if both else []),
        attribute_table(attributes, grid.pairs, {group: found.raw for group, found in opinions.items()}),
        None if runs is None else execution_table(runs, _pair_opinion(grid)),
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
        {part: noise_ceiling(values, seed=seed) for part, values in columns.items()},
        {part: _mean(mean_opinion(values).raw) for part, values in columns.items()},
        spreads(opinion.raw, pairs.distortion_ids, pairs.levels),
        leaving_levels(cut.labels, pairs.distortion_ids, pairs.levels, references),
        {name: breakdown(opinion.raw, values, cut.labels, references) for name, values in by.items()},
    )


def _subject_row(scores: GroupScores, column: int) -> SubjectRow:
    own = scores.total[:, column]
    known = own[np.isfinite(own)]
    others = mean_opinion(np.delete(scores.total, column, axis=1)).raw
    return SubjectRow(
        scores.subjects[column],
        len(known),
        int(scores.missing[column]),
        int(scores.elsewhere[:, column].sum()),
        _mean(own),
        float(known.std()) if len(known) else np.nan,
        float((known >= _MOST).mean()) if len(known) else np.nan,
        srcc(own, others),
    )


def _between_ceiling(ceilings: list[Ceiling]) -> float:
    values = [ceiling.corrected for ceiling in ceilings]
    if len(values) < 2 or not all(np.isfinite(values)) or min(values) < 0:
        return float("nan")
    return float(np.sqrt(values[0] * values[1]))


def _pair_opinion(grid: ScoreGrid) -> PairOpinion:
    nothing = np.empty((len(grid.pairs), 0))
    cognition, decision = (grid.groups[group].total if group in grid.groups else nothing for group in Group)
    return PairOpinion(grid.pairs.distortion_ids, grid.pairs.levels, cognition, decision)


def _mean(values: Array) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")
