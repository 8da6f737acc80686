"""The leaderboard of the metrics of a benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from embodied_iqa.base.records import read_json
from embodied_iqa.pages.studio.boards.board import Board, BoardColumn, BoardRow, Cell
from embodied_iqa.quality.metrics.benchmark.results import RESULTS, BenchmarkResults

_NOTE: Final = (
    "SRCC between metric and score over all pairs that every metric has a value for; 95 % intervals from "
    "drawing references with replacement. Time for a picture on the machine of the benchmark."
)
_COLUMNS: Final = {
    "srcc": BoardColumn("SRCC", 3, (0.0, 1.0)),
    "ms": BoardColumn("Time, ms", 2),
    "pairs": BoardColumn("Pairs", 0),
}


def metrics_board(folder: Path) -> Board:
    """Return the leaderboard of a benchmark.

    Raises:
        InputError: `benchmark.json` is missing or damaged.
    """
    results = read_json(BenchmarkResults, folder / RESULTS, "the benchmark")
    known = {metric.name: metric for metric in results.metrics}
    rows = []
    for rank in results.ranks:
        metric = known.get(rank.metric)
        cells = {"srcc": Cell(rank.srcc, rank.low, rank.high), "pairs": Cell(float(rank.pairs))}
        cells["ms"] = Cell(metric.milliseconds if metric else None)
        rows.append(BoardRow((rank.metric, str(rank.target), str(metric.needs) if metric else ""), cells))
    return Board("Metrics", ("Metric", "Target", "Needs"), _COLUMNS, tuple(rows), _NOTE, "srcc")
