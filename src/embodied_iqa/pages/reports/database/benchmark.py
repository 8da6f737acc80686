"""Chapter: the leaderboard of a benchmark of the database, with a link to its page."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from embodied_iqa.pages.reports.benchmark import leaderboard
from embodied_iqa.pages.reports.benchmark.benchmark_report import REPORT
from embodied_iqa.pages.reports.kit.page import Chapter, Link
from embodied_iqa.quality.metrics.benchmark.beside import BenchmarksBeside


def chapters(benchmarks: BenchmarksBeside, page: Path) -> Iterator[Chapter]:
    """Yield the chapter, with the newest benchmark; none without a benchmark.

    Args:
        benchmarks: The benchmarks of the database.
        page: The page of the database, from which links lead to those of the benchmarks.
    """
    if not benchmarks.results:
        return
    links = tuple(_link(folder, page) for folder in benchmarks.results if (folder / REPORT).is_file())
    yield replace(leaderboard.chapter(next(iter(benchmarks.results.values()))), links=links)


def remarks(benchmarks: BenchmarksBeside) -> Iterator[str]:
    """Say which benchmarks are not shown."""
    for folder in benchmarks.outdated:
        yield f"The benchmark in {folder.name} was made with other pairs or scores: not shown."


def _link(folder: Path, page: Path) -> Link:
    place = os.path.relpath(folder / REPORT, page.resolve().parent)
    return Link(f"Report of the benchmark {folder.name}", Path(place).as_posix())
