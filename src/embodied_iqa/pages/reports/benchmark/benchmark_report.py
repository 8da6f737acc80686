"""The report of a benchmark: `report.html`, with every table as CSV beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from embodied_iqa.base.records import read_json
from embodied_iqa.pages.reports.benchmark import (
    breakdowns,
    comparison,
    cost,
    generalization,
    leaderboard,
    paper_tables,
)
from embodied_iqa.pages.reports.benchmark.lines import whole_scores
from embodied_iqa.pages.reports.kit.chapters import ChapterPage, tables_folder
from embodied_iqa.pages.reports.kit.formatting import interval_words, number, plural, share
from embodied_iqa.pages.reports.kit.page import Tile
from embodied_iqa.quality.metrics.benchmark.benchmark_plan import PLAN_FILE
from embodied_iqa.quality.metrics.benchmark.benchmark_results import ESTIMATOR, RESULTS, BenchmarkResults

REPORT: Final = "report.html"


def page_of(folder: Path, out: Path) -> ChapterPage:
    """Return the page of a folder of `embodied-iqa benchmark`, to be written to ``out``.

    Raises:
        InputError: A file is missing or damaged.
    """
    results = read_json(BenchmarkResults, folder / RESULTS, "the benchmark")
    return build_page(results, (folder / PLAN_FILE).read_text(encoding="utf-8"), tables_folder(out))


def build_page(results: BenchmarkResults, record: str, folder: str) -> ChapterPage:
    """Assemble the page.

    Args:
        results: The results.
        record: Text of the plan.
        folder: Name of the folder of CSV files beside the page.
    """
    return ChapterPage(
        name=results.database,
        headline=_headline(results),
        tiles=tuple(_tiles(results)),
        remarks=tuple(_remarks(results)),
        lead=f"{plural(len(results.metrics), 'metric')} on {results.pairs:,} pairs of "
        f"{plural(results.references, 'reference')}{_origin(results)}. "
        "The paper: 15 metrics on 36,900 pairs.",
        chapters=(
            leaderboard.chapter(results),
            paper_tables.chapter(results),
            comparison.chapter(results),
            breakdowns.chapter(results),
            generalization.unseen_chapter(results),
            generalization.cross_chapter(results),
            cost.chapter(results),
        ),
        record_text=record,
        tables_folder=folder,
    )


def _headline(results: BenchmarkResults) -> str:
    target = whole_scores(results)[0]
    ranks = [rank for rank in results.ranks if rank.target is target and rank.srcc is not None]
    if not ranks:
        return f"No metric has a defined correlation with {target}."
    best = next((rank for rank in ranks if results.comparable(rank.metric)), None)
    if best is None:
        return f"No metric is comparable on {target}: each has seen these references in its training."
    ends = interval_words(best.low, best.high, best.references)
    if best.low is None:
        srcc = number(best.srcc)
        return f"{best.metric} has the highest SRCC on {target}, not shown to be best: {srcc} ({ends})."
    return f"{best.metric} predicts {target} best: SRCC {number(best.srcc)} ({ends})."


def _origin(results: BenchmarkResults) -> str:
    """Return what is added to the count of references: that all are of simulation."""
    origins = {row.value for row in results.scores if row.by == "origin"}
    return " of simulation" if origins == {"simulation"} else ""


def _tiles(results: BenchmarkResults) -> Iterator[Tile]:
    for target in whole_scores(results):
        rows = (row for row in results.overall()[target] if results.comparable(row.metric))
        best = next((row for row in rows if share(row.mean["srcc"], 1) is not None), None)
        if best is None:
            continue
        srcc = best.mean["srcc"]
        of_ceiling = "" if best.share is None else f"; {number(best.share)} of the noise ceiling"
        yield Tile(f"Best SRCC, {target}", number(srcc), f"{best.metric}{of_ceiling}", share(srcc, 1))


def _remarks(results: BenchmarkResults) -> Iterator[str]:
    yield from results.remarks
    if results.estimator != ESTIMATOR:
        yield (
            "Written by an earlier version: headline, figure and differences pool the values of differently "
            "trained metrics, and disagree with the tables. Run the benchmark again with the same command: "
            "stored values are used."
        )
    for row in results.metrics:
        for reason, count in row.failures.items():
            yield f"{row.name}: {plural(count, 'image')} without a value, left out: {reason}"
