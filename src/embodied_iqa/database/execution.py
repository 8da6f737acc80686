"""Runs of an experiment, kept beside the scores of a database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from embodied_iqa.database.lock import locked
from embodied_iqa.database.store import DatabaseStore
from embodied_iqa.errors import InputError
from embodied_iqa.experiment.rows import COLUMNS
from embodied_iqa.files import sha256_of, write_whole

__all__ = [
    "RUN_KEY",
    "join_execution",
    "joined_execution",
    "keep_execution",
    "merged_execution",
    "runs_twice",
]

_RUNS: Final = "runs.parquet"
RUN_KEY: Final = (
    "subject", "subject_version", "task", "scene_seed",
    "distortion_id", "level", "distortion_seed", "gate_mode",
)  # fmt: skip
"""Two runs that agree in all of these are the same run."""


def join_execution(store: DatabaseStore, experiments: Sequence[Path]) -> int:
    """Keep the runs of experiments in the database, in place of those that it had.

    Args:
        store: The database.
        experiments: Folders that `embodied-iqa experiment` wrote.

    Returns:
        How many runs, reference runs included.

    Raises:
        InputError: A folder has no results, other columns, or a run that another one has too; or a builder
            works in the database.
    """
    table = _together([_runs(folder) for folder in experiments])
    twice = runs_twice(table)
    if twice:
        raise InputError("the same run is in the experiments twice", got=twice[0])
    with locked(store.path):
        keep_execution(store, table)
        record = store.record()
        record["sha256"] = record.get("sha256", {}) | {
            store.execution_file.name: sha256_of(store.execution_file)
        }
        store.write_record(record)
    return int(table.num_rows)


def keep_execution(store: DatabaseStore, table: Any) -> None:
    """Write the runs of a database, whole or not at all."""
    write_whole(store.execution_file, lambda fresh: pq.write_table(table, fresh, compression="zstd"))


def joined_execution(store: DatabaseStore) -> Any | None:
    """Return the joined runs as an Arrow table; None where none were joined.

    Raises:
        InputError: The file is damaged.
    """
    return _read(store.execution_file) if store.execution_file.is_file() else None


def merged_execution(stores: Sequence[DatabaseStore]) -> Any | None:
    """Return the runs of several databases, those that both have once; None where there are none.

    Raises:
        InputError: A file is damaged, or two databases tell the same run differently.
    """
    tables = [table for table in map(joined_execution, stores) if table is not None]
    if not tables:
        return None
    table = _together(tables)
    rows = table.to_pylist()
    # a number that does not exist is equal to itself in its text only
    again = [repr(before) == repr(row) for before, row in pairwise(rows)]
    table = table.filter(pa.array([True, *(not same for same in again)]))
    twice = runs_twice(table)
    if twice:
        raise InputError("the databases tell the same run differently", got=twice[0])
    return table


def runs_twice(table: Any) -> list[dict[str, Any]]:
    """Return the keys of the runs that a table has more than once."""
    counts = Counter(tuple(row.values()) for row in table.select(list(RUN_KEY)).to_pylist())
    return [dict(zip(RUN_KEY, key, strict=True)) for key, count in counts.items() if count > 1]


def _together(tables: Sequence[Any]) -> Any:
    """Join tables in the order of their runs; equal runs stand side by side."""
    table = pa.concat_tables(tables, promote_options="permissive")
    return table.sort_by([(name, "ascending") for name in (*RUN_KEY, *_REST)])


_REST: Final = tuple(name for name in COLUMNS if name not in RUN_KEY)


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
