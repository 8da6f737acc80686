"""Runs of an experiment, kept beside the scores of a database."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from embodied_iqa.database.store import DatabaseStore
from embodied_iqa.errors import InputError
from embodied_iqa.files import write_whole
from embodied_iqa.trial.experiment_rows import COLUMNS

__all__ = ["EXECUTION_FILE", "join_execution", "joined_execution"]

EXECUTION_FILE: Final = "execution.parquet"
_RUNS: Final = "runs.parquet"
_KEY: Final = (
    "subject", "subject_version", "task", "scene_seed",
    "distortion_id", "level", "distortion_seed", "gate_mode",
)  # fmt: skip


def join_execution(store: DatabaseStore, experiments: Sequence[Path]) -> int:
    """Keep the runs of experiments in the database, in place of those that it had.

    Args:
        store: The database.
        experiments: Folders that `embodied-iqa experiment` wrote.

    Returns:
        How many runs, reference runs included.

    Raises:
        InputError: A folder has no results, other columns, or a run that another one has too.
    """
    table = pa.concat_tables([_runs(folder) for folder in experiments]).sort_by(
        [(name, "ascending") for name in _KEY]
    )
    keys = table.select(list(_KEY)).to_pylist()
    twice = next((a for a, b in pairwise(keys) if a == b), None)
    if twice is not None:
        raise InputError("the same run is in the experiments twice", got=twice)
    write_whole(store.path / EXECUTION_FILE, lambda fresh: pq.write_table(table, fresh, compression="zstd"))
    return int(table.num_rows)


def joined_execution(store: DatabaseStore) -> Any | None:
    """Return the joined runs as an Arrow table; None where none were joined.

    Raises:
        InputError: The file is damaged.
    """
    file = store.path / EXECUTION_FILE
    return _read(file) if file.is_file() else None


def _runs(folder: Path) -> Any:
    file = folder / _RUNS
    if not file.is_file():
        raise InputError(f"{folder} has no {_RUNS}", expected="a folder of `embodied-iqa experiment`")
    return _read(file)


def _read(file: Path) -> Any:
    try:
        table = pq.read_table(file, partitioning=None)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{file} cannot be read: {error}") from None
    if tuple(table.schema.names) != COLUMNS:
        raise InputError(f"{file} has other columns", expected=", ".join(COLUMNS), got=table.schema.names)
    return table
