"""Exchange of edited tasks and labels as task files (docs/tasks.md)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import write_text_whole
from embodied_iqa.base.tables import rows_of
from embodied_iqa.base.user_files.yaml_files import dump_yaml
from embodied_iqa.data.database.edits import edited_tasks, labels_of, rows_by_reference, settled_tasks
from embodied_iqa.data.database.schema import Reference, ReferenceTask
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.data.journal.changes import Change, WriteLabels, WriteTasks, WrittenTask
from embodied_iqa.data.journal.journal import ConflictError, Journal, Mark
from embodied_iqa.data.journal.view import EditView
from embodied_iqa.world.tasks.task_file_entries import FORMAT, JOURNAL, JOURNAL_LINE, ORIGIN, VERSION
from embodied_iqa.world.tasks.task_files import ImageTasks, load_task_file
from embodied_iqa.world.tasks.vocabulary import Verb

_PLACE: Final = re.compile(r"[ '\"]*(?:0|([0-9]{1,9}) ([0-9a-f]{1,64}))[ '\"\r]*", re.ASCII)
_SHOWN: Final = 5


class Conflicts(StrEnum):
    """What happens to references that somebody has edited since the file was exported."""

    REFUSE = "refuse"
    """Nothing is imported."""
    KEEP = "keep"
    """They stay as they are; the others are imported."""
    REPLACE = "replace"
    """What the file changes replaces what the others wrote."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """What an export or an import did.

    Attributes:
        images: References in the file.
        tasks: Their tasks.
        edits: New edits of an import; 0 for an export.
        left_out: Rejected references that an export lacks.
        conflicts: References of an import that were edited since the export, and by whom last.
    """

    images: int
    tasks: int
    edits: int = 0
    left_out: int = 0
    conflicts: tuple[str, ...] = ()


def export_tasks(store: DatabaseStore, file: Path) -> Exchange:
    """Write the tasks and labels of all references as they are after the edits.

    Images are named relative to the database, so that a file there is complete:
    ``build --from-folder DB --tasks DB/tasks.yaml`` reads it. The file holds its place in the journal.

    Raises:
        InputError: The database or the journal is damaged, or the file cannot be written.
    """
    journal = Journal(store.path)
    mark = journal.mark()
    view = journal.view_at(mark) or EditView()
    built = DatabaseStore(store.path, built=True)
    tasks = rows_by_reference(rows_of(ReferenceTask, built.tasks()))
    images, left_out = [], 0
    for row in rows_of(Reference, built.references()):
        if view.reference(row.reference_id).rejection is not None:
            left_out += 1
        else:
            images.append(_entry(row, edited_tasks(row, tasks.get(row.reference_id, ()), view), view))
    place = f"{mark.edits} {mark.checksum}" if mark.edits else 0
    tree = {"format": FORMAT, "version": VERSION, JOURNAL: place, "images": images}
    write_text_whole(file, dump_yaml(tree, width=100))
    return Exchange(len(images), sum(len(item["tasks"]) for item in images), left_out=left_out)


def import_tasks(
    store: DatabaseStore, file: Path, person: str, conflicts: Conflicts = Conflicts.REFUSE
) -> Exchange:
    """Add the tasks and labels that a file changes as edits of a person, all or none.

    A file changes what differs from the database when it was exported; a file of another origin, what
    differs from the database as it was built.

    Args:
        store: The database.
        file: Its images are named as in `export_tasks`; it may list some of them.
        person: Whose edits they are.
        conflicts: What happens to references that somebody has edited since then in another way.

    Raises:
        InputError: The file is damaged or names an image that is not a reference.
        ConflictError: Somebody has edited references that the file changes; only with `REFUSE`.
    """
    journal, built = Journal(store.path), DatabaseStore(store.path, built=True)
    listed = load_task_file(file, files_exist=False)
    references = {row.image: row for row in rows_of(Reference, built.references())}
    unknown = [str(item.path) for item in listed if str(item.path) not in references]
    if unknown:
        raise InputError(
            f"{file} names {len(unknown)} images that are not references of {store.path}",
            expected="paths such as images/references/NAME-VIEW.png",
            got=unknown[0],
        )
    tasks = rows_by_reference(rows_of(ReferenceTask, built.tasks()))
    rows = [references[str(item.path)] for item in listed]
    images = [
        _Image(item, row, tasks.get(row.reference_id, ())) for item, row in zip(listed, rows, strict=True)
    ]
    base = journal.view_at(_mark_of(file)) or EditView()
    disputed: list[str] = []

    def changes(view: EditView) -> list[Change]:
        wanted, disputed[:] = _merged(images, base, view, conflicts)
        if disputed and conflicts is Conflicts.REFUSE:
            raise ConflictError(_conflict(file, disputed))
        return wanted

    # without a change no journal is begun
    edits = journal.append_all(changes, person, f"import {file.name}") if changes(journal.view()) else ()
    return Exchange(len(listed), sum(len(item.tasks) for item in listed), len(edits), 0, tuple(disputed))


@dataclass(frozen=True, slots=True)
class _Image:
    """An image of a file, with its row and tasks as they were built."""

    item: ImageTasks
    row: Reference
    built: Sequence[ReferenceTask]

    def changes(self, view: EditView) -> dict[type[Change], Change]:
        """Return what the file has otherwise than the database after some edits."""
        name, labels = self.row.reference_id, self.item.labels
        tasks = tuple(WrittenTask(task.rank, task.text, task.verb) for task in self.item.tasks)
        found: dict[type[Change], Change] = {}
        if tasks != settled_tasks(self.built, view, name):
            found[WriteTasks] = WriteTasks(name, tasks)
        written = WriteLabels(name, labels.main_object, labels.main_kind, labels.background)
        if written != labels_of(self.row, view):
            found[WriteLabels] = written
        return found


def _merged(
    images: Iterable[_Image], base: EditView, view: EditView, conflicts: Conflicts
) -> tuple[list[Change], list[str]]:
    """Return what to write, and the references that were edited since the export in another way."""
    changes: list[Change] = []
    disputed = []
    for image in images:
        name = image.row.reference_id
        now = image.changes(view)
        wanted = [now[kind] for kind in image.changes(base) if kind in now]
        last = view.reference(name).last
        is_disputed = bool(wanted) and last != base.reference(name).last
        if is_disputed:
            disputed.append(f"{name} (edit {last} of {view.edits[last - 1].person})")
        if not is_disputed or conflicts is Conflicts.REPLACE:
            changes += wanted
    return changes, disputed


def _conflict(file: Path, disputed: Sequence[str]) -> str:
    more = f" and {len(disputed) - _SHOWN} more" if len(disputed) > _SHOWN else ""
    return (
        f"{file} changes {len(disputed)} references that others have edited since its export: "
        f"{', '.join(disputed[:_SHOWN])}{more}; nothing is imported"
    )


def _mark_of(file: Path) -> Mark:
    """Return the place in the journal of a task file that can be read; the start for none."""
    found = JOURNAL_LINE.search(file.read_text(encoding="utf-8-sig"))
    if found is None or file.suffix.lower() == ".csv":
        return Mark()
    place = _PLACE.fullmatch(found["place"])
    if place is None:
        raise InputError(
            f"{file}: bad {JOURNAL}", expected="the line of the export", got=found["place"].strip()[:80]
        )
    return Mark(int(place[1]), place[2]) if place[1] else Mark()


def _entry(row: Reference, tasks: Sequence[ReferenceTask], view: EditView) -> dict[str, Any]:
    labels = labels_of(row, view)
    named = {
        "main_object": labels.main_object,
        "main_kind": labels.main_kind,
        "background": labels.background,
    }
    return {
        "image": row.image,
        ORIGIN: row.origin,
        "view": str(row.view),
        **{name: text for name, text in named.items() if text is not None},
        "real": row.real,
        "tasks": [
            {"rank": task.rank, "text": task.text, **({"verb": task.verb} if task.verb in set(Verb) else {})}
            for task in tasks
        ],
    }
