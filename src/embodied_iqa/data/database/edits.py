"""Tables of a database after the edits of people.

What was built stays in `journal/built/`; `references.parquet`, `tasks.parquet` and `pairs.parquet` follow
from it and the journal. `build` and `annotate` derive them again before they query the subjects; until then
the edits wait.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.files import sha256_of, write_json_whole
from embodied_iqa.base.records import read_json, unstructure
from embodied_iqa.base.tables import rows_of, table_of, write_table
from embodied_iqa.data.database.schema import PAIRS, REFERENCES, TASKS, Reference, ReferenceTask
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.data.journal.changes import Edit, Reject, Settle, Undo, WriteLabels, WriteTasks, WrittenTask
from embodied_iqa.data.journal.journal import Journal
from embodied_iqa.data.journal.view import EditView
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.world.scenes.language.resolver import resolve_plan
from embodied_iqa.world.scenes.scene import Scene, make_scene
from embodied_iqa.world.tasks.instruction import Instruction, parse_instruction
from embodied_iqa.world.tasks.task import Task, TaskSource, task_row
from embodied_iqa.world.tasks.vocabulary import Verb

_SCHEMAS: Final = {"references.parquet": REFERENCES, "tasks.parquet": TASKS, "pairs.parquet": PAIRS}
_OF_TABLES: Final = (WriteTasks, WriteLabels, Reject, Settle)


@dataclass(frozen=True, slots=True)
class Applied:
    """Content of `journal/applied.json`: the edits that the tables have.

    Attributes:
        edits: Their number.
        built: Hash of each table before the edits, by file name.
        tables: Likewise after them.
    """

    edits: int
    built: dict[str, str]
    tables: dict[str, str]


def applied_file(store: DatabaseStore) -> Path:
    """Return the file that says which edits the tables have."""
    return store.path / "journal" / "applied.json"


def read_applied(store: DatabaseStore) -> Applied | None:
    """Return which edits the tables have; None where none were ever applied.

    Raises:
        InputError: The file is damaged.
    """
    file = applied_file(store)
    return read_json(Applied, file, "the applied edits") if file.is_file() else None


def waiting_edits(store: DatabaseStore, journal: Journal) -> int:
    """Return how many edits change tables and are not in them yet."""
    view = journal.view()
    applied = read_applied(store)
    return sum(_changes_tables(view, edit) for edit in view.edits[0 if applied is None else applied.edits :])


def state_of(store: DatabaseStore) -> str:
    """Return what a database lacks before its tables are final, with the command; empty for nothing."""
    if (command := store.record().unfinished) is not None:
        return f"the build of {store.path} has not ended: {command}"
    try:
        waiting = waiting_edits(store, Journal(store.path))
    except InputError as error:  # tables are read without it
        return f"edits of people are not known: {error}"
    if waiting:
        edits = f"{waiting} edits of people are" if waiting > 1 else "1 edit of a person is"
        return f"{edits} not in the tables of {store.path}: {annotate_command(store)}"
    return ""


def annotate_command(store: DatabaseStore) -> str:
    """Return the command that applies edits and queries the subjects about what is missing."""
    return shlex.join(["embodied-iqa", "annotate", "--out", str(store.path)])


def apply_edits(store: DatabaseStore) -> int:
    """Derive the tables from what was built and the journal, unless they are up to date.

    Args:
        store: A database with references, tasks and pairs, locked by the caller.

    Returns:
        The number of edits that are new in the tables.

    Raises:
        InputError: The journal or a table is damaged.
    """
    journal = Journal(store.path)
    view, names = journal.view(), store.tables().keys()
    if not all(Path(name).stem in names for name in _SCHEMAS):
        return 0
    waiting = waiting_edits(store, journal)
    if not store.built_folder.is_dir():
        if not waiting:
            return 0
        _keep_built(store)
    built = {name: sha256_of(store.built_folder / name) for name in _SCHEMAS}
    applied = read_applied(store)
    if applied is not None and not waiting and applied.built == built and applied.tables == _hashes(store):
        return 0
    for name, table in edited_tables(store, view).items():
        digest = sha256(f"{built[name]} {journal.checksum}".encode()).hexdigest()[:32]
        write_table(store.path / name, table, _SCHEMAS[name], digest)
    done = Applied(len(view.edits), built, _hashes(store))
    write_json_whole(applied_file(store), unstructure(done))
    return waiting


def edited_tables(store: DatabaseStore, view: EditView) -> dict[str, Any]:
    """Return references, tasks and pairs after the edits, by file name, as Arrow tables."""
    built = DatabaseStore(store.path, built=True)
    references = rows_of(Reference, built.references())
    rejected = {name for name in view.edited() if view.reference(name).rejection is not None}
    kept = [_labelled(row, view) for row in references if row.reference_id not in rejected]
    written = rows_by_reference(rows_of(ReferenceTask, built.tasks()))
    tasks = [task for row in kept for task in edited_tasks(row, written.get(row.reference_id, ()), view)]
    pairs = built.pairs()
    gone = pc.is_in(pairs["reference_id"], pa.array(sorted(rejected), pa.string()))
    return {
        "references.parquet": table_of(Reference, kept),
        "tasks.parquet": table_of(ReferenceTask, tasks),
        "pairs.parquet": pairs.filter(pc.invert(gone)),
    }


def edited_tasks(
    reference: Reference, built: Sequence[ReferenceTask], view: EditView
) -> tuple[ReferenceTask, ...]:
    """Return the tasks of a reference after the edits, by rank; unchanged ones keep their row.

    Args:
        reference: The reference.
        built: Its tasks before the edits.
        view: The edits.
    """
    known = {_key(row): row for row in built}
    scene = None
    rows = []
    for task in settled_tasks(built, view, reference.reference_id):
        row = known.get((task.rank, task.text, task.verb))
        if row is None:
            scene = scene or scene_of(reference)
            row = _task(reference, task, scene)
        rows.append(row)
    return tuple(rows)


def settled_tasks(
    built: Sequence[ReferenceTask], view: EditView, reference_id: str
) -> tuple[WrittenTask, ...]:
    """Return the tasks of a reference in the order of the settlement, if there is one."""
    written = written_tasks(built, view, reference_id)
    by_text = {task.text: task for task in written}
    order = view.reference(reference_id).order([task.text for task in written])
    ranks = [task.rank for task in written]
    return tuple(replace(by_text[text], rank=rank) for rank, text in zip(ranks, order, strict=True))


def written_tasks(
    built: Sequence[ReferenceTask], view: EditView, reference_id: str
) -> tuple[WrittenTask, ...]:
    """Return the tasks of a reference as they were written last, before a settlement, by rank."""
    edit = view.reference(reference_id).tasks
    if edit is not None and isinstance(edit.change, WriteTasks):
        return edit.change.tasks
    return tuple(WrittenTask(*_key(row)) for row in sorted(built, key=lambda row: row.rank))


def scene_of(reference: Reference) -> Scene | None:
    """Return the scene of a simulated reference; None where it is not known."""
    if reference.scene_seed is None or reference.instruction is None:
        return None
    try:
        return make_scene(reference.scene_seed, parse_instruction(reference.instruction))
    except UsageError:
        return None


def plan_of(text: str, scene: Scene | None, view: View) -> tuple[Instruction, ...]:
    """Return the steps of a task; empty where the scene is not known or the resolver refuses the sentence."""
    try:
        return () if scene is None else resolve_plan(text, scene, view=view)
    except UsageError:
        return ()


def _key(row: ReferenceTask) -> tuple[int, str, Verb | None]:
    return row.rank, row.text, Verb(row.verb) if row.verb in set(Verb) else None


def _task(reference: Reference, written: WrittenTask, scene: Scene | None) -> ReferenceTask:
    plan = plan_of(written.text, scene, reference.view)
    key = f"{reference.reference_id}:{written.rank}:{written.text}"
    task = Task(
        id="e" + sha256(key.encode()).hexdigest()[:15],
        rank=written.rank,
        text=written.text,
        verb=plan[0].verb if plan else written.verb,
        instruction=plan[0] if plan else None,
        plan=plan,
        source=TaskSource.PERSON,
    )
    row: dict[str, Any] = {**task_row(task), "source": task.source}
    return ReferenceTask(reference.reference_id, **row)


def labels_of(reference: Reference, view: EditView) -> WriteLabels:
    """Return the labels of a reference after the edits."""
    edit = view.reference(reference.reference_id).labels
    if edit is not None and isinstance(edit.change, WriteLabels):
        return edit.change
    return WriteLabels(
        reference.reference_id, reference.main_object, reference.main_kind, reference.background
    )


def _labelled(reference: Reference, view: EditView) -> Reference:
    labels = labels_of(reference, view)
    return replace(
        reference,
        main_object=labels.main_object,
        main_kind=labels.main_kind,
        background=labels.background,
    )


def _keep_built(store: DatabaseStore) -> None:
    """Keep the tables as built: all of them or none."""
    fresh = store.built_folder.with_name(".built.part")
    try:
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        for name in _SCHEMAS:
            os.link(store.path / name, fresh / name)
        fresh.rename(store.built_folder)
    except OSError as error:
        raise InputError(f"cannot write {store.built_folder}: {error.strerror}") from None


def _hashes(store: DatabaseStore) -> dict[str, str]:
    return {name: sha256_of(store.path / name) for name in _SCHEMAS}


def _changes_tables(view: EditView, edit: Edit) -> bool:
    while isinstance(edit.change, Undo):
        edit = view.edits[edit.change.sequence - 1]
    return isinstance(edit.change, _OF_TABLES)


def rows_by_reference(rows: Iterable[ReferenceTask]) -> Mapping[str, list[ReferenceTask]]:
    """Return tasks by reference."""
    found: dict[str, list[ReferenceTask]] = {}
    for row in rows:
        found.setdefault(row.reference_id, []).append(row)
    return found
