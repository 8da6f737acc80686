"""Chapter: what a metric costs."""

from __future__ import annotations

import math

from embodied_iqa.pages.reports.benchmark.leaderboard import kind_of
from embodied_iqa.pages.reports.benchmark.lines import whole_scores
from embodied_iqa.pages.reports.kit.page import Chapter, Part
from embodied_iqa.pages.reports.kit.scatter_plot import Point, ScatterPlot, place_points
from embodied_iqa.pages.reports.kit.table import Column, Table
from embodied_iqa.quality.metrics.benchmark.benchmark_results import BenchmarkResults

_TICK_DECADES = 1.0
_TICK_SRCC = 0.2


def chapter(results: BenchmarkResults) -> Chapter:
    """Return the chapter."""
    table = Table.of(
        "Cost",
        results.metrics,
        {
            Column("Metric"): lambda row: row.name,
            Column("Kind"): kind_of,
            Column("ms an image", 1, name="milliseconds"): lambda row: row.milliseconds,
            Column("MB of weights", 1, name="megabytes"): lambda row: row.megabytes,
            Column("Without a value", name="failures"): lambda row: sum(row.failures.values()),
            Column("Source"): lambda row: row.source,
        },
        "Median wall time of an image of the database on one worker, reading and distorting excluded; on a "
        "machine with other work it is longer.",
        name="cost",
    )
    plot = _plot(results)
    scatters = () if plot is None else (plot,)
    part = Part("", (table,), scatters=scatters)
    return Chapter("cost", "What a metric costs", "Time and size against what they buy.", "", (part,))


def _plot(results: BenchmarkResults) -> ScatterPlot | None:
    target = whole_scores(results)[0]
    srcc = {row.metric: row.mean["srcc"] for row in results.overall()[target]}
    points = []
    for row in results.metrics:
        value = srcc[row.name]
        if row.milliseconds and value is not None:
            text = f"{row.name}: {row.milliseconds:.2f} ms, SRCC {value:.3f}"
            points.append(Point(math.log10(row.milliseconds), value, row.name, text))
    plot = ScatterPlot(
        f"SRCC on {target} against time", "decision",
        "log10 of ms an image", "SRCC", tuple(points),
    )  # fmt: skip
    return place_points(plot, _TICK_DECADES, _TICK_SRCC)
