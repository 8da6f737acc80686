"""Tables of the database: whole or not at all, deterministic, checked when they are read."""

from __future__ import annotations

import errno
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from embodied_iqa.database.schema import TASKS
from embodied_iqa.database.store import DatabaseStore, open_database, read_digest, read_table, write_table
from embodied_iqa.errors import InputError
from embodied_iqa.files import remove_parts


def _task(rank: int) -> dict[str, object]:
    return {
        "reference_id": "r000001",
        "task_id": f"t{rank}",
        "rank": rank,
        "text": "pick the red cube",
        "ability": "",
        "verb": None,
        "instruction": None,
        "plan": "",
        "difficulty": 0,
        "source": "file",
    }


def test_rows_come_back_with_their_digest(tmp_path: Path) -> None:
    file = tmp_path / "new" / "tasks.parquet"
    write_table(file, [_task(1), _task(2)], TASKS, "abc")
    assert read_table(file, TASKS).to_pylist() == [_task(1), _task(2)]
    assert read_table(file, TASKS, ["rank"]).column_names == ["rank"]
    assert read_digest(file) == "abc"
    assert [path.name for path in file.parent.iterdir()] == ["tasks.parquet"]


def test_same_rows_give_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_table(tmp_path / name, [_task(3)], TASKS)
    write_table(tmp_path / "c", [_task(4)], TASKS)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() != (tmp_path / "c").read_bytes()


def test_full_disk_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "tasks.parquet"
    write_table(file, [_task(1)], TASKS)

    def full(_table: object, path: Path, **_options: object) -> None:
        path.write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pq, "write_table", full)
    with pytest.raises(InputError, match="No space left"):
        write_table(file, [_task(2)], TASKS)
    assert read_table(file, TASKS).to_pylist() == [_task(1)]
    assert list(tmp_path.iterdir()) == [file]


def test_what_killed_writers_left_is_removed(tmp_path: Path) -> None:
    for name in (".a.parquet.1.part", ".b.png.2.partial", "kept.part", "kept.png"):
        (tmp_path / name).touch()
    assert remove_parts(tmp_path) == 2
    assert {file.name for file in tmp_path.iterdir()} == {"kept.part", "kept.png"}


def test_missing_values_are_refused_where_they_must_not_be(tmp_path: Path) -> None:
    with pytest.raises((pa.ArrowInvalid, ValueError)):
        write_table(tmp_path / "t", [_task(1) | {"text": None}], TASKS)


def test_other_columns_and_damage_are_named(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1]}), tmp_path / "other")
    with pytest.raises(InputError, match="other columns"):
        read_table(tmp_path / "other", TASKS)
    (tmp_path / "broken").write_bytes(b"PAR1 nothing")
    with pytest.raises(InputError, match="broken"):
        read_table(tmp_path / "broken", TASKS)
    assert read_digest(tmp_path / "broken") is None


def test_record_is_checked(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no database"):
        open_database(tmp_path)
    store = DatabaseStore(tmp_path)
    store.write_record({"subjects": [{"name": "b"}, {"name": "a"}]})
    assert open_database(tmp_path).subjects() == ("b", "a")
    store.record_file.write_text('{"schema": 99}', encoding="utf-8")
    with pytest.raises(InputError, match="another version"):
        open_database(tmp_path)


def test_names_with_slashes_stay_inside(tmp_path: Path) -> None:
    store = DatabaseStore(tmp_path)
    first, second = (store.annotation_part(f"transformers:a/{name}", 3) for name in ("b", "B"))
    assert first.parent.parent == tmp_path / "annotations"
    assert first != second
