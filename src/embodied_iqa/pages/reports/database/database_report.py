"""The report of a database: `report.html`, with every table as CSV beside it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from embodied_iqa.data.analysis.loading import load_attributes, load_grid, runs_of_table
from embodied_iqa.data.analysis.study import Study, study
from embodied_iqa.data.database.joined_runs import joined_execution
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.data.database.unanswered import unanswered, unseen_targets
from embodied_iqa.pages.reports.benchmark import benchmark_report, leaderboard
from embodied_iqa.pages.reports.database import (
    agreement,
    attributes,
    breakdowns,
    distributions,
    execution,
    extremes,
    header,
    jnd,
    losses,
)
from embodied_iqa.pages.reports.kit.chapters import ChapterPage, tables_folder, write_chapters
from embodied_iqa.pages.reports.kit.page import Chapter, Link
from embodied_iqa.quality.metrics.benchmark.beside import BenchmarksBeside, benchmarks_beside

REPORT: Final = "report.html"


def write_database_report(
    store: DatabaseStore, out: Path | None = None, *, all_views: bool = False, seed: int = 0
) -> Path:
    """Write the report of a database and its tables, each whole or not at all.

    Args:
        store: The database; its scores must be complete.
        out: The page; None for `report.html` in the database. The tables go to `<name>_tables` beside it.
        all_views: Also count what subjects said of images from a view that they are not made for.
        seed: Of intervals and random splits.

    Returns:
        The page's path.

    Raises:
        InputError: The database or a benchmark of it cannot be read, or the page cannot be written.
    """
    path = store.path / REPORT if out is None else out
    write_chapters(path, "database.html.j2", page_of(store, path, all_views=all_views, seed=seed))
    return path


def page_of(store: DatabaseStore, out: Path, *, all_views: bool = False, seed: int = 0) -> ChapterPage:
    """Return the page of a database, to be written to ``out``; see `write_database_report`."""
    grid = load_grid(store, all_views=all_views)
    runs = joined_execution(store)
    attributes_of_pairs = load_attributes(store, grid.pairs)
    found = study(grid, attributes_of_pairs, None if runs is None else runs_of_table(runs), seed=seed)
    page = build_page(found, store.path.resolve().name, store.record().tree(), tables_folder(out))
    beside = benchmarks_beside(store)
    idle = [row.subject for group in found.groups.values() for row in group.subjects if not row.count]
    silent = unanswered(store, idle)
    explained = {name for one in silent for name in one.subjects}
    return replace(
        page,
        remarks=(
            *header.remarks(found, explained),
            *map(str, silent),
            *unseen_targets(store, all_views=all_views).remarks,
            *_outdated_benchmarks(beside),
        ),
        chapters=(*page.chapters, extremes.chapter(found, store), *_benchmark_chapter(beside, out)),
    )


def build_page(study: Study, name: str, record: Mapping[str, Any], folder: str) -> ChapterPage:
    """Assemble the page.

    Args:
        study: The results.
        name: The database's.
        record: Its `dataset.json`.
        folder: Name of the folder of CSV files beside the page.
    """
    return ChapterPage(
        name=name,
        headline=header.headline(study),
        tiles=header.tiles(study),
        remarks=header.remarks(study),
        lead=header.lead(study),
        chapters=(
            distributions.chapter(study),
            agreement.chapter(study),
            jnd.chapter(study),
            breakdowns.chapter(study),
            losses.chapter(study),
            attributes.chapter(study),
            execution.chapter(study, name),
        ),
        record_text=json.dumps(record, indent=1, ensure_ascii=False, sort_keys=True),
        tables_folder=folder,
    )


def _benchmark_chapter(benchmarks: BenchmarksBeside, page: Path) -> Iterator[Chapter]:
    """Yield the leaderboard of the newest benchmark with links to the pages of all; nothing without one."""
    if not benchmarks.results:
        return
    reports = [folder / benchmark_report.REPORT for folder in benchmarks.results]
    links = tuple(_link(report, page) for report in reports if report.is_file())
    yield replace(leaderboard.chapter(next(iter(benchmarks.results.values()))), links=links)


def _outdated_benchmarks(benchmarks: BenchmarksBeside) -> Iterator[str]:
    for folder in benchmarks.outdated:
        yield f"The benchmark in {folder.name} was made with other pairs or scores: not shown."


def _link(report: Path, page: Path) -> Link:
    place = os.path.relpath(report, page.resolve().parent)
    return Link(f"Report of the benchmark {report.parent.name}", Path(place).as_posix())
