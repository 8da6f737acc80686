"""Journal of a folder: reads and writes edits, refuses those that contradict others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from embodied_iqa.errors import InputError, UserError
from embodied_iqa.journal.changes import Change, Edit, Undo, edit_of, edit_tree
from embodied_iqa.journal.log import JournalFile
from embodied_iqa.journal.view import EditView

FOLDER: Final = "journal"
FILE: Final = "edits.jsonl"

Check = Callable[[EditView], object]


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
        with self._lock, self._file.writing() as stream:
            self._take_in(self._file.catch_up(stream))
            if check is not None:
                check(self._view)
            if isinstance(change, Undo):
                _check_undo(self._view, change)
            edit = Edit(len(self._view.edits) + 1, time.time_ns(), person, origin, change)
            self._file.append(stream, edit_tree(edit))
            self._view.add(edit)
            return edit

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
