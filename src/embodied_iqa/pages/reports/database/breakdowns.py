"""Chapter: mean scores by properties of images and distortions."""

from __future__ import annotations

import math

from embodied_iqa.data.analysis.breakdowns import BreakdownRow
from embodied_iqa.data.analysis.grid import Group
from embodied_iqa.data.analysis.jnd import Third
from embodied_iqa.data.analysis.resampling import FEWEST_REFERENCES
from embodied_iqa.data.analysis.study import Study
from embodied_iqa.pages.reports.database.by_group import (
    SCORE_RANGE,
    across_groups,
    lane_figure,
    score_percent,
    title_of,
)
from embodied_iqa.pages.reports.kit.figure import Dot, Lane
from embodied_iqa.pages.reports.kit.formatting import distortion_label
from embodied_iqa.pages.reports.kit.page import Chapter, Part
from embodied_iqa.pages.reports.kit.table import Cell, Column, Row, Table


def chapter(study: Study) -> Chapter:
    """Return the chapter."""
    properties = next(iter(study.groups.values())).breakdowns
    return Chapter(
        "breakdowns",
        "Where scores are high and low",
        "Dot: mean opinion of the pairs, 0 to 5; line: 95 % interval from drawing whole references again, "
        f"none for fewer than {FEWEST_REFERENCES}.",
        "VLAs are very sensitive to maximum brighten and darken (18, 19) and hardly to mean brighten (20); "
        "Gaussian denoise (16) hurts from level 1, block interpolation (25) hardly at level 5.",
        tuple(_part(study, by) for by in properties),
    )


def _part(study: Study, by: str) -> Part:
    label = distortion_label if by == "distortion" else lambda value: value or "not known"
    rows = across_groups(study, lambda found: [(row.value, row) for row in found.breakdowns[by]])
    stem = by.replace(" ", "_").lower()
    columns = [Column(title_of(by), name=stem)]
    for group in study.groups:
        columns += [
            Column(group.title(), heat=SCORE_RANGE, name=f"{group}_mean"),
            Column("low", name=f"{group}_low", shown=False),
            Column("high", name=f"{group}_high", shown=False),
            Column("pairs", name=f"{group}_pairs"),
            *(Column(f"{third}, %", digits=0, name=f"{group}_{third}_percent") for third in Third),
        ]
    lines: list[Row] = [
        (label(value), *(cell for row in found for cell in _cells(row))) for value, found in rows.items()
    ]
    table = Table(f"by_{stem}", f"By {by}", columns, lines, folded=True)
    return Part(title_of(by), (table,), lane_figure(study, rows, _lane, label))


def _cells(row: BreakdownRow | None) -> tuple[Cell, ...]:
    if row is None:
        return (None,) * (4 + len(Third))
    return row.mean, row.low, row.high, row.count, *(100 * row.shares[third] for third in Third)


def _lane(group: Group, row: BreakdownRow | None) -> Lane:
    if row is None or not math.isfinite(row.mean):
        return Lane(str(group), f"{group}: not scored", "not scored")
    low, high = (row.mean if math.isnan(end) else end for end in (row.low, row.high))
    interval = "no interval" if math.isnan(row.low) else f"{low:.2f} to {high:.2f}"
    description = f"{group}: {row.mean:.2f}, {interval}, {row.count} pairs"
    return Lane(
        str(group), description, f"{row.mean:.2f}", dot=Dot(*map(score_percent, (row.mean, low, high)))
    )
