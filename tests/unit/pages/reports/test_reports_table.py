"""Tables: the same cells as HTML text, Markdown and CSV."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from embodied_iqa.pages.reports.kit.scatter_plot import Point, ScatterPlot, place_points
from embodied_iqa.pages.reports.kit.table import Cell, Column, Table, cell_text, heat_class

COLUMNS = (
    Column("Name"),
    Column("Mean score", 1, heat=(0.0, 5.0)),
    Column("Low", name="low_end", shown=False),
)
TABLE = Table("scores", "Scores", COLUMNS, (("a|b", -1.25, 1 / 3), ("c", None, float("nan"))))


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (None, "—"),
        (float("nan"), "—"),
        (float("inf"), "infinite"),
        (-1.26, "\N{MINUS SIGN}1.3"),
        (12000, "12,000"),
        ("x\0", "x�"),
    ],
)
def test_cells_as_text(cell: Cell, text: str) -> None:
    assert cell_text(cell, COLUMNS[1]) == text


def test_markdown_has_the_shown_columns_and_escapes_bars() -> None:
    assert TABLE.markdown().splitlines() == [
        "| Name | Mean score |",
        "|---|---|",
        "| a\\|b | \N{MINUS SIGN}1.2 |",
        "| c | — |",
    ]


def test_csv_has_every_column_with_all_digits(tmp_path: Path) -> None:
    TABLE.write_csv(tmp_path)
    with (tmp_path / "scores.csv").open(encoding="utf-8", newline="") as stream:
        assert list(csv.reader(stream)) == [
            ["name", "mean_score", "low_end"],
            ["a|b", "-1.25", repr(1 / 3)],
            ["c", "", ""],
        ]


@pytest.mark.parametrize(
    ("cell", "name"), [(-1.0, "h0"), (2.5, "h5"), (9.0, "h10"), (None, ""), ("a", ""), (float("nan"), "")]
)
def test_colour_follows_the_value(cell: Cell, name: str) -> None:
    assert heat_class(cell, COLUMNS[1]) == name
    assert heat_class(cell, COLUMNS[0]) == ""


def test_rows_come_from_a_function_for_each_column() -> None:
    table = Table.of("Squares", range(3), {Column("n"): lambda n: n, Column("square"): lambda n: n * n})
    assert list(table.rows) == [(0, 0), (1, 1), (2, 4)]


def test_scatter_points_are_in_percent_and_crowded_labels_are_dropped() -> None:
    values = ((1.0, 10.0), (1.01, 10.1), (2.0, 20.0), (float("nan"), 3.0))
    points = tuple(Point(x, y, str(place), "") for place, (x, y) in enumerate(values))
    plot = place_points(ScatterPlot("title", "kind", "x", "y", points), 0.5, 10.0)
    assert plot is not None
    assert [(point.x, point.y, point.label) for point in plot.points] == [
        (0.0, 0.0, "0"),
        (1.0, 1.0, ""),
        (100.0, 100.0, "2"),
    ]
    assert [tick.text for tick in plot.x_ticks] == ["1.0", "1.5", "2.0"]
    assert [tick.text for tick in plot.y_ticks] == ["10", "20"]
    assert place_points(ScatterPlot("title", "kind", "x", "y", points[3:]), 0.5, 10.0) is None
