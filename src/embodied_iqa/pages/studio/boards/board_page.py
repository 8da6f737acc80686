"""The pages of the leaderboards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.records import read_json
from embodied_iqa.pages.studio.boards.board import Board, BoardColumn, BoardRow, Cell
from embodied_iqa.pages.studio.boards.database_board import database_board
from embodied_iqa.pages.studio.boards.experiment_board import experiment_board
from embodied_iqa.pages.studio.browse.filters import LEVELS, filters_from
from embodied_iqa.pages.studio.browse.overview import overviews
from embodied_iqa.pages.studio.kit.context import Studio
from embodied_iqa.pages.studio.kit.sources import SourceKind
from embodied_iqa.quality.metrics.benchmark.benchmark_results import ESTIMATOR, RESULTS, BenchmarkResults

_ORDER = ("sort", "down")


_MEAN: Final = "SRCC between metric and score on held-out references, mean over the splits"
_POOLED: Final = "SRCC between metric and score over all pairs that every metric has a value for"
"""Of a benchmark of an earlier version."""
_NOTE: Final = (
    "95 % intervals from drawing references with replacement. Time for an image on the machine of the "
    "benchmark."
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
    note = f"{_MEAN if results.estimator == ESTIMATOR else _POOLED}; {_NOTE}"
    return Board("Metrics", ("Metric", "Target", "Needs"), _COLUMNS, tuple(rows), note, "srcc")


def routes(studio: Studio) -> list[Route]:
    """Return the routes of the pages."""

    def database(request: Request) -> Response:
        source = studio.source(SourceKind.DATABASE, request)
        overview = overviews(studio).of(source)
        parameters = {name: value for name, value in request.query_params.items() if name not in _ORDER}
        filters = filters_from(parameters, overview.choices)
        board = _ordered(request, database_board(overview, filters))
        return studio.page(
            request,
            "studio_board.html.j2",
            source=source,
            board=board,
            filters=filters,
            overview=overview,
            levels=LEVELS,
        )

    def of_folder(kind: SourceKind, make: Callable[[Path], Board]) -> Callable[[Request], Response]:
        def page(request: Request) -> Response:
            source = studio.source(kind, request)
            board = _ordered(request, make(source.path))
            return studio.page(request, "studio_board.html.j2", source=source, board=board, filters=None)

        return page

    return [
        Route("/db/{name}/leaderboard", database),
        Route("/experiment/{name}", of_folder(SourceKind.EXPERIMENT, experiment_board)),
        Route("/benchmark/{name}", of_folder(SourceKind.BENCHMARK, metrics_board)),
    ]


def _ordered(request: Request, board: Board) -> Board:
    """Return the board in the order of the address."""
    sort, down = (request.query_params.get(name, "") for name in _ORDER)
    if down not in {"", "0", "1"}:
        raise UsageError("down is wrong", expected="0 or 1", got=down[:20])
    return board.sorted(sort or board.sort, down=down != "0")
