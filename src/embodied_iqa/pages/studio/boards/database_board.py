"""The leaderboard of the subjects of a database."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.pages.studio.boards.board import Board, BoardColumn, BoardRow, Cell, mean_cells
from embodied_iqa.pages.studio.browse.filters import LEVELS, Filters
from embodied_iqa.pages.studio.browse.overview import Overview
from embodied_iqa.pages.studio.browse.selection import Selection

_HIGHEST: Final = 5 * (1 - 1e-9)
_FULL: Final = (0.0, 5.0)
_NOTE: Final = (
    "Mean over pairs of five times the mean over the tasks, 0 to 5, of views that the subject is made for; "
    "higher: less changed by the distortion. 95 % intervals from drawing references with replacement. "
    "Unmoved: share of pairs in which the distortion changed nothing. VLMs and VLAs have different scales."
)
_TOTALS: Final = """
    SELECT subject, role, reference_id, level, totals.score, totals.refused
    FROM totals JOIN (SELECT pair_id, reference_id, level {rows}) USING (pair_id)
"""
_COLUMNS: Final = {
    "score": BoardColumn("Score", 3, _FULL),
    **{f"level{level}": BoardColumn(f"Level {level}", 2, _FULL) for level in LEVELS},
    "unmoved": BoardColumn("Unmoved", 3, (0.0, 1.0)),
    "refused": BoardColumn("Refused", 3, (0.0, 1.0)),
    "pairs": BoardColumn("Pairs", 0),
}


def database_board(overview: Overview, filters: Filters) -> Board:
    """Return the leaderboard over the pairs that filters select."""
    selection = Selection.of(filters, overview.choices)
    table = overview.table(_TOTALS.format(rows=selection.rows), selection.values)
    subjects = sorted(set(table["subject"].to_pylist()))
    roles = dict(zip(table["subject"].to_pylist(), table["role"].to_pylist(), strict=True))
    cells = _cells(table, subjects)
    rows = (
        BoardRow((subject, roles[subject].upper()), {key: column[place] for key, column in cells.items()})
        for place, subject in enumerate(subjects)
    )
    return Board("Subjects", ("Subject", "Role"), _COLUMNS, tuple(rows), _NOTE, "score")


def _cells(table: Any, subjects: list[str]) -> dict[str, list[Cell]]:
    """Return a column of cells by key, in the order of the subjects."""
    place = {subject: number for number, subject in enumerate(subjects)}
    groups = np.array([place[subject] for subject in table["subject"].to_pylist()], np.int64)
    units: NDArray[np.str_] = np.array(table["reference_id"].to_pylist(), np.str_)
    levels = np.array(table["level"].to_pylist(), np.int64)
    scores = _numbers(table, "score")
    unmoved = np.where(np.isfinite(scores), scores >= _HIGHEST, np.nan)
    columns = {"score": scores, "unmoved": unmoved, "refused": _numbers(table, "refused")}
    columns |= {f"level{level}": np.where(levels == int(level), scores, np.nan) for level in LEVELS}
    found = {key: mean_cells(values, groups, len(subjects), units) for key, values in columns.items()}
    counts = np.bincount(groups[np.isfinite(scores)], minlength=len(subjects))
    return found | {"pairs": [Cell(float(count)) for count in counts]}


def _numbers(table: Any, name: str) -> NDArray[np.float64]:
    values: NDArray[np.float64] = np.array(table[name].to_pylist(), np.float64)
    return values
