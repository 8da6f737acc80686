"""Chapter: which differences between metrics are certain."""

from __future__ import annotations

from embodied_iqa.data.analysis.resampling import FEWEST_REFERENCES
from embodied_iqa.pages.reports.benchmark.lines import targets_of, whole_scores
from embodied_iqa.pages.reports.kit.formatting import certain_word
from embodied_iqa.pages.reports.kit.page import Chapter, Part
from embodied_iqa.pages.reports.kit.table import Column, Table
from embodied_iqa.quality.metrics.benchmark.benchmark_plan import Target
from embodied_iqa.quality.metrics.benchmark.benchmark_results import BenchmarkResults


def chapter(results: BenchmarkResults) -> Chapter:
    """Return the chapter."""
    whole = whole_scores(results)
    return Chapter(
        "differences",
        "Which differences are certain?",
        "Difference of the mean SRCC over the splits. Paired bootstrap: the references are drawn again with "
        "replacement, the same draw for both metrics and all splits. "
        f"A difference is certain if its 95 % interval excludes 0. Fewer than {FEWEST_REFERENCES} references "
        "that a split holds out, all splits together, have no interval.",
        "",
        tuple(_part(results, target, folded=target != whole[0]) for target in targets_of(results)),
    )


def _part(results: BenchmarkResults, target: Target, *, folded: bool) -> Part:
    rows = [row for row in results.differences if row.target is target]
    table = Table.of(
        f"{target}: differences in SRCC",
        rows,
        {
            Column("Metric", name="first"): lambda row: row.first,
            Column("Better than", name="second"): lambda row: row.second,
            Column("By", 3, name="difference"): lambda row: row.value,
            Column("Low", 3): lambda row: row.low,
            Column("High", 3): lambda row: row.high,
            Column("Certain"): lambda row: certain_word(row.low, certain=row.certain),
        },
        name=f"differences_{target}",
        folded=folded,
    )
    return Part(str(target).capitalize(), (table,))
