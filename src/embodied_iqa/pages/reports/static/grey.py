"""Table of grey pictures: is a subject at chance in every dimension, where only the text can help it?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from embodied_iqa.models.scoring.proportions import Share, simultaneous_z, wilson
from embodied_iqa.pages.reports.kit.table import Cell, Column, Table
from embodied_iqa.suites.static_benchmark.conditions import GREY
from embodied_iqa.suites.static_benchmark.vlm_scores import UNKNOWN, GroupScore, SubjectScore, without_dummies

_ALL = "all"
GreyCell = tuple[str, GroupScore]
"""A subject and its score in a dimension."""


def grey_cells(subjects: Sequence[SubjectScore]) -> Iterator[GreyCell]:
    """Yield the scores on grey pictures of each subject and dimension, dummies aside."""
    asked = without_dummies(row.subject for row in subjects)
    for row in (row for row in subjects if row.subject in asked):
        for condition in row.conditions:
            if condition.condition == GREY:
                yield from ((row.subject, one) for one in condition.dimensions if one.dimension != _ALL)


def dimension_cells(subjects: Iterable[SubjectScore]) -> Iterator[GreyCell]:
    """Yield the scores of each subject and dimension, where the pictures of the benchmark are grey."""
    for row in subjects:
        for one in row.groups:
            if one.person == _ALL and one.dimension not in {_ALL, UNKNOWN}:
                yield row.subject, one


def grey_table(cells: Sequence[GreyCell], name: str = "vlm_grey", title: str = "Grey pictures") -> Table:
    """Return the hits of all and of answered items, with the intervals of each cell and of all at once."""
    z = simultaneous_z(max(1, len(cells)))
    columns = [Column("Subject"), Column("Dimension"), Column("Items"), Column("Hits", 1)]
    columns += [Column("Unparsed", 1), Column("Answered"), Column("Chance", 1), Column("Of answered", 1)]
    columns += [Column("Low", 1), Column("High", 1), Column("Low of all", 1), Column("High of all", 1)]
    rows = [(subject, one.dimension, *_numbers(one, z)) for subject, one in cells]
    return Table(name, title, tuple(columns), rows, _note(cells, z))


def _numbers(one: GroupScore, z: float) -> tuple[Cell, ...]:
    all_items = (one.hits.n, 100.0 * one.hits.value, 100.0 * one.unparsed)
    found = one.of_answered
    if found is None:
        return (*all_items, 0, None, None, None, None, None, None)
    wide = _widened(found.hits, z)
    shares = (found.chance, found.hits.value, found.hits.low, found.hits.high, wide.low, wide.high)
    return (*all_items, found.hits.n, *(100.0 * share for share in shares))


def _widened(hits: Share, z: float) -> Share:
    return wilson(round(hits.value * hits.n), hits.n, z)


def _note(cells: Sequence[GreyCell], z: float) -> str:
    answered = [one.of_answered for _, one in cells if one.of_answered is not None]
    inside = sum(one.hits.low <= one.chance <= one.hits.high for one in answered)
    wide = [(_widened(one.hits, z), one.chance) for one in answered]
    inside_wide = sum(share.low <= chance <= share.high for share, chance in wide)
    count = len(answered)
    return (
        "In percent. Hits counts unparsed answers as wrong, as all scores do; Of answered is the share of "
        "right answers among those with a letter, which is at chance where the text gives nothing away. Low "
        f"and High: 95 % of each cell, with chance inside in {inside} of {count} cells ({0.05 * count:.2g} "
        "are outside in the mean without any effect). Low and High of all: 95 % of all cells at once "
        f"(Bonferroni), with chance inside in {inside_wide} of {count}."
    )
