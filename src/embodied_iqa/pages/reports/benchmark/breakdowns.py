"""Chapter: SRCC by properties of images and distortions, beside the noise ceiling."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from embodied_iqa.pages.reports.benchmark.lines import SRCC_RANGE, by_key, whole_scores
from embodied_iqa.pages.reports.kit.formatting import distortion_label
from embodied_iqa.pages.reports.kit.page import Chapter, Part
from embodied_iqa.pages.reports.kit.table import Column, Row, Table
from embodied_iqa.quality.metrics.benchmark.benchmark_plan import Target
from embodied_iqa.quality.metrics.benchmark.benchmark_results import BenchmarkResults, ScoreRow

_DETAILS: Final = {"background", "main_object", "origin", "person"}
"""Properties with a table of their own that Markdown leaves out."""


def chapter(results: BenchmarkResults) -> Chapter:
    """Return the chapter."""
    return Chapter(
        "breakdowns",
        "Where metrics succeed and fail",
        "SRCC by property, mean over the splits. A number above its noise ceiling means that the metric "
        "agrees with the mean opinion better than the subjects agree with each other there.",
        "",
        (*(_part(results, target) for target in whole_scores(results)), _everything(results)),
    )


def _part(results: BenchmarkResults, target: Target) -> Part:
    rows = [row for row in results.scores if row.target is target and row.by != "all"]
    properties = dict.fromkeys(row.by for row in rows)
    tables = tuple(_table(results, target, by) for by in properties)
    return Part(str(target).capitalize(), tables)


def _table(results: BenchmarkResults, target: Target, by: str) -> Table:
    names = [row.name for row in results.metrics]
    columns = (
        Column(by.capitalize() if by.islower() else by, name="value"),
        Column("Pairs"),
        Column("References"),
        Column("Noise ceiling", 3, SRCC_RANGE),
        *(Column(name, 3, SRCC_RANGE, name=name) for name in names),
    )
    stem = by.replace(" ", "_").lower()
    rows = list(_rows(results, target, by))
    return Table(f"by_{stem}_{target}", f"By {by}", columns, rows, folded=True, detail=stem in _DETAILS)


def _rows(results: BenchmarkResults, target: Target, by: str) -> Iterator[Row]:
    found = by_key(results)
    names = [row.name for row in results.metrics]
    values = dict.fromkeys(row.value for row in results.scores if row.target is target and row.by == by)
    for value in values:
        own = [found[target, by, value, name] for name in names]
        label = distortion_label(value) if by == "distortion" else value
        first = own[0]
        yield label, first.pairs, first.references, first.ceiling, *(row.mean["srcc"] for row in own)


def _everything(results: BenchmarkResults) -> Part:
    """Return every statistic of every row, for the CSV file: the page shows those over all pairs."""
    statistics = list(results.scores[0].mean)
    columns = (
        Column("Metric"),
        Column("Score", name="target"),
        Column("By"),
        Column("Value"),
        Column("Pairs"),
        Column("References"),
        Column("Noise ceiling", 3),
        Column("Of ceiling", 3),
        Column("Splits", shown=False),
        *(Column(name, 3) for name in statistics),
        *(Column(f"{name} spread", name=f"{name}_spread", shown=False) for name in statistics),
    )
    rows = [_whole_row(row) for row in results.scores]
    return Part("Every number", (Table("scores", "All rows", columns, rows, folded=True, detail=True),))


def _whole_row(row: ScoreRow) -> Row:
    head = (row.metric, str(row.target), row.by, row.value, row.pairs, row.references)
    return (*head, row.ceiling, row.share, row.splits, *row.mean.values(), *row.spread.values())
