"""What the pages of people share for one database: journal, reservations, tables as built."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Final

from embodied_iqa.base.tables import rows_of
from embodied_iqa.data.database.edits import rows_by_reference, scene_of, written_tasks
from embodied_iqa.data.database.schema import Reference, ReferenceTask
from embodied_iqa.data.database.standings import Standing, standing_of
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.data.journal.changes import WrittenTask
from embodied_iqa.data.journal.journal import Journal
from embodied_iqa.data.journal.reservations import Reservations
from embodied_iqa.data.journal.view import EditView
from embodied_iqa.pages.studio.kit.context import Studio
from embodied_iqa.pages.studio.kit.sources import NotFoundError, Source
from embodied_iqa.world.scenes.language.advice import Surroundings, normalised, words_of

_LEAST_USES: Final = 2
"""Tasks that must use a word before it counts as known."""


@dataclass(frozen=True, slots=True)
class Tables:
    """References and tasks as built, in the order of the database."""

    references: Mapping[str, Reference]
    tasks: Mapping[str, list[ReferenceTask]]


class Workspace:
    """The work on one database.

    Args:
        folder: The database.
    """

    def __init__(self, folder: Path) -> None:
        self.store = DatabaseStore(folder)
        self.journal = Journal(folder)
        self.reservations = Reservations(folder)
        self._built = DatabaseStore(folder, built=True)
        self._lock = Lock()
        self._version: tuple[object, ...] = ()
        self._tables = Tables({}, {})

    def tables(self) -> Tables:
        """Return the tables; they are read again after a build."""
        files = self._built.references_file, self._built.tasks_file
        version = tuple((file.stat().st_mtime_ns, file.stat().st_size) for file in files if file.is_file())
        with self._lock:
            if version != self._version:
                complete = len(version) == len(files)
                references = rows_of(Reference, self._built.references()) if complete else []
                tasks = rows_of(ReferenceTask, self._built.tasks()) if complete else []
                by_id = {row.reference_id: row for row in references}
                self._tables, self._version = Tables(by_id, rows_by_reference(tasks)), version
            return self._tables

    def reference(self, reference_id: str) -> Reference:
        """Return a reference.

        Raises:
            NotFoundError: The database has none of this name.
        """
        found = self.tables().references.get(reference_id)
        if found is None:
            raise NotFoundError("no such reference", got=reference_id[:80])
        return found

    def tasks(self, reference_id: str) -> tuple[WrittenTask, ...]:
        """Return the tasks of a reference as they were written last, by rank."""
        built = self.tables().tasks.get(reference_id, [])
        return written_tasks(built, self.journal.view(), reference_id)

    def texts(self, reference_id: str) -> list[str]:
        """Return the sentences of a reference, by rank."""
        return [task.text for task in self.tasks(reference_id)]

    def standing(self, reference_id: str, view: EditView) -> Standing:
        """Return where the work on a reference stands."""
        return standing_of(reference_id, self.tables().tasks.get(reference_id, []), view)

    def standings(self) -> dict[str, Standing]:
        """Return where the work stands, by reference in the order of the database."""
        view = self.journal.view()
        return {name: self.standing(name, view) for name in self.tables().references}

    def surroundings(self, reference: Reference) -> Surroundings:
        """Return what the tasks of a reference are judged against."""
        used: Counter[str] = Counter()
        words: Counter[str] = Counter()
        for name in self.tables().references:
            if name != reference.reference_id:
                texts = self.texts(name)
                used.update({normalised(text) for text in texts})
                words.update({word for text in texts for word in words_of(text)})
        known = {word for word, count in words.items() if count >= _LEAST_USES}
        return Surroundings(scene_of(reference), reference.view, dict(used), known)


class Workspaces:
    """The workspaces of a studio, by database."""

    def __init__(self) -> None:
        self._known: dict[Path, Workspace] = {}
        self._lock = Lock()

    def of(self, source: Source) -> Workspace:
        """Return the workspace of a database."""
        with self._lock:
            return self._known.setdefault(source.path, Workspace(source.path))


def workspaces(studio: Studio) -> Workspaces:
    """Return the workspaces of a studio."""
    return studio.part(Workspaces)
