"""Runs of experiments that were joined to a database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from embodied_iqa.arm.verdict import GateMode
from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import sha256_of, write_whole
from embodied_iqa.base.jobs.folder import JobFolder
from embodied_iqa.base.tables import read_table
from embodied_iqa.data.database.run_rows import COLUMNS, GateEffects
from embodied_iqa.data.database.store import DatabaseStore

_RUNS: Final = "runs.parquet"
RUN_KEY: Final = (
    "subject", "subject_version", "task", "scene_seed",
    "distortion_id", "level", "distortion_seed", "gate_mode",
)  # fmt: skip
"""Columns that identify a run."""
_OF_GATES: Final = frozenset({"arm", *(field.name for field in fields(GateEffects))})
_WITHOUT_GATES: Final = tuple(name for name in COLUMNS if name not in _OF_GATES)
"""Columns of an experiment before it could compare gates."""
EXECUTION_COLUMNS: Final = tuple(name for name in _WITHOUT_GATES if name != "schedule")
"""Columns of the joined runs, whose levels must be constant."""
_REST: Final = tuple(name for name in EXECUTION_COLUMNS if name not in RUN_KEY)


def join_execution(store: DatabaseStore, experiments: Sequence[Path]) -> int:
    """Keep the runs of experiments in the database; they replace runs that were joined before.

    Args:
        store: The database.
        experiments: Folders that `embodied-iqa experiment` wrote.

    Returns:
        The number of runs, reference runs included.

    Raises:
        InputError: A folder has no results, other columns, runs with a schedule, or a run that another one
            has too; or a builder works in the database.
    """
    table = _concatenated([_runs(folder) for folder in experiments])
    duplicates = duplicate_runs(table)
    if duplicates:
        raise InputError("the same run is in the experiments twice", got=duplicates[0])
    with JobFolder(store.path, "join of experiments", resumes=False).locked():
        write_execution(store, table)
        record = store.record()
        digest = {store.execution_file.name: sha256_of(store.execution_file)}
        store.write_record(replace(record, sha256=record.sha256 | digest))
    return int(table.num_rows)


def write_execution(store: DatabaseStore, table: Any) -> None:
    """Write the runs of a database, whole or not at all."""
    write_whole(store.execution_file, lambda fresh: pq.write_table(table, fresh, compression="zstd"))


def joined_execution(store: DatabaseStore) -> Any | None:
    """Return the joined runs as an Arrow table; None where none were joined.

    Raises:
        InputError: The file is damaged.
    """
    return read_table(store.execution_file, EXECUTION_COLUMNS) if store.execution_file.is_file() else None


def merged_execution(stores: Sequence[DatabaseStore]) -> Any | None:
    """Return the runs of several databases, common ones once; None where there are none.

    Raises:
        InputError: A file is damaged, or two databases contradict each other about a run.
    """
    tables = [table for table in map(joined_execution, stores) if table is not None]
    if not tables:
        return None
    table = _concatenated(tables)
    # NaN equals itself only as text
    repeated = [repr(before) == repr(row) for before, row in pairwise(table.to_pylist())]
    table = table.filter(pa.array([True, *(not same for same in repeated)]))
    duplicates = duplicate_runs(table)
    if duplicates:
        raise InputError("the databases have different results of the same run", got=duplicates[0])
    return table


def duplicate_runs(table: Any) -> list[dict[str, Any]]:
    """Return the keys of the runs that a table has more than once."""
    counts = Counter(tuple(row.values()) for row in table.select(list(RUN_KEY)).to_pylist())
    return [dict(zip(RUN_KEY, key, strict=True)) for key, count in counts.items() if count > 1]


def _concatenated(tables: Sequence[Any]) -> Any:
    """Concatenate tables, sorted by run; equal runs are neighbours."""
    table = pa.concat_tables(tables, promote_options="permissive")
    return table.sort_by([(name, "ascending") for name in (*RUN_KEY, *_REST)])


def _runs(folder: Path) -> Any:
    file = folder / _RUNS
    if not file.is_file():
        raise InputError(f"{folder} has no {_RUNS}", expected="a folder of `embodied-iqa experiment`")
    table = _read_runs(file)
    schedules = sorted(filter(None, table["schedule"].unique().to_pylist()))
    if schedules:
        raise InputError(
            f"{folder} has runs whose level changes over time",
            expected="runs of constant levels, as the images of a database",
            got=schedules[0],
        )
    judged = table.filter(pc.equal(table["gate_mode"], str(GateMode.ON)))["arm"].unique().to_pylist()
    if len(judged) > 1:
        raise InputError(f"{folder} compares gates", expected="one gate", got=", ".join(sorted(judged)))
    return table.select(list(EXECUTION_COLUMNS))


def _read_runs(file: Path) -> Any:
    """Read runs; those of earlier versions get empty columns for what these did not have."""
    for names in (EXECUTION_COLUMNS, _WITHOUT_GATES):
        with suppress(InputError):
            table = read_table(file, names)
            for name in ("schedule", "arm"):
                if name not in names:
                    table = table.append_column(name, pa.array([""] * table.num_rows))
            return table
    return read_table(file, COLUMNS)
