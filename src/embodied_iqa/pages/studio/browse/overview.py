"""Index of a database in memory: one row for each pair, with its scores; made again when the files change."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final, TypeAlias

import duckdb
import pyarrow as pa

from embodied_iqa.base.errors import InputError, first_line
from embodied_iqa.data.database.record import RecordedSubject
from embodied_iqa.data.database.schema import PAIRS, REFERENCES, SCORES, TASKS
from embodied_iqa.data.database.store import DatabaseStore, open_database
from embodied_iqa.data.database.verdicts import VERDICTS
from embodied_iqa.pages.studio.kit.context import Studio
from embodied_iqa.pages.studio.kit.sources import Source

Stamp: TypeAlias = tuple[tuple[str, int, int], ...]
_MOST_OPEN: Final = 4
_SETTINGS: Final = {"threads": 2, "memory_limit": "300MB"}
_SCHEMAS: Final = {"refs": REFERENCES, "tasks": TASKS, "pairs": PAIRS, "scores": SCORES, "verdicts": VERDICTS}
_TOTALS: Final = """
    CREATE TABLE totals AS
    WITH expected AS (SELECT reference_id, count(*) AS tasks FROM tasks GROUP BY reference_id)
    SELECT pair_id, subject, role, CASE WHEN count(score) = any_value(tasks) THEN 5 * avg(score) END AS score,
        avg(CAST(refused AS DOUBLE)) AS refused
    FROM scores JOIN expected USING (reference_id) WHERE own_view GROUP BY pair_id, subject, role
"""
"""Five times the mean over the tasks, by pair and subject, as in the view `opinions`."""
_OVERVIEW: Final = """
    CREATE TABLE overview AS
    WITH words AS (
        SELECT reference_id, list_sort(list(DISTINCT verb) FILTER (verb IS NOT NULL)) AS verbs
        FROM tasks GROUP BY reference_id
    ), means AS (
        SELECT pair_id,
            avg(score) FILTER (role = 'vla') AS decision, avg(score) FILTER (role = 'vlm') AS cognition,
            max(score) FILTER (role = 'vla') - min(score) FILTER (role = 'vla') AS decision_spread,
            max(score) FILTER (role = 'vlm') - min(score) FILTER (role = 'vlm') AS cognition_spread,
            avg(refused) AS refused, count(score) AS subjects
        FROM totals GROUP BY pair_id
    )
    SELECT pairs.pair_id, reference_id, distortion_id, distortion_name, distortion_class, level, view, verbs,
        main_object, decision, cognition, decision_spread, cognition_spread, refused,
        coalesce(subjects, 0) AS subjects, pairs.luminance, pairs.contrast, pairs.chrominance,
        pairs.sharpness, pairs.spatial_information, pairs.sha256[:12] AS version,
        CAST(verdict AS ENUM('pass', 'hold', 'reject')) AS verdict, reason AS verdict_reason, gate
    FROM pairs JOIN refs USING (reference_id)
    LEFT JOIN words USING (reference_id) LEFT JOIN means USING (pair_id)
    LEFT JOIN verdicts_file ON verdicts_file.pair_id = pairs.pair_id AND verdicts_file.sha256 = pairs.sha256
"""


def with_values(sql: str, values: Sequence[object]) -> str:
    """Return SQL with its question marks replaced by values, in order.

    Args:
        sql: Contains a question mark for each value and no other one.
        values: Text, numbers, or lists of them.
    """
    first, *rest = sql.split("?")
    return first + "".join(_literal(value) + part for value, part in zip(values, rest, strict=True))


def _literal(value: object) -> str:
    match value:
        case bool() | int():
            return repr(value)
        case float():
            return f"CAST('{value!r}' AS DOUBLE)"
        case str():
            return f"decode(from_hex('{value.encode('utf-8', 'replace').hex()}'))"
        case list() | tuple():
            return f"[{', '.join(map(_literal, value))}]"
    raise TypeError(f"no SQL for {type(value).__name__}")


@dataclass(frozen=True, slots=True)
class Choices:
    """Values of the filters that occur in the database.

    Attributes:
        distortions: Number to name.
        views: Cameras.
        verbs: Of the tasks.
        objects: Main objects.
        subjects: That scored something for a view of their own, by name.
        verdicts: Of a gate, by severity; empty where the pairs were not judged.
    """

    distortions: Mapping[str, str]
    views: tuple[str, ...]
    verbs: tuple[str, ...]
    objects: tuple[str, ...]
    subjects: Mapping[str, RecordedSubject]
    verdicts: tuple[str, ...]


class Overview:
    """The index of one database.

    Args:
        store: The database, also one that is being built: missing tables are empty.

    Raises:
        InputError: A table is damaged.
    """

    def __init__(self, store: DatabaseStore) -> None:
        self.store = store
        self.record = store.record()
        self._connection = duckdb.connect(":memory:", config=dict(_SETTINGS))
        try:
            self._load()
        except duckdb.Error as error:
            raise InputError(f"{store.path} cannot be read: {first_line(error)}") from None
        self.references = self._number("SELECT count(*) FROM refs")
        self.pairs = self._number("SELECT count(*) FROM overview")
        self.choices = self._choices()

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[dict[str, Any]]:
        """Return the rows of a query, see `table`, as mappings."""
        rows: list[dict[str, Any]] = self.table(sql, parameters).to_pylist()
        return rows

    def table(self, sql: str, parameters: Sequence[object] = ()) -> Any:
        """Return the result of a query over the tables of the index as an Arrow table."""
        return self._connection.cursor().execute(with_values(sql, parameters)).to_arrow_table()

    def _number(self, sql: str) -> int:
        return int(self._connection.execute(sql).fetchall()[0][0])

    def _load(self) -> None:
        """Read the files once; of the scores only the sums over tasks stay in memory."""
        run, tables = self._connection.execute, self.store.tables()
        files = {name: tables.get("references" if name == "refs" else name) for name in _SCHEMAS}
        for name in ("refs", "tasks", "pairs", "scores", "verdicts"):
            if (file := files[name]) is not None:
                self._connection.from_parquet(str(file)).create_view(f"{name}_file")
            else:
                self._connection.register(f"{name}_file", pa.Table.from_pylist([], schema=_SCHEMAS[name]))
        for name in ("refs", "tasks", "pairs"):
            run(f"CREATE TABLE {name} AS SELECT * FROM {name}_file")  # noqa: S608 - names of this list
        run(_TOTALS.replace("FROM scores", "FROM scores_file"))
        run(_OVERVIEW)

    def _choices(self) -> Choices:
        def column(sql: str) -> tuple[str, ...]:
            return tuple(row[0] for row in self._connection.execute(sql).fetchall() if row[0])

        found = self._connection.execute(
            "SELECT DISTINCT distortion_id, distortion_name FROM overview ORDER BY 1"
        ).fetchall()
        scored = column("SELECT DISTINCT subject FROM totals ORDER BY 1")
        known = {subject.name: subject for subject in self.record.subjects}
        return Choices(
            distortions=dict(found),
            views=column("SELECT DISTINCT view FROM overview ORDER BY 1"),
            verbs=column("SELECT DISTINCT verb FROM tasks ORDER BY 1"),
            objects=column("SELECT DISTINCT main_object FROM overview ORDER BY 1"),
            subjects={name: known[name] for name in scored if name in known},
            verdicts=column("SELECT DISTINCT verdict FROM overview ORDER BY 1"),
        )


def stamp_of(store: DatabaseStore) -> Stamp:
    """Return what changes when a table changes: name, size and time of each file."""
    files = {"record": store.record_file, **store.tables()}
    stats = ((name, file.stat()) for name, file in sorted(files.items()))
    return tuple((name, stat.st_size, stat.st_mtime_ns) for name, stat in stats)


class Overviews:
    """The indices of the databases of a studio that were looked at last."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[Stamp, Overview]] = OrderedDict()
        self._lock = Lock()

    def of(self, source: Source) -> Overview:
        """Return the index of a database as its files are now.

        Raises:
            InputError: It cannot be read.
        """
        store = open_database(source.path) if source.name not in self._known else DatabaseStore(source.path)
        with self._lock:
            stamp = stamp_of(store)
            known = self._known.get(source.name)
            if known is None or known[0] != stamp:
                known = self._known[source.name] = stamp, Overview(store)
            self._known.move_to_end(source.name)
            while len(self._known) > _MOST_OPEN:
                self._known.popitem(last=False)
            return known[1]


def overviews(studio: Studio) -> Overviews:
    """Return the indices that the pages of a studio share."""
    return studio.part(Overviews)
