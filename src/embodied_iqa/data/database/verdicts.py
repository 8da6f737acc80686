"""Verdicts of a gate on the pairs of a database, in a table beside the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from embodied_iqa.arm.verdict import Verdict
from embodied_iqa.base.tables import read_table, rows_of, schema_of, table_of, write_table
from embodied_iqa.data.database.store import DatabaseStore


@dataclass(frozen=True, slots=True)
class PairVerdict:
    """A row of the table.

    Attributes:
        pair_id: The pair.
        sha256: Of the pixels of its distorted image, as in `pairs.parquet`.
        verdict: pass, hold or reject, without the frames before it.
        reason: In words; empty for pass.
        gate: File and judge.
    """

    pair_id: str
    sha256: str
    verdict: str
    reason: str
    gate: str


VERDICTS: Final = schema_of(PairVerdict)
VERDICT_NAMES: Final = tuple(verdict.name.lower() for verdict in Verdict)
"""By severity."""
_IMAGE: Final = ["pair_id", "sha256"]


def stored_verdicts(store: DatabaseStore) -> Any | None:
    """Return the verdicts as an Arrow table; None where nothing was judged.

    Raises:
        InputError: The file is damaged or of another kind.
    """
    return read_table(store.verdicts_file, VERDICTS.names) if store.verdicts_file.is_file() else None


def merge_verdicts(stores: Sequence[DatabaseStore], out: DatabaseStore) -> None:
    """Keep the verdicts of several databases on the images of a merged one.

    A pair that several databases have judged keeps the verdict of the first. Where none has a verdict on an
    image of ``out``, nothing is written.

    Raises:
        InputError: A file is damaged.
    """
    tables = [table for table in map(stored_verdicts, stores) if table is not None]
    images = zip(*(out.pairs([name])[name].to_pylist() for name in _IMAGE), strict=True)
    missing, kept = set(images), []
    for row in (row for table in tables for row in rows_of(PairVerdict, table)):
        if (row.pair_id, row.sha256) in missing:
            missing.remove((row.pair_id, row.sha256))
            kept.append(row)
    if kept:
        write_table(out.verdicts_file, table_of(PairVerdict, kept), VERDICTS)


def outdated_verdicts(store: DatabaseStore) -> int:
    """Return the number of verdicts on images that the database does not have."""
    table = stored_verdicts(store)
    if table is None:
        return 0
    return int(table.join(store.pairs(_IMAGE), _IMAGE, join_type="left anti").num_rows)
