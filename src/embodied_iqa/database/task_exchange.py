"""Exchange of edited tasks and labels as task files (docs/tasks.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from embodied_iqa.database.edits import edited_tasks, labels_of, rows_by_reference, settled_tasks
from embodied_iqa.database.rows import rows_of
from embodied_iqa.database.schema import Reference, ReferenceTask
from embodied_iqa.database.store import DatabaseStore
from embodied_iqa.errors import InputError
from embodied_iqa.files import write_text_whole
from embodied_iqa.journal.changes import Change, WriteLabels, WriteTasks, WrittenTask
from embodied_iqa.journal.journal import Journal, unchanged_since
from embodied_iqa.journal.view import EditView
from embodied_iqa.tasks.task_file_entries import FORMAT, VERSION
from embodied_iqa.tasks.task_files import PictureTasks, load_task_file
from embodied_iqa.tasks.vocabulary import Verb


@dataclass(frozen=True, slots=True)
class Exchange:
    """What an export or an import did.

    Attributes:
        pictures: References in the file.
        tasks: Their tasks.
        edits: New edits of an import; 0 for an export.
        left_out: Rejected references that an export lacks.
    """

    pictures: int
    tasks: int
    edits: int = 0
    left_out: int = 0


def export_tasks(store: DatabaseStore, file: Path) -> Exchange:
    """Write the tasks and labels of all references as they are after the edits.

    Pictures are named relative to the database, so that a file there is complete:
    ``build --from-folder DB --tasks DB/tasks.yaml`` reads it.

    Raises:
        InputError: The database or the journal is damaged, or the file cannot be written.
    """
    view = Journal(store.path).view()
    built = DatabaseStore(store.path, built=True)
    tasks = rows_by_reference(rows_of(ReferenceTask, built.tasks()))
    pictures, left_out = [], 0
    for row in rows_of(Reference, built.references()):
        if view.reference(row.reference_id).rejection is not None:
            left_out += 1
        else:
            pictures.append(_entry(row, edited_tasks(row, tasks.get(row.reference_id, ()), view), view))
    tree = {"format": FORMAT, "version": VERSION, "pictures": pictures}
    write_text_whole(file, yaml.safe_dump(tree, sort_keys=False, allow_unicode=True, width=100))
    return Exchange(len(pictures), sum(len(item["tasks"]) for item in pictures), left_out=left_out)


def import_tasks(store: DatabaseStore, file: Path, person: str) -> Exchange:
    """Add the tasks and labels of a file that differ from the database's as edits of a person.

    Args:
        store: The database.
        file: Its pictures are named as in `export_tasks`; it may list some of them.
        person: Whose edits they are.

    Raises:
        InputError: The file is damaged or names a picture that is no reference; nothing is imported then.
        ConflictError: Somebody edits one of the references at the same time; earlier ones are imported.
    """
    journal, built = Journal(store.path), DatabaseStore(store.path, built=True)
    listed = load_task_file(file, files_exist=False)
    references = {row.picture: row for row in rows_of(Reference, built.references())}
    unknown = [str(item.path) for item in listed if str(item.path) not in references]
    if unknown:
        raise InputError(
            f"{file} names {len(unknown)} pictures that are no references of {store.path}",
            expected="paths such as pictures/references/NAME-VIEW.png",
            got=unknown[0],
        )
    tasks = rows_by_reference(rows_of(ReferenceTask, built.tasks()))
    edits = 0
    for item in listed:
        row = references[str(item.path)]
        seen = journal.view().reference(row.reference_id).last
        for change in _changes(item, row, tasks.get(row.reference_id, ()), journal.view()):
            check = unchanged_since(row.reference_id, seen)
            seen = journal.append(change, person, f"import {file.name}", check).sequence
            edits += 1
    return Exchange(len(listed), sum(len(item.tasks) for item in listed), edits)


def _changes(
    item: PictureTasks, row: Reference, built: Sequence[ReferenceTask], view: EditView
) -> list[Change]:
    """Return what a picture of a file changes."""
    changes: list[Change] = []
    tasks = tuple(WrittenTask(task.rank, task.text, task.verb) for task in item.tasks)
    if tasks != settled_tasks(built, view, row.reference_id):
        changes.append(WriteTasks(row.reference_id, tasks))
    labels = (item.labels.main_object, item.labels.main_kind, item.labels.background)
    now = labels_of(row, view)
    if labels != (now.main_object, now.main_kind, now.background):
        changes.append(WriteLabels(row.reference_id, *labels))
    return changes


def _entry(row: Reference, tasks: Sequence[ReferenceTask], view: EditView) -> dict[str, Any]:
    labels = labels_of(row, view)
    named = {
        "main_object": labels.main_object,
        "main_kind": labels.main_kind,
        "background": labels.background,
    }
    return {
        "picture": row.picture,
        "view": str(row.view),
        **{name: text for name, text in named.items() if text is not None},
        "real": row.real,
        "tasks": [
            {"rank": task.rank, "text": task.text, **({"verb": task.verb} if task.verb in set(Verb) else {})}
            for task in tasks
        ],
    }
