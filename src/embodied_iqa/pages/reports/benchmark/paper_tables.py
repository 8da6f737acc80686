"""Chapter: tables 2 and 4 of the paper in their form, with the published rows beside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from embodied_iqa.data.analysis.grid import PARTS, Group
from embodied_iqa.data.analysis.published_results import PublishedRow, published_metrics
from embodied_iqa.pages.reports.benchmark.lines import SRCC_RANGE, by_key, targets_of
from embodied_iqa.pages.reports.kit.page import Chapter, Part
from embodied_iqa.pages.reports.kit.table import Cell, Column, Row, Table
from embodied_iqa.quality.metrics.benchmark.benchmark_plan import Target
from embodied_iqa.quality.metrics.benchmark.benchmark_results import BenchmarkResults

_SUBSETS: Final = (
    ("person", "first"),
    ("person", "third"),
    ("JND third", "mild"),
    ("JND third", "severe"),
    ("origin", "real"),
    ("origin", "simulation"),
    *(("level", str(level)) for level in range(1, 6)),
)
"""Of the whole score; the paper's medium third is left out, see the chapter's lead."""
_STATISTICS: Final = {"srcc": "SRCC", "krcc": "KRCC", "plcc": "PLCC"}
_Cell = tuple[Target, str, str]


def chapter(results: BenchmarkResults) -> Chapter:
    """Return the chapter."""
    groups = [group for group in Group if Target(str(group)) in targets_of(results)]
    return Chapter(
        "paper-tables",
        "By part, perspective, degradation and level",
        "Rows marked as published are numbers of the paper, measured on its own database with its own "
        "subjects: they show the order of magnitude, not a comparison on equal terms. The medium third of "
        "the scores has no column: within it subjects do not agree with each other, so that its noise "
        "ceiling is undefined and a correlation there says nothing about a metric.",
        "",
        tuple(Part(str(group).capitalize(), tuple(_tables(results, group))) for group in groups),
    )


def _tables(results: BenchmarkResults, group: Group) -> Iterator[Table]:
    target = Target(str(group))
    cells: list[_Cell] = [(Target(part), "all", "all") for part in PARTS[group]]
    cells.append((target, "all", "all"))
    cells += [(target, by, value) for by, value in _SUBSETS]
    published = {
        (row.metric, row.kind, Target(row.target), row.by, row.value): row for row in published_metrics()
    }
    for statistic, title in _STATISTICS.items():
        columns = (
            Column("Metric"),
            *(Column(_title(cell), 3, SRCC_RANGE, name="_".join(map(str, cell))) for cell in cells),
        )
        rows = [
            *_own_rows(results, cells, statistic),
            *_published_rows(published, cells, statistic),
        ]
        yield Table(
            f"paper_{group}_{statistic}", f"{title} on {group}", columns, rows, folded=statistic != "srcc"
        )


def _title(cell: _Cell) -> str:
    target, by, value = cell
    if by == "all":
        return str(target)
    return f"{by} {value}" if by in {"level", "person"} else value


def _own_rows(results: BenchmarkResults, cells: list[_Cell], statistic: str) -> Iterator[Row]:
    found = by_key(results)
    names = [row.name for row in results.metrics]
    ceilings = [found.get((*cell, names[0])) for cell in cells]
    if statistic == "srcc":
        yield "Noise ceiling", *(None if row is None else row.ceiling for row in ceilings)
    for name in names:
        rows = [found.get((*cell, name)) for cell in cells]
        yield name, *(None if row is None else row.mean[statistic] for row in rows)


def _published_rows(
    published: Mapping[tuple[str, str, Target, str, str], PublishedRow], cells: list[_Cell], statistic: str
) -> Iterator[Row]:
    for metric, kind in dict.fromkeys(key[:2] for key in published):
        values: list[Cell] = []
        for target, by, value in cells:
            row = published.get((metric, kind, target, by, value))
            values.append(None if row is None else float(getattr(row, statistic)))
        yield f"published: {metric}, {kind}", *values
