"""Merging of databases that contradict each other, or that are complete only together."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from photo_database import VLM, build_photos, make_photos

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.tables import read_digest, write_table
from embodied_iqa.data.database.building.merge import merge_databases
from embodied_iqa.data.database.schema import PAIRS, REFERENCES
from embodied_iqa.data.database.store import DatabaseStore, open_database


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[DatabaseStore, DatabaseStore]:
    """Two databases of one reference each, and one that both have."""
    folder = tmp_path_factory.mktemp("pair")
    for name, numbers in (("a", range(2)), ("b", range(1, 3))):
        build_photos(folder / name, make_photos(folder / f"photos-{name}", numbers), references=2)
    return open_database(folder / "a"), open_database(folder / "b")


def _copy(store: DatabaseStore, to: Path) -> DatabaseStore:
    shutil.copytree(store.path, to)
    return open_database(to)


@pytest.mark.parametrize("table", ["references", "pairs"])
def test_another_image_under_the_same_name_is_refused(
    tmp_path: Path, pair: tuple[DatabaseStore, DatabaseStore], table: str
) -> None:
    other = _copy(pair[1], tmp_path / "b")
    rows = getattr(other, table)()
    wrong = pa.array(["f" * 64] * rows.num_rows, rows.schema.field("sha256").type)
    rows = rows.set_column(rows.schema.get_field_index("sha256"), "sha256", wrong)
    write_table(getattr(other, f"{table}_file"), rows, {"references": REFERENCES, "pairs": PAIRS}[table])
    with pytest.raises(InputError, match="is another image in"):
        merge_databases(pair[0], other, tmp_path / "both")


def test_answers_of_two_versions_of_a_subject_are_refused(
    tmp_path: Path, pair: tuple[DatabaseStore, DatabaseStore]
) -> None:
    other = _copy(pair[1], tmp_path / "b")
    tree = json.loads(other.record_file.read_text(encoding="utf-8"))
    tree["subjects"][0]["version"] = "another"
    other.record_file.write_text(json.dumps(tree), encoding="utf-8")
    with pytest.raises(InputError, match=f"{VLM} has another version") as caught:
        merge_databases(pair[0], other, tmp_path / "both")
    assert "another" in str(caught.value)


def test_only_blocks_with_every_answer_count_as_done(
    tmp_path: Path, pair: tuple[DatabaseStore, DatabaseStore]
) -> None:
    merge_databases(*pair, tmp_path / "both")
    (file,) = DatabaseStore(tmp_path / "both").annotation_files(VLM)
    assert read_digest(file)
    silent = _copy(pair[1], tmp_path / "b")
    for part in silent.annotation_files(VLM):
        part.unlink()
    merge_databases(pair[0], silent, tmp_path / "part")
    store = DatabaseStore(tmp_path / "part")
    (file,) = store.annotation_files(VLM)
    assert read_digest(file) == ""
    assert sum(part.num_rows for part in store.annotation_parts(VLM)) == 2 * 31
    assert store.references().num_rows == 3
