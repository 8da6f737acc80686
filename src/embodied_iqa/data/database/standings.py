"""Where the work of people on the references of a database stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

from embodied_iqa.base.tables import rows_of
from embodied_iqa.data.database.edits import rows_by_reference, written_tasks
from embodied_iqa.data.database.schema import ReferenceTask
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.data.journal.view import EditView, Verification
from embodied_iqa.world.tasks.task import MAX_RANK


class Standing(StrEnum):
    """Where the work on a reference stands."""

    WRITE = "to write"
    """Fewer than five tasks."""
    VERIFY = "to verify"
    SETTLE = "to settle"
    RETURNED = "returned"
    DONE = "done"
    REJECTED = "rejected"


_OF_VERIFICATION: Final = {
    Verification.OPEN: Standing.VERIFY,
    Verification.AGREED: Standing.DONE,
    Verification.DISPUTED: Standing.SETTLE,
    Verification.SETTLED: Standing.DONE,
    Verification.RETURNED: Standing.RETURNED,
}


def standing_of(reference_id: str, built: Sequence[ReferenceTask], view: EditView) -> Standing:
    """Return where the work on a reference stands.

    Args:
        reference_id: The reference.
        built: Its tasks before the edits of people.
        view: The edits.
    """
    edits = view.reference(reference_id)
    if edits.rejection is not None:
        return Standing.REJECTED
    tasks = written_tasks(built, view, reference_id)
    if len(tasks) < MAX_RANK and not edits.verifications:
        return Standing.WRITE
    return _OF_VERIFICATION[edits.verification([task.text for task in tasks])]


def standings_of(store: DatabaseStore, view: EditView) -> Mapping[str, Standing]:
    """Return where the work on each reference stands, in the order of the database."""
    before = DatabaseStore(store.path, built=True)
    tasks = rows_by_reference(rows_of(ReferenceTask, before.tasks()))
    names = before.references(["reference_id"])["reference_id"].to_pylist()
    return {name: standing_of(name, tasks.get(name, ()), view) for name in names}
