"""SQL queries over the tables of a database, with DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.lazy import INSTALL_DATA, load
from embodied_iqa.data.database.schema import SourceKind
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.models.subjects.catalogue import Role

OPINIONS: Final = "opinions"
"""View with the mean opinions of each pair, as in the report."""

_NEEDED: Final = frozenset({"refs", "tasks", "pairs", "scores"})
_TARGETS: Final = {
    "cognition": ("score", Role.VLM),
    "precision": ("precision", Role.VLM),
    "recall": ("recall", Role.VLM),
    "semantics": ("semantics", Role.VLM),
    "decision": ("score", Role.VLA),
    "position": ("position", Role.VLA),
    "rotation": ("rotation", Role.VLA),
    "state": ("state", Role.VLA),
    "refused": ("CAST(refused AS DOUBLE)", Role.VLA),
    "refusal_loss": ("CASE WHEN refused THEN 1 - score WHEN NOT refused THEN 0 END", Role.VLA),
    "wrong_motion_loss": ("CASE WHEN refused THEN 0 WHEN NOT refused THEN 1 - score END", Role.VLA),
}
"""Name of a score in the opinions, as in exports, to its column and the role of its subjects.

Of the losses, lower is better; with `decision` they sum to 5.
"""
_SCALE: Final = 5
"""Highest opinion: the mean over the tasks is multiplied by it."""
_COLUMNS: Final = {
    "refs": f"* REPLACE (if(source = '{SourceKind.FOLDER}', nullif(stamp_ns, 0), stamp_ns) AS stamp_ns)",
    "tasks": "* REPLACE (nullif(difficulty, 0) AS difficulty, nullif(ability, '') AS ability, "
    "nullif(plan, '') AS plan)",
}
"""Earlier versions wrote 0 and empty texts for what is not known, see `data.database.store`."""


def views_of(store: DatabaseStore) -> dict[str, str]:
    """Return the existing tables: name to files. ``references`` is a keyword of SQL, so it is ``refs``."""
    names = {"references": "refs"}
    views = {names.get(name, name): str(file) for name, file in store.tables().items()}
    if any((store.path / "annotations").glob("*/part-*.parquet")):
        views["annotations"] = str(store.path / "annotations" / "*" / "part-*.parquet")
    return views


def query(store: DatabaseStore, text: str, values: Sequence[object] = ()) -> pa.Table:
    """Return the result of one query; the files are only read.

    Args:
        store: The database.
        text: SQL.
        values: Of the parameters, ``?`` in the text.

    Besides the tables there is a view `opinions` with one row for each pair: the mean opinions in [0, 5] that
    count in the report, and the number of subjects behind each.

    Raises:
        UsageError: DuckDB rejects the query; the message is DuckDB's, with the available tables.
        MissingDependencyError: DuckDB is not installed.
    """
    duckdb = load("duckdb", install=INSTALL_DATA)
    views = views_of(store)
    available = [*views, *([OPINIONS] if views.keys() >= _NEEDED else [])]
    with duckdb.connect(":memory:") as connection:
        for name, files in views.items():
            connection.from_parquet(files).project(_COLUMNS.get(name, "*")).create_view(name)
        if OPINIONS in available:
            connection.execute(f"CREATE VIEW {OPINIONS} AS {_opinions()}")
        try:
            result: pa.Table = connection.execute(text, list(values)).to_arrow_table()
        except duckdb.Error as error:
            raise UsageError(" ".join(str(error).split()), available=available) from None
    return result


def _opinions() -> str:
    """Return the query of the view: five times the mean over the tasks, of the subjects that count."""
    sums = ", ".join(
        f"CASE WHEN count({column}) FILTER (role = '{role}') = any_value(tasks) "
        f"THEN {_SCALE} * avg({column}) FILTER (role = '{role}') END AS {name}"
        for name, (column, role) in _TARGETS.items()
    )
    means = ", ".join(f"avg({name}) AS {name}_mean, count({name}) AS {name}_subjects" for name in _TARGETS)
    return f"""
        WITH expected AS (SELECT reference_id, count(*) AS tasks FROM tasks GROUP BY reference_id),
        totals AS (
            SELECT pair_id, subject, {sums} FROM scores JOIN expected USING (reference_id)
            WHERE own_view GROUP BY pair_id, subject
        )
        SELECT pair_id, reference_id, distortion_id, distortion_name, distortion_class, level, view, {means}
        FROM pairs JOIN refs USING (reference_id) LEFT JOIN totals USING (pair_id) GROUP BY ALL
    """  # noqa: S608 - made of the names above only
