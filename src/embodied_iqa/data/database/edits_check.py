"""Verification of a database's journal, and of the tables that follow from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from embodied_iqa.base.files import sha256_of
from embodied_iqa.base.tables import read_table
from embodied_iqa.data.database.edits import applied_file, edited_tables, read_applied, waiting_edits
from embodied_iqa.data.database.standings import Standing, standings_of
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.data.journal.changes import JudgeRun
from embodied_iqa.data.journal.journal import Journal
from embodied_iqa.data.journal.view import EditView


def check_edits(store: DatabaseStore) -> tuple[list[str], list[str]]:
    """Return the errors and the remarks about the edits of a database.

    Raises:
        InputError: The journal is damaged; the message names the line.
    """
    journal = Journal(store.path)
    if not journal.exists:
        gone = [f"{journal.folder}: the edits are gone"] if applied_file(store).exists() else []
        return gone, []
    view = journal.view()
    remarks = list(_remarks(store, journal, view))
    return [*_derived(store, view), *_photographs(journal, view)], remarks


def _remarks(store: DatabaseStore, journal: Journal, view: EditView) -> Iterator[str]:
    if cut := journal.cut_bytes():
        yield f"the last line of the journal is cut ({cut} bytes); no accepted edit is lost"
    if waiting := waiting_edits(store, journal):
        words = "edit is" if waiting == 1 else "edits are"
        yield f"{waiting} {words} not in the tables yet: run `embodied-iqa annotate`"
    known = set(store.references(["reference_id"])["reference_id"].to_pylist())
    rejected = {name for name in view.edited() if view.reference(name).rejection is not None}
    if rejected:
        yield f"{_references(len(rejected))} {'is' if len(rejected) == 1 else 'are'} rejected"
    if unknown := set(view.edited()) - known - rejected:
        yield f"the journal has edits of {_references(len(unknown))} not in the database"
    states = Counter(standings_of(store, view).values())
    for state, words in ((Standing.SETTLE, "disputed"), (Standing.RETURNED, "returned")):
        if count := states[state]:
            yield f"{_references(count)} {'has' if count == 1 else 'have'} {words} tasks"


def _derived(store: DatabaseStore, view: EditView) -> Iterator[str]:
    """Compare the tables with what follows from the edits that they should have."""
    applied = read_applied(store)
    if applied is None:
        return
    if applied.edits > len(view.edits):
        yield f"the journal has {len(view.edits)} edits, but the tables have {applied.edits}"
        return
    for name, digest in applied.built.items():
        if sha256_of(store.built_folder / name) != digest:
            yield f"journal/built/{name} is not the file from which the tables were derived"
    then = EditView(view.edits[: applied.edits])
    for name, table in edited_tables(store, then).items():
        found = read_table(store.path / name, table.schema.names)
        if not found.replace_schema_metadata(None).equals(table.replace_schema_metadata(None)):
            yield f"{name} does not follow from the journal: run `embodied-iqa annotate`"


def _photographs(journal: Journal, view: EditView) -> Iterator[str]:
    for edit in view.edits:
        if isinstance(edit.change, JudgeRun) and edit.change.photograph is not None:
            file = journal.folder / "photographs" / edit.change.photograph
            if not file.is_file() or sha256_of(file) != Path(edit.change.photograph).stem:
                yield f"{file}: the photograph of edit {edit.sequence} is missing or changed"


def _references(count: int) -> str:
    return f"{count} reference{'' if count == 1 else 's'}"
