"""Chapter: the metrics on all pairs, best first."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from embodied_iqa.pages.reports.benchmark.lines import SRCC_RANGE, splits_in_words, targets_of, whole_scores
from embodied_iqa.pages.reports.kit.figure import Dot, FigureRow, Lane, LaneFigure, Tick
from embodied_iqa.pages.reports.kit.formatting import interval_words, number, plural
from embodied_iqa.pages.reports.kit.page import Chapter, Part
from embodied_iqa.pages.reports.kit.table import Cell, Column, Table
from embodied_iqa.quality.metrics.benchmark.benchmark_plan import Target
from embodied_iqa.quality.metrics.benchmark.benchmark_results import (
    BenchmarkResults,
    MetricRow,
    RankRow,
    ScoreRow,
)
from embodied_iqa.quality.metrics.metric import Needs

_TICK: Final = 0.5
"""Between the ticks of an axis of SRCC."""


def chapter(results: BenchmarkResults) -> Chapter:
    """Return the chapter."""
    figure = Part("SRCC with its interval", (), _figure(results))
    splits = plural(results.repeats, "split")
    partial = any(splits_in_words(results, target) != splits for target in targets_of(results))
    counted = ", or those of them that a table names" if partial else ""
    lead = (
        f"Mean and spread over {splits} of the references, 8:2{counted}. A metric named train:NAME is "
        "trained anew for each split; trained:DIR is tested as it is, also on what it was trained on. Dot: "
        "the same mean SRCC; line: its 95 % interval from drawing whole references again."
    )
    return Chapter(
        "leaderboard",
        "Which metric predicts the scores?",
        lead,
        "SRCC on position, rotation and state: TOPIQ-FR .775, .643 and .668 with the reference, TOPIQ-NR "
        ".750, .598 and .704 without, PSNR .276, .259 and .228.",
        (figure, *(_part(results, target) for target in targets_of(results))),
    )


def _figure(results: BenchmarkResults) -> LaneFigure:
    targets = whole_scores(results)
    ranks = {(rank.metric, rank.target): rank for rank in results.ranks}
    ordered = [rank.metric for rank in results.ranks if rank.target == targets[0]]
    kinds = {row.name: kind_of(row) for row in results.metrics}
    lowest = min([0.0, *(rank.low for rank in ranks.values() if rank.low is not None)])
    start = _TICK * math.floor(lowest / _TICK)
    rows = tuple(
        FigureRow(name, kinds[name], tuple(_lane(target, ranks[name, target], start) for target in targets))
        for name in ordered
    )
    places = [start + _TICK * step for step in range(round((1.0 - start) / _TICK) + 1)]
    ticks = tuple(Tick(_percent(place, start), number(place, 1)) for place in places)
    return LaneFigure(tuple(str(target).capitalize() for target in targets), ticks, rows)


def _percent(srcc: float, start: float) -> float:
    """Return the place of an SRCC on an axis from ``start`` to 1."""
    return round(100.0 * (srcc - start) / (1.0 - start), 2)


def _lane(target: Target, rank: RankRow, start: float) -> Lane:
    title = "cognition" if target is Target.COGNITION else "decision"
    if rank.srcc is None:
        return Lane(title, f"{target}: undefined", "undefined")
    text = f"{target}: SRCC {rank.srcc:.3f}, {interval_words(rank.low, rank.high, rank.references)}"
    ends = (rank.srcc if end is None else end for end in (rank.low, rank.high))
    dot = Dot(*(_percent(value, start) for value in (rank.srcc, *ends)))
    return Lane(title, text, number(rank.srcc, 3), dot=dot)


def _part(results: BenchmarkResults, target: Target) -> Part:
    """Return the leaderboard of one score."""
    info = {row.name: row for row in results.metrics}
    rows = results.overall()[target]
    table = Table.of(
        f"{target}: all pairs",
        rows,
        {
            Column("Metric"): lambda row: row.metric,
            Column("SRCC", 3, SRCC_RANGE): lambda row: row.mean["srcc"],
            Column("Spread", 3): lambda row: row.spread["srcc"],
            Column("Noise ceiling", 3): lambda row: row.ceiling,
            Column("Of ceiling", 3, SRCC_RANGE): lambda row: row.share,
            Column("KRCC", 3): lambda row: row.mean["krcc"],
            Column("PLCC raw", 3): lambda row: row.mean["plcc_raw"],
            Column("PLCC", 3): lambda row: row.mean["plcc"],
            Column("RMSE", 3): lambda row: row.mean["rmse"],
            Column("AUC", 3): lambda row: row.mean["auc"],
            Column("ms", 1): lambda row: info[row.metric].milliseconds,
            Column("Kind"): lambda row: kind_of(info[row.metric]),
            **{
                Column(f"{name} spread", name=f"{name}_spread", shown=False): _spread(name)
                for name in ("krcc", "plcc_raw", "plcc", "rmse", "auc")
            },
            Column("Splits", shown=False): lambda row: row.splits,
        },
        _note(results, target),
        name=f"leaderboard_{target}",
        folded=target not in whole_scores(results),
    )
    return Part(str(target).capitalize(), (table,))


def _note(results: BenchmarkResults, target: Target) -> str:
    """Return what the numbers of a leaderboard mean; splits are named where some have no part in them."""
    words = splits_in_words(results, target)
    return _NOTE if words == plural(results.repeats, "split") else f"Means of {words}. {_NOTE}"


def _spread(name: str) -> Callable[[ScoreRow], Cell]:
    return lambda row: row.spread[name]


def kind_of(row: MetricRow) -> str:
    """Return what a metric needs, what it was trained on, and that it has seen the references."""
    kind = "full reference" if row.needs is Needs.REFERENCE else "no reference"
    trained = f", trained on {row.trained_on}" if row.trained_on else ""
    return f"{kind}{trained}{', has seen most of these references' if row.trained_on_split else ''}"


_NOTE = (
    "PLCC and RMSE after the five-parameter logistic, fitted on each split's test pairs; AUC: a score below "
    "4.5 of 5 against the others. Noise ceiling: SRCC of a predictor without noise, from split halves of the "
    "subjects. Columns of spread of the other statistics are in the CSV file."
)
