"""The leaderboard of the subjects and gates of an experiment."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, first_line
from embodied_iqa.models.scoring.execution_score import Outcome
from embodied_iqa.pages.studio.boards.board import Board, BoardColumn, BoardRow, Cell, grouped, mean_cells

_RUNS: Final = "runs.parquet"
_READ: Final = (
    "subject", "arm", "task", "scene_seed", "distortion_id", "outcome", "held_s", "wrong_motions",
    "execution_score",
)  # fmt: skip
_NOTE: Final = (
    "Distorted runs of the experiment; clean success of its undistorted runs. 95 % intervals from drawing "
    "scenes with replacement. These are all runs: the experiment's report compares gates on matched runs."
)
_SHARE: Final = (0.0, 1.0)
_COLUMNS: Final = {
    "success": BoardColumn("Success", 3, _SHARE),
    "execution": BoardColumn("Execution", 1, (0.0, 100.0)),
    "wrong": BoardColumn("Wrong motions a run", 3),
    "stops": BoardColumn("Emergency stops a run", 3),
    "held": BoardColumn("Held, s a run", 2),
    "clean": BoardColumn("Clean success", 3, _SHARE),
    "runs": BoardColumn("Runs", 0),
}


def experiment_board(folder: Path) -> Board:
    """Return the leaderboard of an experiment.

    Raises:
        InputError: Its runs are missing or damaged.
    """
    file = folder / _RUNS
    try:
        rows = pq.read_table(file, columns=list(_READ), partitioning=None).to_pylist()
    except (OSError, pa.ArrowException, KeyError) as error:
        raise InputError(f"{file} cannot be read: {first_line(error)}") from None
    keys, groups = grouped([(row["subject"], row["arm"]) for row in rows])
    units: NDArray[np.str_] = np.array([f"{row['task']} {row['scene_seed']}" for row in rows], np.str_)
    distorted = np.array([bool(row["distortion_id"]) for row in rows], bool)
    success = _outcomes(rows, Outcome.SUCCESS)
    values = {
        "success": np.where(distorted, success, np.nan),
        "execution": np.where(distorted, _numbers(rows, "execution_score"), np.nan),
        "wrong": np.where(distorted, _numbers(rows, "wrong_motions"), np.nan),
        "stops": np.where(distorted, _outcomes(rows, Outcome.EMERGENCY_STOP), np.nan),
        "held": np.where(distorted, _numbers(rows, "held_s"), np.nan),
        "clean": np.where(distorted, np.nan, success),
    }
    cells = {key: mean_cells(column, groups, len(keys), units) for key, column in values.items()}
    cells["runs"] = [Cell(float(count)) for count in np.bincount(groups, minlength=len(keys))]
    found = (
        BoardRow(key, {name: column[place] for name, column in cells.items()})
        for place, key in enumerate(keys)
    )
    return Board("Subjects and gates", ("Subject", "Gate"), _COLUMNS, tuple(found), _NOTE, "success")


def _outcomes(rows: list[dict[str, Any]], outcome: Outcome) -> NDArray[np.float64]:
    return np.array([row["outcome"] == outcome for row in rows], np.float64)


def _numbers(rows: list[dict[str, Any]], name: str) -> NDArray[np.float64]:
    return np.array([row[name] for row in rows], np.float64)
