"""Folder of a database: paths of its files, reading and writing of its tables.

`dataset.json` records how everything was made. `references.parquet`, `tasks.parquet` and `pairs.parquet` are
the plan; `annotations/<subject>/part-NNNNN.parquet` hold the answers, one part for each block of references;
`scores.parquet` is computed from all of them. Every file is written whole or not at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.tables import read_table
from embodied_iqa.data.database.database_folder import RECORD_FILE, is_database
from embodied_iqa.data.database.record import DatabaseRecord, read_record, write_record
from embodied_iqa.data.database.schema import ANNOTATIONS, PAIRS, REFERENCES, SCORES, TASKS, SourceKind
from embodied_iqa.models.subjects.constants_files import file_stem


@dataclass(frozen=True, slots=True)
class DatabaseStore:
    """Paths and tables of one database.

    Attributes:
        path: The folder.
        built: Its references, tasks and pairs are those before the edits of people, see `database.edits`.
    """

    path: Path
    built: bool = False

    @property
    def built_folder(self) -> Path:
        """References, tasks and pairs before the edits of people; missing where nothing was edited."""
        return self.path / "journal" / "built"

    def _planned(self, name: str) -> Path:
        return (self.built_folder if self.built and self.built_folder.is_dir() else self.path) / name

    @property
    def record_file(self) -> Path:
        """File of the record."""
        return self.path / RECORD_FILE

    @property
    def references_file(self) -> Path:
        """The reference images."""
        return self._planned("references.parquet")

    @property
    def tasks_file(self) -> Path:
        """Up to five tasks for each reference."""
        return self._planned("tasks.parquet")

    @property
    def pairs_file(self) -> Path:
        """The distorted images."""
        return self._planned("pairs.parquet")

    @property
    def scores_file(self) -> Path:
        """A score for each pair, task and subject."""
        return self.path / "scores.parquet"

    @property
    def execution_file(self) -> Path:
        """Runs of joined experiments; missing where none were joined."""
        return self.path / "execution.parquet"

    @property
    def verdicts_file(self) -> Path:
        """Verdicts of a gate on the pairs; missing where none were made."""
        return self.path / "verdicts.parquet"

    @property
    def work(self) -> Path:
        """Parts of unfinished steps."""
        return self.path / "work"

    @property
    def images(self) -> Path:
        """The images."""
        return self.path / "images"

    def tables(self) -> dict[str, Path]:
        """Return the existing single tables by name."""
        files = (
            self.references_file,
            self.tasks_file,
            self.pairs_file,
            self.scores_file,
            self.execution_file,
            self.verdicts_file,
        )
        return {file.stem: file for file in files if file.is_file()}

    def files(self) -> dict[str, Path]:
        """Return the files of all tables, parts of answers included, by their path in the database."""
        parts = sorted((self.path / "annotations").glob("*/part-*.parquet"))
        return {str(file.relative_to(self.path)): file for file in (*self.tables().values(), *parts)}

    def annotations(self, subject: str) -> Path:
        """Return the folder of a subject's answers."""
        return self.path / "annotations" / file_stem(subject)

    def annotation_part(self, subject: str, block: int) -> Path:
        """Return the file of a subject's answers on a block of references."""
        return self.annotations(subject) / f"part-{block:05d}.parquet"

    def constants_file(self, subject: str) -> Path:
        """Return the file of the constants by which a subject's scores are scaled in this database."""
        return self.path / "constants" / f"{file_stem(subject)}.json"

    def record(self) -> DatabaseRecord:
        """Return `dataset.json`.

        Raises:
            InputError: It is missing, damaged or of another version.
        """
        return read_record(self.record_file)

    def write_record(self, record: DatabaseRecord) -> None:
        """Write `dataset.json`, whole or not at all."""
        write_record(self.record_file, record)

    def subjects(self) -> tuple[str, ...]:
        """Return the names of the database's subjects, VLMs and VLAs, in the record's order."""
        return tuple(item.name for item in self.record().subjects)

    def references(self, columns: Sequence[str] | None = None) -> Any:
        """Return the references as an Arrow table."""
        needed = None if columns and "stamp_ns" in columns else columns  # which are unknown, others tell
        table = _with_unknown_stamps(self._read(self.references_file, REFERENCES.names, needed))
        return table if columns is None else table.select(list(columns))

    def tasks(self, columns: Sequence[str] | None = None) -> Any:
        """Return the tasks as an Arrow table."""
        return _with_unknown_fields(self._read(self.tasks_file, TASKS.names, columns))

    def pairs(self, columns: Sequence[str] | None = None) -> Any:
        """Return the pairs as an Arrow table."""
        return self._read(self.pairs_file, PAIRS.names, columns)

    def scores(self, columns: Sequence[str] | None = None) -> Any:
        """Return the scores as an Arrow table."""
        return self._read(self.scores_file, SCORES.names, columns)

    def _read(self, file: Path, names: Sequence[str], columns: Sequence[str] | None) -> Any:
        if not file.is_file():
            raise InputError(
                f"{self.path} has no {file.name}",
                expected="a database that `embodied-iqa build` has finished",
            )
        return read_table(file, names, columns)

    def annotation_files(self, subject: str) -> list[Path]:
        """Return the parts of a subject's answers, in order."""
        return sorted(self.annotations(subject).glob("part-*.parquet"))

    def annotation_parts(self, subject: str, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """Yield a subject's answers part by part as Arrow tables."""
        for file in self.annotation_files(subject):
            yield read_table(file, ANNOTATIONS.names, columns)


def _with_unknown_stamps(references: Any) -> Any:
    """Return references with null for the stamps of photographs, where earlier versions wrote 0."""
    if "stamp_ns" not in references.column_names:
        return references
    is_unset = pc.and_(pc.equal(references["source"], SourceKind.FOLDER), pc.equal(references["stamp_ns"], 0))
    return _with_column(references, REFERENCES.field("stamp_ns"), is_unset)


def _with_unknown_fields(tasks: Any) -> Any:
    """Return tasks with null for what is not known, where earlier versions wrote 0 and empty texts."""
    for name, unset in (("difficulty", 0), ("ability", ""), ("plan", "")):
        if name in tasks.column_names:
            tasks = _with_column(tasks, TASKS.field(name), pc.equal(tasks[name], unset))
    return tasks


def _with_column(table: Any, field: Any, is_unset: Any) -> Any:
    values = pc.if_else(is_unset, pa.scalar(None, field.type), table[field.name])
    return table.set_column(table.column_names.index(field.name), field, values)


def open_database(path: Path) -> DatabaseStore:
    """Open a database for reading.

    Raises:
        InputError: The folder is not a database, or of another version.
    """
    if not is_database(path):
        raise InputError(f"{path} is not a database", expected=f"a folder with {RECORD_FILE}")
    store = DatabaseStore(path)
    store.record()
    return store
