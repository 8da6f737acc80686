"""Tables of the database: whole or not at all, deterministic, checked when they are read."""

from __future__ import annotations

import errno
from dataclasses import fields, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import remove_parts
from embodied_iqa.base.tables import read_digest, read_table, rows_of, table_of, write_table
from embodied_iqa.data.database.record import DatabaseRecord, RecordedSubject
from embodied_iqa.data.database.schema import (
    ANNOTATIONS,
    REFERENCES,
    TASKS,
    Annotation,
    Camera,
    Person,
    Reference,
    ReferenceTask,
    SourceKind,
)
from embodied_iqa.data.database.store import DatabaseStore, open_database
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.catalogue import Role
from embodied_iqa.world.protocols import ChunkStatus, SubjectInfo
from embodied_iqa.world.tasks.task import TaskSource


def _task(rank: int) -> ReferenceTask:
    return ReferenceTask(
        "r000001", f"t{rank}", rank, "pick the red cube", "", None, None, "", 0, TaskSource.FILE
    )


def _tasks(*ranks: int) -> pa.Table:
    return table_of(ReferenceTask, map(_task, ranks))


def test_rows_of_every_kind_of_column_come_back(tmp_path: Path) -> None:
    eye = tuple(float(number % 5 == 0) for number in range(16))
    cameras = tuple(
        Camera(view, f"{view}.png", "0", 1.0, 2.0, 3.0, 4.0, eye) for view in (View.TOP, View.SIDE)
    )
    reference = Reference(
        "r1", SourceKind.FOLDER, "a.png", True, View.TOP, Person.THIRD, None, None, "wood", 2**40, None, 7,
        128, 96, "p.png", "0", cameras, eye, 0.5, 0.1, 0.2, 0.3, 0.4, 0.5,
    )  # fmt: skip
    first = Annotation(
        "s", "1", Role.VLA, "r1", None, "t", 1, "", 0, True, None, ChunkStatus.ACT, (0.5,), "", 0.9, None
    )
    rows = [first, replace(first, pair_id="p", status=None, increments=None, error="none", own_view=False)]
    for kind, written, schema in ((Reference, [reference], REFERENCES), (Annotation, rows, ANNOTATIONS)):
        write_table(tmp_path / "rows", table_of(kind, written), schema)
        read = rows_of(kind, read_table(tmp_path / "rows", schema.names))
        assert read == written
        assert [types_of(row) for row in read] == [types_of(row) for row in written]
        assert rows_of(kind, schema.empty_table()) == []


def test_what_is_not_known_of_a_camera_is_null(tmp_path: Path) -> None:
    unknown = Camera(View.TOP, "top.png", "0", None, None, None, None, None)
    known = Camera(View.SIDE, "side.png", "0", 1.0, 2.0, 3.0, 4.0, tuple(map(float, range(16))))
    reference = Reference(
        "r1", SourceKind.FOLDER, "a.png", True, View.TOP, Person.THIRD, None, None, "wood", 2**40, None, 7,
        128, 96, "p.png", "0", (unknown, known), (0.0,) * 16, 0.5, 0.1, 0.2, 0.3, 0.4, 0.5,
    )  # fmt: skip
    write_table(tmp_path / "rows", table_of(Reference, [reference]), REFERENCES)
    assert rows_of(Reference, read_table(tmp_path / "rows", REFERENCES.names)) == [reference]
    assert (unknown.pinhole_px, known.pinhole_px) == (None, (1.0, 2.0, 3.0, 4.0))


def test_cameras_of_older_databases_are_read(tmp_path: Path) -> None:
    """Before cameras could be unknown, the numbers of the struct were not nullable."""
    camera = Camera(View.SIDE, "side.png", "0", 1.0, 2.0, 3.0, 4.0, tuple(map(float, range(16))))
    reference = Reference(
        "r1", SourceKind.FOLDER, "a.png", True, View.TOP, Person.THIRD, None, None, "wood", 2**40, None, 7,
        128, 96, "p.png", "0", (camera,), (0.0,) * 16, 0.5, 0.1, 0.2, 0.3, 0.4, 0.5,
    )  # fmt: skip
    table = table_of(Reference, [reference])
    inner = [
        pa.field(part.name, part.type, nullable=False)
        for part in table.schema.field("cameras").type.value_type
    ]
    at = table.schema.get_field_index("cameras")
    old = table.set_column(
        at,
        pa.field("cameras", pa.list_(pa.struct(inner)), nullable=False),
        pa.array(table["cameras"].to_pylist(), pa.list_(pa.struct(inner))),
    )
    pq.write_table(old, tmp_path / "rows")
    assert rows_of(Reference, read_table(tmp_path / "rows", REFERENCES.names)) == [reference]


def types_of(row: object) -> list[type]:
    return [type(getattr(row, field.name)) for field in fields(row)]


def test_rows_come_back_with_their_digest(tmp_path: Path) -> None:
    file = tmp_path / "new" / "tasks.parquet"
    write_table(file, _tasks(1, 2), TASKS, "abc")
    assert read_table(file, TASKS.names).equals(_tasks(1, 2))
    assert read_table(file, TASKS.names, ["rank"]).column_names == ["rank"]
    assert read_digest(file) == "abc"
    assert [path.name for path in file.parent.iterdir()] == ["tasks.parquet"]


def test_same_rows_give_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_table(tmp_path / name, _tasks(3), TASKS)
    write_table(tmp_path / "c", _tasks(4), TASKS)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() != (tmp_path / "c").read_bytes()


def test_full_disk_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "tasks.parquet"
    write_table(file, _tasks(1), TASKS)

    def full(_table: object, path: Path, **_options: object) -> None:
        path.write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pq, "write_table", full)
    with pytest.raises(InputError, match="No space left"):
        write_table(file, _tasks(2), TASKS)
    assert read_table(file, TASKS.names).equals(_tasks(1))
    assert list(tmp_path.iterdir()) == [file]


def test_what_killed_writers_left_is_removed(tmp_path: Path) -> None:
    for name in (".a.parquet.1.part", ".b.png.2.partial", "kept.part", "kept.png"):
        (tmp_path / name).touch()
    assert remove_parts(tmp_path) == 2
    assert {file.name for file in tmp_path.iterdir()} == {"kept.part", "kept.png"}


def test_missing_values_are_refused_where_they_must_not_be(tmp_path: Path) -> None:
    with pytest.raises((pa.ArrowInvalid, ValueError)):
        write_table(tmp_path / "t", table_of(ReferenceTask, [replace(_task(1), text=None)]), TASKS)


def test_other_columns_and_damage_are_named(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1]}), tmp_path / "other")
    with pytest.raises(InputError, match="other columns"):
        read_table(tmp_path / "other", TASKS.names)
    (tmp_path / "broken").write_bytes(b"PAR1 nothing")
    with pytest.raises(InputError, match="broken"):
        read_table(tmp_path / "broken", TASKS.names)
    assert read_digest(tmp_path / "broken") is None


def test_record_is_checked(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a database"):
        open_database(tmp_path)
    store = DatabaseStore(tmp_path)
    info = SubjectInfo("c", "1", "for tests", (View.TOP,))
    subjects = tuple(RecordedSubject.of(name, Role.VLM, info) for name in "ba")
    store.write_record(DatabaseRecord({}, subjects))
    assert open_database(tmp_path).subjects() == ("b", "a")
    store.record_file.write_text('{"schema": 99}', encoding="utf-8")
    with pytest.raises(InputError, match="another version"):
        open_database(tmp_path)


def test_names_with_slashes_stay_inside(tmp_path: Path) -> None:
    store = DatabaseStore(tmp_path)
    first, second = (store.annotation_part(f"transformers:a/{name}", 3) for name in ("b", "B"))
    assert first.parent.parent == tmp_path / "annotations"
    assert first != second


def test_a_table_with_text_that_is_no_text_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    plain = {"use_dictionary": False, "write_statistics": False, "compression": "none"}
    pq.write_table(pa.table({"word": ["aaaa-bbbb"]}), path, **plain)
    assert read_table(path, ("word",)).to_pylist() == [{"word": "aaaa-bbbb"}]
    path.write_bytes(path.read_bytes().replace(b"aaaa-bbbb", b"aaaa\xb3bbbb"))
    with pytest.raises(InputError, match=r"cannot be read: .*UTF8"):
        read_table(path, ("word",))
