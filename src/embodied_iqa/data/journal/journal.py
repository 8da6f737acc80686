"""Journal of a folder: reads and writes edits, refuses those that contradict others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from embodied_iqa.base.errors import InputError, UserError
from embodied_iqa.data.journal.changes import Change, Edit, Undo, edit_of, edit_tree
from embodied_iqa.data.journal.log import JournalFile
from embodied_iqa.data.journal.view import EditView

FOLDER: Final = "journal"
FILE: Final = "edits.jsonl"

Check = Callable[[EditView], object]


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a journal; other journals lack it.

    Attributes:
        edits: Edits before it; 0 is the start of every journal.
        checksum: Of the last of these; empty for none.
    """

    edits: int = 0
    checksum: str = ""


class ConflictError(UserError):
    """Somebody else has changed the same thing meanwhile."""


class Journal:
    """Edits of a database or a run; several threads and processes may share it.

    Args:
        folder: Of the database or the run.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder / FOLDER
        self._file = JournalFile(self.folder / FILE)
        self._view = EditView()
        self._lock = threading.RLock()

    @property
    def exists(self) -> bool:
        """Whether anything was ever edited."""
        return self._file.path.is_file()

    @property
    def checksum(self) -> str:
        """Checksum of the last line that was read: it stands for all edits; empty for none."""
        return self._file.position.checksum

    def view(self) -> EditView:
        """Return what follows from all edits so far; it grows with later ones.

        Raises:
            InputError: The file is damaged.
        """
        with self._lock:
            self._take_in(self._file.read())
            return self._view

    def mark(self) -> Mark:
        """Return the place behind all edits so far."""
        with self._lock:
            return Mark(len(self.view().edits), self.checksum)

    def view_at(self, mark: Mark) -> EditView | None:
        """Return what followed from the edits before a mark; None for a mark of another journal."""
        edits = self.view().edits
        is_known = mark == Mark() or self._file.checksums[mark.edits - 1 : mark.edits] == [mark.checksum]
        return EditView(edits[: mark.edits]) if is_known else None

    def cut_bytes(self) -> int:
        """Return how many bytes of an unfinished line are at the end of the file; 0 for none."""
        self.view()
        return self._file.cut_bytes()

    def append(self, change: Change, person: str, origin: str, check: Check | None = None) -> Edit:
        """Write an edit; return once it is on the disk.

        Args:
            change: What changes.
            person: Who changes it.
            origin: From where.
            check: Called under the lock with the edits so far; raises to refuse this one.

        Raises:
            ConflictError: Another edit came first; see `unchanged_since`.
            UserError: `check` refuses it; the undone edit does not exist.
            InputError: The file cannot be written or is damaged.
        """

        def changes(view: EditView) -> tuple[Change]:
            if check is not None:
                check(view)
            return (change,)

        (edit,) = self.append_all(changes, person, origin)
        return edit

    def append_all(
        self, changes: Callable[[EditView], Iterable[Change]], person: str, origin: str
    ) -> list[Edit]:
        """Write edits, all or none; return once they are on the disk.

        Args:
            changes: Called under the lock with the edits so far; returns what changes, or raises.
            person: Who changes it.
            origin: From where.

        Raises:
            UserError: Of `changes`; an undone edit does not exist.
            InputError: The file cannot be written or is damaged.
        """
        with self._lock, self._file.writing() as stream:
            self._take_in(self._file.catch_up(stream))
            first = len(self._view.edits) + 1
            edits = [
                Edit(first + index, time.time_ns(), person, origin, change)
                for index, change in enumerate(changes(self._view))
            ]
            for edit in edits:
                if isinstance(edit.change, Undo):
                    _check_undo(self._view, edit.change)
            if edits:
                self._file.append(stream, [edit_tree(edit) for edit in edits])
            for edit in edits:
                self._view.add(edit)
            return edits

    def _take_in(self, lines: list[dict[str, object]]) -> None:
        for tree in lines:
            number = len(self._view.edits) + 1
            where = f"{self._file.path}:{number}"
            edit = edit_of(tree, where)
            if edit.sequence != number:
                raise InputError(f"{where}: wrong sequence", expected=str(number), got=edit.sequence)
            if isinstance(edit.change, Undo) and not 1 <= edit.change.sequence < number:
                raise InputError(f"{where}: undoes an edit that does not exist", got=edit.change.sequence)
            self._view.add(edit)


def unchanged_since(reference_id: str, sequence: int) -> Check:
    """Return a check that nobody has edited a reference since the person saw it.

    Args:
        reference_id: The reference.
        sequence: `ReferenceEdits.last` as the person saw it.
    """

    def check(view: EditView) -> None:
        last = view.reference(reference_id).last
        if last != sequence:
            edit = view.edits[last - 1]
            raise ConflictError(
                f"{edit.person} has edited {reference_id} meanwhile (edit {last}, {edit.kind}): "
                "compare, then save again"
            )

    return check


def _check_undo(view: EditView, change: Undo) -> None:
    if not 1 <= change.sequence <= len(view.edits):
        raise ConflictError("no such edit", expected=f"1 to {len(view.edits)}", got=change.sequence)
    target = view.edits[change.sequence - 1]
    if view.is_undone(target):
        raise ConflictError(f"edit {change.sequence} is undone already")
    later = view.replaced_by(target)
    if later is not None:
        raise ConflictError(f"edit {later.sequence} of {later.person} replaces it: undo that one first")
