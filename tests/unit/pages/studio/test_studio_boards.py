"""Leaderboards: numbers, intervals, order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from database_folders import write_database, write_experiment
from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.files import write_json_whole
from embodied_iqa.base.records import unstructure
from embodied_iqa.data.analysis.loading import load_grid
from embodied_iqa.pages.studio.boards.board import Cell, grouped, mean_cells
from embodied_iqa.pages.studio.boards.board_page import metrics_board
from embodied_iqa.pages.studio.boards.database_board import database_board
from embodied_iqa.pages.studio.browse.filters import Filters
from embodied_iqa.pages.studio.browse.overview import Overview
from embodied_iqa.quality.metrics.benchmark.benchmark_results import ESTIMATOR, RESULTS, BenchmarkResults
from studio_client import client_of


def test_means_are_those_of_the_analysis(tmp_path: Path) -> None:
    store = write_database(tmp_path / "made", references=12)
    board = database_board(Overview(store), Filters())
    rows = {row.names[0]: row.cells for row in board.rows}
    for scores in load_grid(store).groups.values():
        for place, subject in enumerate(scores.subjects):
            column = scores.total[:, place]
            assert rows[subject]["score"].value == pytest.approx(np.nanmean(column))
            assert rows[subject]["pairs"].value == np.isfinite(column).sum()
            low, high = rows[subject]["score"].low, rows[subject]["score"].high
            assert low is not None
            assert high is not None
            assert low < np.nanmean(column) < high


def test_absent_numbers_come_last(tmp_path: Path) -> None:
    board = database_board(Overview(write_database(tmp_path / "made", references=2)), Filters())
    for down in (True, False):
        values = [row.cells["level1"].value for row in board.sorted("level1", down=down).rows]
        assert values == sorted(values, key=lambda value: -value if down else value)  # type: ignore[operator]
        assert board.sorted("refused", down=down).rows[-1].cells["refused"].value is None
    assert [row.names[0] for row in board.sorted("Subject", down=False).rows] == sorted(
        row.names[0] for row in board.rows
    )
    with pytest.raises(UsageError):
        board.sorted("nothing", down=True)


def test_groups_without_numbers_have_none() -> None:
    keys, groups = grouped([("b", "x"), ("a", "x"), ("b", "x")])
    assert keys == [("a", "x"), ("b", "x")]
    cells = mean_cells(np.array([1.0, np.nan, 3.0]), groups, 2, np.array(["1", "1", "2"]))
    assert cells[0] == Cell(None)
    assert cells[1].value == 2.0


@pytest.mark.parametrize(
    ("estimator", "words"), [(ESTIMATOR, "mean over the splits"), ("", "over all pairs")]
)
def test_a_benchmark_of_an_earlier_version_is_described_as_what_it_is(
    tmp_path: Path, estimator: str, words: str
) -> None:
    results = BenchmarkResults("1", "made", 4, 2, 1, (), (), (), (), (), (), (), estimator)
    write_json_whole(tmp_path / RESULTS, unstructure(results))
    assert words in metrics_board(tmp_path).note


def test_the_pages(tmp_path: Path) -> None:
    write_database(tmp_path / "made", references=2)
    folder = write_experiment(tmp_path / "trials", distortions=("12",))
    (folder / "experiment.json").write_text("{}")
    client, _ = client_of(tmp_path)
    assert "vla-2" in client.get("/db/made/leaderboard?level=1&sort=level1&down=0").text
    assert client.get("/db/made/leaderboard?sort=x").status_code == 400
    assert "Emergency stops" in client.get("/experiment/trials?sort=execution").text
    (folder / "runs.parquet").write_bytes(b"")
    assert client.get("/experiment/trials").status_code == 400
