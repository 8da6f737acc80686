"""Tasks of a database as a task file and back: of two people's work nothing is lost."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow.compute as pc
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from database_folders import write_database
from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.tables import rows_of, write_table
from embodied_iqa.cli.main import main
from embodied_iqa.data.database.edits import settled_tasks
from embodied_iqa.data.database.schema import TASKS, Reference
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.data.database.task_exchange import Conflicts, export_tasks, import_tasks
from embodied_iqa.data.journal.changes import Change, Reject, Undo, WriteLabels, WriteTasks, WrittenTask
from embodied_iqa.data.journal.journal import ConflictError, Journal, Mark
from embodied_iqa.world.tasks.task_files import load_task_file
from embodied_iqa.world.tasks.vocabulary import Verb

REFERENCES = ("r00000", "r00001", "r00002", "r00003")
FIRST, SECOND, THIRD, FOURTH = REFERENCES


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with one task for each reference: the made-up ones of a reference are all equal."""
    store = write_database(tmp_path_factory.mktemp("made") / "db", references=len(REFERENCES), subjects=1)
    tasks = store.tasks()
    write_table(store.tasks_file, tasks.filter(pc.equal(tasks["rank"], 1)), TASKS)
    return store.path


@pytest.fixture
def store(tmp_path: Path, made: Path) -> DatabaseStore:
    return DatabaseStore(Path(shutil.copytree(made, tmp_path / "db")))


@pytest.fixture
def file(store: DatabaseStore) -> Path:
    """An export after three edits."""
    edit(store, WriteTasks(FIRST, (WrittenTask(1, "pick the blue cube", Verb.PICK),)))
    edit(store, Reject(SECOND, "dark"), WriteLabels(THIRD, "toy", "cube", None))
    export_tasks(store, store.path.with_name("tasks.yaml"))
    return store.path.with_name("tasks.yaml")


def edit(store: DatabaseStore, *changes: Change, person: str = "anna") -> None:
    journal = Journal(store.path)
    for change in changes:
        journal.append(change, person, "test")


def texts(store: DatabaseStore, reference_id: str) -> list[str]:
    """Its tasks as they are after all edits."""
    return [task.text for task in settled_tasks((), Journal(store.path).view(), reference_id)]


def write_in(file: Path, reference_id: str, *sentences: str, **labels: str) -> None:
    """Change a reference in a file as a person does in an editor."""
    tree = yaml.safe_load(file.read_text("utf-8"))
    (item,) = (item for item in tree["images"] if f"/{reference_id}" in item["image"])
    if sentences:
        item["tasks"] = [{"rank": rank, "text": text} for rank, text in enumerate(sentences, 1)]
    item |= labels
    file.write_text(yaml.safe_dump(tree, sort_keys=False), "utf-8")


def test_out_and_in(store: DatabaseStore, file: Path, tmp_path: Path) -> None:
    assert len(load_task_file(file, files_exist=False)) == 3
    assert import_tasks(store, file, "ben").edits == 0
    write_in(file, FOURTH, "push the cube", "tidy up")
    write_in(file, FIRST, background="wood")
    done = import_tasks(store, file, "ben")
    assert (done.images, done.edits, done.conflicts) == (3, 2, ())
    assert texts(store, FOURTH) == ["push the cube", "tidy up"]
    assert texts(store, FIRST) == ["pick the blue cube"]
    assert [edit.person for edit in Journal(store.path).view().edits] == ["anna"] * 3 + ["ben"] * 2
    assert import_tasks(store, file, "ben").edits == 0, "the file holds nothing new"
    again = tmp_path / "again.yaml"
    export_tasks(store, again)
    before, after = (yaml.safe_load(path.read_text("utf-8")) for path in (file, again))
    assert [item | {"tasks": None} for item in after["images"]] == [
        item | {"tasks": None} for item in before["images"]
    ]
    assert after["journal"].split()[0] == "5"


def test_a_file_of_another_database_is_compared_with_what_was_built(
    store: DatabaseStore, file: Path, tmp_path: Path
) -> None:
    twin = DatabaseStore(Path(shutil.copytree(store.path, tmp_path / "twin")))
    shutil.rmtree(twin.path / "journal")
    assert import_tasks(twin, file, "ben").edits == 2
    assert texts(twin, FIRST) == texts(store, FIRST)
    exported = tmp_path / "twin.yaml"
    export_tasks(twin, exported)
    images = yaml.safe_load(exported.read_text("utf-8"))["images"]
    assert [item for item in images if SECOND not in item["image"]] == (
        yaml.safe_load(file.read_text("utf-8"))["images"]
    )
    assert import_tasks(store, exported, "ben").edits == 0, "same content, whatever its journal"


def test_what_others_edit_meanwhile_stays(store: DatabaseStore, file: Path) -> None:
    edit(store, WriteTasks(THIRD, (WrittenTask(1, "cover the cup"),)), person="cleo")
    write_in(file, FOURTH, "push the cube")
    assert import_tasks(store, file, "ben").edits == 1
    assert texts(store, THIRD) == ["cover the cup"], "the file has its old tasks and does not change them"


def test_conflicts_are_reported_and_nothing_is_imported(store: DatabaseStore, file: Path) -> None:
    edit(store, WriteTasks(THIRD, (WrittenTask(1, "cover the cup"),)), person="cleo")
    write_in(file, THIRD, "press the button")
    write_in(file, FOURTH, "push the cube")
    journal = Journal(store.path)
    before = journal.mark()
    with pytest.raises(ConflictError, match=r"changes 1 references .* r00002 \(edit 4 of cleo\); nothing"):
        import_tasks(store, file, "ben")
    assert journal.mark() == before
    kept = import_tasks(store, file, "ben", Conflicts.KEEP)
    assert (kept.edits, kept.conflicts) == (1, ("r00002 (edit 4 of cleo)",))
    assert texts(store, THIRD) == ["cover the cup"]
    assert import_tasks(store, file, "ben", Conflicts.REPLACE).edits == 1
    assert texts(store, THIRD) == ["press the button"]
    edit(store, Undo(6))
    assert texts(store, THIRD) == ["cover the cup"], "what was replaced is not lost"


def test_the_same_words_are_no_conflict(store: DatabaseStore, file: Path) -> None:
    edit(store, WriteTasks(THIRD, (WrittenTask(1, "cover the cup"),)), person="cleo")
    write_in(file, THIRD, "cover the cup")
    assert import_tasks(store, file, "ben").edits == 0


def test_replacing_changes_only_what_the_file_changes(store: DatabaseStore, file: Path) -> None:
    edit(store, WriteLabels(THIRD, "tool", None, "wood"), person="cleo")
    write_in(file, THIRD, "press the button")
    assert import_tasks(store, file, "ben", Conflicts.REPLACE).edits == 1
    labels = Journal(store.path).view().reference(THIRD).labels
    assert labels is not None
    assert labels.person == "cleo"


def test_errors_leave_no_edit(store: DatabaseStore, file: Path) -> None:
    journal = Journal(store.path)
    before = journal.mark()
    write_in(file, FOURTH, "push the cube")
    good = file.read_text("utf-8")
    for bad, error in (
        (good.replace("images/references/", "elsewhere/", 1), "1 images that are not references"),
        (good.replace("journal: ", "journal: x"), "bad journal"),
        (good.replace("rank: 1", "rank: 9", 1), "rank"),
    ):
        file.write_text(bad, "utf-8")
        with pytest.raises(InputError, match=error):
            import_tasks(store, file, "ben")
    file.write_text(good, "utf-8")
    with pytest.raises(UsageError, match="name of a person"):
        import_tasks(store, file, "")
    assert journal.mark() == before


def test_a_full_disk_leaves_no_edit(
    store: DatabaseStore, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two edits whose write is not synced are both taken back."""
    journal = Journal(store.path)
    before = journal.mark()
    write_in(file, FOURTH, "push the cube")
    write_in(file, FIRST, "tidy up")

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(InputError, match="No space left"):
            import_tasks(store, file, "ben")
    assert Journal(store.path).mark() == before
    assert import_tasks(store, file, "ben").edits == 2


def test_a_mark_is_known_to_its_journal_alone(store: DatabaseStore, tmp_path: Path) -> None:
    edit(store, Reject(FIRST, "dark"), Reject(SECOND, "dark"))
    journal = Journal(store.path)
    mark = journal.mark()
    edit(store, Undo(1))
    view = journal.view_at(mark)
    assert view is not None
    assert len(view.edits) == 2
    other = Journal(tmp_path)
    other.append(Reject(FIRST, "bright"), "anna", "test")
    other.append(Reject(SECOND, "dark"), "anna", "test")
    assert other.view_at(mark) is None
    assert other.view_at(Mark(9, "0" * 16)) is None
    assert other.view_at(Mark(0, "0" * 16)) is None
    start = other.view_at(Mark())
    assert start is not None
    assert start.edits == []


EDITS = st.lists(
    st.tuples(st.sampled_from(REFERENCES), st.sampled_from(["push it", "pull it", "tidy up"])), max_size=4
)


@settings(max_examples=25, deadline=None)
@given(before=EDITS, meanwhile=EDITS, written=EDITS)
def test_no_edit_of_another_person_is_replaced(
    made: Path,
    tmp_path_factory: pytest.TempPathFactory,
    before: list[tuple[str, str]],
    meanwhile: list[tuple[str, str]],
    written: list[tuple[str, str]],
) -> None:
    """Whatever two people do: references that only one of them changed end as that one left them."""
    folder = tmp_path_factory.mktemp("two")
    store = DatabaseStore(Path(shutil.copytree(made, folder / "db")))
    for name, text in before:
        edit(store, WriteTasks(name, (WrittenTask(1, text),)))
    export_tasks(store, folder / "tasks.yaml")
    first = {name: texts(store, name) for name in REFERENCES}
    for name, text in meanwhile:
        edit(store, WriteTasks(name, (WrittenTask(1, text),)), person="cleo")
    for name, text in written:
        write_in(folder / "tasks.yaml", name, text)
    theirs = {name: texts(store, name) for name in REFERENCES}
    import_tasks(store, folder / "tasks.yaml", "ben", Conflicts.KEEP)
    ours = first | {name: [text] for name, text in written}
    others = {name for name, _ in meanwhile}
    for name in REFERENCES:
        changed = ours[name] != first[name]
        expected = ours[name] if changed and name not in others else theirs[name]
        assert texts(store, name) == expected


def test_the_commands(store: DatabaseStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    database, file = str(store.path), tmp_path / "tasks.yaml"
    rows = {row.reference_id: row for row in rows_of(Reference, store.references())}
    assert main(["tasks", "export", database, "--out", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"images": 4, "tasks": 4, "rejected": 0}
    assert main(["tasks", "export", database, "--out", str(file)]) == 1
    assert capsys.readouterr().err.endswith("tasks.yaml exists; expected a new file\n")
    assert main(["tasks", "check", str(file)]) == 0
    said = capsys.readouterr()
    assert "4 images, 4 tasks" in said.out
    assert f"next: embodied-iqa tasks import DB {file} --person NAME" in said.err
    exported = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert (exported["journal"], exported["images"][0]["origin"]) == (0, rows[FIRST].origin)
    importing = ["tasks", "import", database, str(file), "--person", "ben"]
    assert main(importing) == 0
    assert "4 references, 4 tasks, 0 edits" in capsys.readouterr().out
    assert not (store.path / "journal").exists()
    write_in(file, FIRST, "push the cube")
    edit(store, WriteTasks(FIRST, (WrittenTask(1, "cover the cup"),)), person="cleo")
    assert main(importing) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "r00000 (edit 1 of cleo); nothing is imported" in line
    assert main([*importing, "--conflicts", "replace", "--json"]) == 0
    tree = json.loads(capsys.readouterr().out)
    assert (tree["edits"], tree["conflicts"]) == (1, ["r00000 (edit 1 of cleo)"])
    assert main([*importing, "--conflicts", "all"]) == 2
    assert main(["tasks", "import", database, str(file)]) == 2
    assert main(["tasks", "import", database, str(tmp_path / "none.yaml"), "--person", "ben"]) == 1
    assert main(["tasks", "export", str(tmp_path / "none"), "--out", str(tmp_path / "x.yaml")]) == 1
    assert not (tmp_path / "x.yaml").exists()
    assert len(capsys.readouterr().err.splitlines()) == 4
