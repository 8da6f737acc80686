"""Tables follow from what was built and the journal; `build` and `annotate` go on from it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from photo_database import VLM, build_photos, make_photos

from embodied_iqa.base.errors import InputError
from embodied_iqa.data.database.building.build_options import Step
from embodied_iqa.data.database.building.merge import merge_databases
from embodied_iqa.data.database.check import check_database
from embodied_iqa.data.database.edits import waiting_edits
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.data.journal.changes import Change, Reject, Undo, WriteLabels, WriteTasks, WrittenTask
from embodied_iqa.data.journal.journal import Journal
from embodied_iqa.world.tasks.vocabulary import Verb

ANSWERS = (Step.ANNOTATE, Step.SCORE)


@pytest.fixture(scope="module")
def tasks_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_photos(tmp_path_factory.mktemp("photos") / "p", range(8))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, tasks_file: Path) -> Path:
    path = tmp_path_factory.mktemp("whole") / "db"
    build_photos(path, tasks_file, references=5)
    return path


@pytest.fixture
def store(tmp_path: Path, whole: Path) -> DatabaseStore:
    return DatabaseStore(Path(shutil.copytree(whole, tmp_path / "db")))


def edit(store: DatabaseStore, *changes: Change) -> None:
    journal = Journal(store.path)
    for change in changes:
        journal.append(change, "anna", "test")


def ids(store: DatabaseStore) -> list[str]:
    return list(store.references(["reference_id"])["reference_id"].to_pylist())


def texts(store: DatabaseStore) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in store.tasks().to_pylist():
        found.setdefault(row["reference_id"], []).append(row["text"])
    return found


def test_edits_reach_tables_answers_and_scores(store: DatabaseStore, tasks_file: Path) -> None:
    first, second, *_, last = ids(store)
    before = texts(store)
    edit(
        store,
        WriteTasks(
            first,
            (WrittenTask(1, "pick the blue cube", Verb.PICK), WrittenTask(2, "tidy up the table")),
        ),
        WriteLabels(second, "toy", None, "wood"),
        Reject(last, "two robots are in the image"),
    )
    waiting = check_database(store)
    assert waiting.errors == ()
    assert any("3 edits are not in the tables yet" in line for line in waiting.remarks)
    assert texts(store) == before

    summary = build_photos(store.path, tasks_file, references=5, steps=ANSWERS)
    assert texts(store)[first] == ["pick the blue cube", "tidy up the table"]
    assert ids(store) == [first, second, *ids(DatabaseStore(store.path, built=True))[2:4]]
    assert store.references().to_pylist()[1]["background"] == "wood"
    report = check_database(store)
    assert report.errors == ()
    assert report.remarks == ("1 reference is rejected",)
    assert summary.record.counts["references"] == 4
    assert summary.record.counts["scores"] == 30 * 5
    # the second block held only the rejected reference: nothing is left to query in it
    assert summary.steps[Step.ANNOTATE].blocks == 1
    assert len(store.annotation_files(VLM)) == 1
    assert waiting_edits(store, Journal(store.path)) == 0
    assert build_photos(store.path, tasks_file, references=5).steps[Step.ANNOTATE].blocks == 0


def test_undo_restores_what_was_built(store: DatabaseStore, tasks_file: Path) -> None:
    tables = [store.references(), store.tasks(), store.pairs(), store.scores()]
    last = ids(store)[-1]
    edit(store, Reject(last, "dark"))
    build_photos(store.path, tasks_file, references=5, steps=ANSWERS)
    assert last not in ids(store)
    edit(store, Undo(1))
    build_photos(store.path, tasks_file, references=5, steps=ANSWERS)
    for before, after in zip(
        tables, [store.references(), store.tasks(), store.pairs(), store.scores()], strict=True
    ):
        assert after.replace_schema_metadata(None).equals(before.replace_schema_metadata(None))
    assert check_database(store).errors == ()


def test_an_edited_database_grows(store: DatabaseStore, tasks_file: Path) -> None:
    first, *_ = ids(store)
    edit(store, Reject(first, "dark"))
    build_photos(store.path, tasks_file, references=7)
    assert len(ids(store)) == 6
    assert first not in ids(store)
    report = check_database(store)
    assert report.errors == ()
    assert report.counts["pairs"] == 180


def test_waiting_edits_are_not_merged_silently(store: DatabaseStore, tmp_path: Path) -> None:
    edit(store, Reject(ids(store)[0], "dark"))
    with pytest.raises(InputError, match="1 edits that its tables lack"):
        merge_databases(store, store, tmp_path / "merged")


def test_check_finds_damage_of_the_edits(store: DatabaseStore, tasks_file: Path) -> None:
    first, second, *_ = ids(store)
    edit(store, Reject(first, "dark"))
    build_photos(store.path, tasks_file, references=5, steps=ANSWERS)
    journal = store.path / "journal" / "edits.jsonl"
    whole = journal.read_bytes()
    # another reference was rejected than the one that the tables lack
    journal.unlink()
    edit(store, Reject(second, "dark"))
    assert any("does not follow from the journal" in line for line in check_database(store).errors)
    journal.write_bytes(whole.replace(b"dark", b"dull"))
    assert any("wrong checksum" in line for line in check_database(store).errors)
    journal.unlink()
    assert any("the edits are gone" in line for line in check_database(store).errors)
    journal.write_bytes(whole)
    assert check_database(store).errors == ()
    built = store.path / "journal" / "built" / "tasks.parquet"
    built.write_bytes((store.path / "tasks.parquet").read_bytes())
    assert any("journal/built/tasks.parquet" in line for line in check_database(store).errors)
