"""What follows from a journal's edits: the state of each reference, without the edits that were undone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from embodied_iqa.data.journal.changes import (
    Change,
    Edit,
    JudgeRun,
    Reject,
    Settle,
    SpotCheck,
    TaskVerdict,
    Undo,
    Verdict,
    Verify,
    WriteLabels,
    WriteTasks,
)


class Verification(StrEnum):
    """Where the verification of a reference's tasks stands."""

    OPEN = "open"
    """No second person has seen the tasks as they are."""
    AGREED = "agreed"
    """All who saw them found that they fit, and in every order that was given they rise in difficulty."""
    DISPUTED = "disputed"
    """Opinions differ: a third person settles it."""
    SETTLED = "settled"
    RETURNED = "returned"
    """Settled: a task does not fit and is to be written again."""


@dataclass(frozen=True, slots=True)
class ReferenceEdits:
    """Edits of a reference that count.

    Attributes:
        tasks: The last tasks that were written; None where the built ones hold.
        labels: Likewise.
        rejection: Why it is rejected; None where it is not.
        verifications: Of each person the last one, whatever the tasks were.
        settlement: The last one.
        last: Sequence of the last edit about it, undone ones and undos included; 0 for none.
    """

    tasks: Edit | None = None
    labels: Edit | None = None
    rejection: Edit | None = None
    verifications: tuple[Edit, ...] = ()
    settlement: Edit | None = None
    last: int = 0

    def opinions(self, texts: Sequence[str]) -> dict[str, Verify]:
        """Return the verifications of exactly these tasks, by person."""
        found = {}
        for edit in self.verifications:
            if isinstance(edit.change, Verify) and _is_about(edit.change.verdicts, texts):
                found[edit.person] = edit.change
        return found

    def decision(self, texts: Sequence[str]) -> Settle | None:
        """Return the settlement of exactly these tasks; None for none."""
        change = None if self.settlement is None else self.settlement.change
        return change if isinstance(change, Settle) and _is_about(change.verdicts, texts) else None

    def verification(self, texts: Sequence[str]) -> Verification:
        """Return where the verification of these tasks stands.

        Args:
            texts: The tasks before the settlement, by rank.
        """
        decision = self.decision(texts)
        if decision is not None:
            fits = all(item.verdict is Verdict.FITS for item in decision.verdicts)
            return Verification.SETTLED if fits else Verification.RETURNED
        opinions = self.opinions(texts).values()
        if not opinions:
            return Verification.OPEN
        return Verification.DISPUTED if disputed(opinions, texts) else Verification.AGREED

    def order(self, texts: Sequence[str]) -> tuple[str, ...]:
        """Return the tasks by rank after the settlement."""
        decision = self.decision(texts)
        return tuple(texts) if decision is None else tuple(item.text for item in decision.verdicts)


class EditView:
    """Edits by what they are about; grows with the journal.

    Args:
        edits: The first ones.
    """

    def __init__(self, edits: Iterable[Edit] = ()) -> None:
        self.edits: list[Edit] = []
        self._undone: set[int] = set()
        self._of_reference: defaultdict[str, list[Edit]] = defaultdict(list)
        self._last: dict[str, int] = {}
        for edit in edits:
            self.add(edit)

    def add(self, edit: Edit) -> None:
        """Take in the next edit."""
        self.edits.append(edit)
        if isinstance(edit.change, Undo):
            self._flip(edit.change.sequence)
        reference_id = self.reference_of(edit)
        if reference_id is not None:
            self._last[reference_id] = edit.sequence
            if not isinstance(edit.change, Undo):
                self._of_reference[reference_id].append(edit)

    def is_undone(self, edit: Edit) -> bool:
        """Return whether an edit does not count."""
        return edit.sequence in self._undone

    def reference_of(self, edit: Edit) -> str | None:
        """Return the reference that an edit, or the edit that it undoes, is about."""
        while isinstance(edit.change, Undo):
            edit = self.edits[edit.change.sequence - 1]
        return edit.reference_id

    def edited(self) -> list[str]:
        """Return the references with edits, undone ones included."""
        return sorted(self._last)

    def reference(self, reference_id: str) -> ReferenceEdits:
        """Return what counts of the edits of a reference."""
        found: dict[type[Change], Edit] = {}
        verifications: dict[str, Edit] = {}
        for edit in self._of_reference.get(reference_id, ()):
            if self.is_undone(edit):
                continue
            if isinstance(edit.change, Verify):
                verifications[edit.person] = edit
            else:
                found[type(edit.change)] = edit
        return ReferenceEdits(
            found.get(WriteTasks),
            found.get(WriteLabels),
            found.get(Reject),
            tuple(verifications.values()),
            found.get(Settle),
            self._last.get(reference_id, 0),
        )

    def spot_checks(self) -> dict[tuple[str, str, str, str], SpotCheck]:
        """Return the last opinion of each person about each pair, task and subject."""
        return {
            (edit.person, edit.change.pair_id, edit.change.task_id, edit.change.subject): edit.change
            for edit in self._counting()
            if isinstance(edit.change, SpotCheck)
        }

    def judgements(self) -> list[tuple[Edit, JudgeRun]]:
        """Return the last judgement of each run, by sequence."""
        found = {
            (edit.change.trial, edit.change.run_index): (edit, edit.change)
            for edit in self._counting()
            if isinstance(edit.change, JudgeRun)
        }
        return sorted(found.values(), key=lambda item: item[0].sequence)

    def replaced_by(self, target: Edit) -> Edit | None:
        """Return the later edit that makes undoing this one meaningless; None for none."""
        if target.reference_id is None or isinstance(target.change, Undo):
            return None
        for edit in reversed(self._of_reference[target.reference_id]):
            own = edit.person == target.person or not isinstance(edit.change, Verify)
            if own and type(edit.change) is type(target.change) and not self.is_undone(edit):
                return edit if edit.sequence > target.sequence else None
        return None

    def _counting(self) -> Iterator[Edit]:
        return (edit for edit in self.edits if not self.is_undone(edit))

    def _flip(self, sequence: int) -> None:
        """Undo an edit, or restore it; of an undo, likewise what it undid."""
        self._undone ^= {sequence}
        change = self.edits[sequence - 1].change
        if isinstance(change, Undo):
            self._flip(change.sequence)


def disputed(opinions: Iterable[Verify], texts: Sequence[str]) -> list[str]:
    """Return the tasks about which someone disagrees with the writer: it does not fit, or the rank given."""
    wrong = set()
    for opinion in opinions:
        for rank, item in enumerate(opinion.verdicts):
            if item.verdict is not Verdict.FITS or (opinion.ordered and texts[rank] != item.text):
                wrong.add(item.text)
    return [text for text in texts if text in wrong]


def _is_about(verdicts: Sequence[TaskVerdict], texts: Sequence[str]) -> bool:
    return sorted(item.text for item in verdicts) == sorted(texts)
