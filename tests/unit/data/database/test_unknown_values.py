"""What a database of photographs does not know is null, also where an earlier version wrote 0."""

from __future__ import annotations

import csv
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from photo_database import build_photos, make_photos

from embodied_iqa.base.files import sha256_of
from embodied_iqa.base.tables import rows_of
from embodied_iqa.cli.main import main
from embodied_iqa.data.database.building.merge import merge_databases
from embodied_iqa.data.database.check import check_database
from embodied_iqa.data.database.database_images import distorted_frame, image_hash, read_frames, spec_of
from embodied_iqa.data.database.query import query
from embodied_iqa.data.database.record import DatabaseRecord
from embodied_iqa.data.database.reference_frames import ReferenceFrames
from embodied_iqa.data.database.schema import Pair, Reference, ReferenceTask
from embodied_iqa.data.database.store import DatabaseStore

TASK_FIELDS = ("difficulty", 0), ("ability", ""), ("plan", "")


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> DatabaseStore:
    folder = tmp_path_factory.mktemp("photos")
    build_photos(folder / "db", make_photos(folder / "set", range(3)))
    return DatabaseStore(folder / "db")


def as_before(store: DatabaseStore) -> DatabaseStore:
    """Write the tables as earlier versions did: 0 and empty texts, in columns that know no null."""
    old = (store.references_file, "stamp_ns", 0), *((store.tasks_file, *one) for one in TASK_FIELDS)
    for file, name, unset in old:
        table = pq.read_table(file)
        place, kind = table.column_names.index(name), pa.scalar(unset).type
        values = pc.fill_null(table[name], unset)
        pq.write_table(table.set_column(place, pa.field(name, kind, nullable=False), values), file)
    record = store.record()
    hashes = {name: sha256_of(file) for name, file in store.files().items()}
    store.write_record(replace(record, sha256=hashes))
    return store


def unknown(store: DatabaseStore) -> list[set[Any]]:
    stamps = {row.stamp_ns for row in rows_of(Reference, store.references())}
    tasks = list(rows_of(ReferenceTask, store.tasks()))
    fields = [{getattr(row, name) for row in tasks} for name, _ in TASK_FIELDS]
    sql = [
        set(query(store, f"SELECT DISTINCT {column} AS one FROM {table}")["one"].to_pylist())
        for column, table in (("stamp_ns", "refs"), *((name, "tasks") for name, _ in TASK_FIELDS))
    ]
    return [stamps, *fields, *sql]


def test_the_files_hold_null(photos: DatabaseStore) -> None:
    unknown_fields = [(photos.tasks_file, name) for name, _ in TASK_FIELDS]
    for file, name in ((photos.references_file, "stamp_ns"), *unknown_fields):
        column = pq.read_table(file)[name]
        assert column.null_count == len(column) == 3
    assert unknown(photos) == [{None}] * 8
    assert {image.stamp_ns for image in ReferenceFrames(photos.path).images()} == {None}


def test_what_earlier_versions_wrote_is_read_as_null(tmp_path: Path) -> None:
    for number in range(2):
        tasks = make_photos(tmp_path / f"set{number}", range(3 * number, 3 * number + 3))
        build_photos(tmp_path / f"db{number}", tasks)
    old, new = as_before(DatabaseStore(tmp_path / "db0")), DatabaseStore(tmp_path / "db1")
    assert pq.read_table(old.references_file)["stamp_ns"].to_pylist() == [0] * 3
    assert unknown(old) == [{None}] * 8
    assert old.references(["stamp_ns"]).to_pydict() == {"stamp_ns": [None] * 3}
    assert check_database(old).result == "correct"
    assert isinstance(merge_databases(old, new, tmp_path / "both"), DatabaseRecord)
    both = DatabaseStore(tmp_path / "both")
    assert unknown(both) == [{None}] * 8
    assert check_database(both).result == "correct"


def test_images_are_made_again_as_before(photos: DatabaseStore) -> None:
    references = {row.reference_id: row for row in rows_of(Reference, photos.references())}
    for pair in rows_of(Pair, photos.pairs()):
        reference = references[pair.reference_id]
        frame = read_frames(photos.path, reference, [reference.view])[reference.view]
        assert image_hash(distorted_frame(frame, spec_of(pair)).rgb) == pair.sha256


@pytest.mark.parametrize("is_old", [False, True])
def test_exports_hold_null(photos: DatabaseStore, tmp_path: Path, is_old: bool) -> None:
    store = DatabaseStore(Path(shutil.copytree(photos.path, tmp_path / "db")))
    store = as_before(store) if is_old else store
    for kind in ("csv", "hf"):
        assert main(["export", str(store.path), "--format", kind, "--out", str(tmp_path / kind)]) == 0
    for name, column in (("references", "stamp_ns"), *(("tasks", name) for name, _ in TASK_FIELDS)):
        with (tmp_path / "csv" / f"{name}.csv").open() as file:
            assert {row[column] for row in csv.DictReader(file)} == {""}
        (part,) = (tmp_path / "hf" / name).glob("*.parquet")
        assert set(pq.read_table(part)[column].to_pylist()) == {None}
