"""SQL queries over the tables of a database, with DuckDB."""

from __future__ import annotations

from typing import Any

from embodied_iqa.database.store import DatabaseStore
from embodied_iqa.errors import UsageError
from embodied_iqa.lazy import load


def views_of(store: DatabaseStore) -> dict[str, str]:
    """Return the existing tables: name to files. ``references`` is a keyword of SQL, so it is ``refs``."""
    names = {"references": "refs"}
    views = {names.get(name, name): str(file) for name, file in store.tables().items()}
    if any((store.path / "annotations").glob("*/part-*.parquet")):
        views["annotations"] = str(store.path / "annotations" / "*" / "part-*.parquet")
    return views


def query(store: DatabaseStore, text: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Run one query in memory; the files are only read.

    Returns:
        The columns' names, and the rows.

    Raises:
        UsageError: DuckDB rejects the query; the message is DuckDB's, with the available tables.
        MissingDependencyError: DuckDB is not installed.
    """
    duckdb = load("duckdb", install="pip install -r requirements/core.txt")
    views = views_of(store)
    with duckdb.connect(":memory:") as connection:
        for name, files in views.items():
            connection.from_parquet(files).create_view(name)
        try:
            result = connection.execute(text)
            names = [str(column[0]) for column in result.description or ()]
            rows: list[tuple[Any, ...]] = result.fetchall()
        except duckdb.Error as error:
            raise UsageError(" ".join(str(error).split()), available=views) from None
    return names, rows
