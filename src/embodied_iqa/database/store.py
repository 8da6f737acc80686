"""The database's folder: where things are, and how tables are written and read.

`dataset.json` tells how everything was made; `references.parquet`, `tasks.parquet` and `pairs.parquet` are
the plan; `annotations/<subject>/part-NNNNN.parquet` hold the answers, a part a block of references;
`scores.parquet` is made of all of them. Every file is written whole or not at all.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from embodied_iqa.database.schema import ANNOTATIONS, PAIRS, REFERENCES, SCHEMA_VERSION, SCORES, TASKS
from embodied_iqa.errors import InputError
from embodied_iqa.files import write_json_whole, write_whole
from embodied_iqa.subjects.constants_files import file_stem

__all__ = [
    "RECORD_FILE",
    "DatabaseStore",
    "Row",
    "is_database",
    "open_database",
    "read_digest",
    "read_table",
    "write_table",
]

RECORD_FILE: Final = "dataset.json"
Row = dict[str, Any]
"""Column to value: what Arrow takes and gives."""
_DIGEST: Final = b"embodied_iqa.plan"


def is_database(path: Path) -> bool:
    """Say whether a folder is a database, finished or not."""
    return (path / RECORD_FILE).is_file()


def write_table(path: Path, rows: Sequence[Row] | Any, schema: Any, digest: str = "") -> None:
    """Write Parquet (zstd), whole or not at all; the same rows give the same bytes.

    Args:
        path: The file.
        rows: A row a dictionary, or an Arrow table.
        schema: The columns.
        digest: Kept in the file: of all that its rows depend on, see `read_digest`.

    Raises:
        InputError: It cannot be written.
    """
    table = rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(list(rows), schema=schema)
    table = table.cast(schema).replace_schema_metadata({_DIGEST: digest.encode()})
    write_whole(path, lambda fresh: pq.write_table(table, fresh, compression="zstd"))


def read_table(path: Path, schema: Any, columns: Sequence[str] | None = None) -> Any:
    """Read Parquet with these columns as an Arrow table.

    Raises:
        InputError: The file is missing, damaged or has other columns.
    """
    try:
        found = pq.read_schema(path)
        if found.names != schema.names:
            raise InputError(
                f"{path} has other columns", expected=", ".join(schema.names), got=", ".join(found.names)
            )
        return pq.read_table(path, columns=None if columns is None else list(columns), partitioning=None)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path} cannot be read: {error}") from None


def read_digest(path: Path) -> str | None:
    """Return the digest that `write_table` kept; None where there is no such file or it is damaged."""
    try:
        metadata = pq.read_schema(path).metadata or {}
    except (OSError, pa.ArrowException):
        return None
    return bytes(metadata.get(_DIGEST, b"")).decode()


@dataclass(frozen=True, slots=True)
class DatabaseStore:
    """Paths and tables of one database.

    Attributes:
        path: The folder.
    """

    path: Path

    @property
    def record_file(self) -> Path:
        """How everything was made."""
        return self.path / RECORD_FILE

    @property
    def references_file(self) -> Path:
        """The reference pictures."""
        return self.path / "references.parquet"

    @property
    def tasks_file(self) -> Path:
        """Five tasks a reference."""
        return self.path / "tasks.parquet"

    @property
    def pairs_file(self) -> Path:
        """The distorted pictures."""
        return self.path / "pairs.parquet"

    @property
    def scores_file(self) -> Path:
        """A score for each pair, task and subject."""
        return self.path / "scores.parquet"

    @property
    def execution_file(self) -> Path:
        """Runs of joined experiments; not there where none were joined."""
        return self.path / "execution.parquet"

    @property
    def work(self) -> Path:
        """Parts of unfinished steps."""
        return self.path / "work"

    @property
    def pictures(self) -> Path:
        """The pictures."""
        return self.path / "pictures"

    def annotations(self, subject: str) -> Path:
        """Return the folder of a subject's answers."""
        return self.path / "annotations" / file_stem(subject)

    def annotation_part(self, subject: str, block: int) -> Path:
        """Return the file of a subject's answers on a block of references."""
        return self.annotations(subject) / f"part-{block:05d}.parquet"

    def constants_file(self, subject: str) -> Path:
        """Return the file of what a subject's scores are scaled by in this database."""
        return self.path / "constants" / f"{file_stem(subject)}.json"

    def record(self) -> Row:
        """Return `dataset.json`.

        Raises:
            InputError: It is missing, broken or of another version.
        """
        try:
            tree = json.loads(self.record_file.read_text(encoding="utf-8"))
            version = tree["schema"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{self.record_file} cannot be read: {error}") from None
        if version != SCHEMA_VERSION:
            raise InputError(
                f"{self.path} is a database of another version",
                expected=f"schema {SCHEMA_VERSION}",
                got=version,
            )
        return dict(tree)

    def write_record(self, tree: Mapping[str, Any]) -> None:
        """Write `dataset.json`, whole or not at all."""
        write_json_whole(self.record_file, {**tree, "schema": SCHEMA_VERSION})

    def subjects(self) -> tuple[str, ...]:
        """List the subjects of the database, VLMs and VLAs, in the record's order."""
        return tuple(item["name"] for item in self.record().get("subjects", ()))

    def references(self, columns: Sequence[str] | None = None) -> Any:
        """Return the references as an Arrow table."""
        return read_table(self.references_file, REFERENCES, columns)

    def tasks(self, columns: Sequence[str] | None = None) -> Any:
        """Return the tasks as an Arrow table."""
        return read_table(self.tasks_file, TASKS, columns)

    def pairs(self, columns: Sequence[str] | None = None) -> Any:
        """Return the pairs as an Arrow table."""
        return read_table(self.pairs_file, PAIRS, columns)

    def scores(self, columns: Sequence[str] | None = None) -> Any:
        """Return the scores as an Arrow table."""
        return read_table(self.scores_file, SCORES, columns)

    def annotation_files(self, subject: str) -> list[Path]:
        """List the parts of a subject's answers, in order."""
        return sorted(self.annotations(subject).glob("part-*.parquet"))

    def annotation_parts(self, subject: str, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """Yield a subject's answers part by part as Arrow tables."""
        for file in self.annotation_files(subject):
            yield read_table(file, ANNOTATIONS, columns)


def open_database(path: Path) -> DatabaseStore:
    """Open a database for reading.

    Raises:
        InputError: The folder is none, or of another version.
    """
    if not is_database(path):
        raise InputError(f"{path} is no database", expected=f"a folder with {RECORD_FILE}")
    store = DatabaseStore(path)
    store.record()
    return store
