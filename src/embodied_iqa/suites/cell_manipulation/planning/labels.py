"""Error classes of a run: rules and hand labels together, and the check against seeded faults."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from embodied_iqa.base.errors import InputError
from embodied_iqa.suites.cell_manipulation.planning.failures import (
    CLASS_OF,
    ErrorClass,
    ErrorKind,
    failure_of,
)
from embodied_iqa.suites.cell_manipulation.planning.faulty import Fault, fault_of
from embodied_iqa.suites.cell_manipulation.planning.transcript import Transcript

COLUMNS: Final = ("arm", "episode", "kind")
"""Columns of a file of hand labels; further ones are ignored."""
EXPECTED: Final = {
    Fault.CUT: ErrorKind.FORMAT,
    Fault.EMPTY: ErrorKind.TERMINATION,
    Fault.RANGE: ErrorKind.INVALID_ACTION,
    Fault.REPEAT: ErrorKind.REFLECTION,
    Fault.OTHER_OBJECT: ErrorKind.WRONG_RECOGNITION,
    Fault.NO_OBJECT: ErrorKind.HALLUCINATION,
    Fault.OFFSET: ErrorKind.INACCURATE_ACTION,
    Fault.NO_GRIP: ErrorKind.MISSING_STEP,
    Fault.OTHER_PLACE: ErrorKind.SPATIAL_REASONING,
}
"""Kind of error that a seeded fault should be found as; in the spatial subset, another object counts as
spatial understanding."""


@dataclass(frozen=True, slots=True)
class LabelledFailure:
    """A failed episode with its error.

    Attributes:
        arm: Its arm.
        episode: Its name.
        kind: By hand where there is a label, else by rules.
        by_rules: By rules.
        reason: Evidence of the rules.
        by_hand: Whether ``kind`` is a hand label.
        seeded: The fault that `planner-faulty` was given; None for other planners.
    """

    arm: str
    episode: str
    kind: ErrorKind
    by_rules: ErrorKind
    reason: str
    by_hand: bool
    seeded: Fault | None

    @property
    def error_class(self) -> ErrorClass:
        """The class of the kind."""
        return CLASS_OF[self.kind]


Labels = Mapping[tuple[str, str], ErrorKind]
"""Hand labels by arm and name of the episode."""


def read_labels(path: Path) -> Labels:
    """Read hand labels: CSV with the columns `COLUMNS`.

    Raises:
        InputError: The file cannot be read, lacks a column, or has an unknown kind.
    """
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"cannot read the labels {path}: {error}") from error
    found: dict[tuple[str, str], ErrorKind] = {}
    for number, row in enumerate(rows, start=2):
        arm, episode, kind = (row.get(column) for column in COLUMNS)
        if arm is None or episode is None or kind not in set(map(str, ErrorKind)):
            expected = f"columns {', '.join(COLUMNS)}; a kind of: {', '.join(ErrorKind)}"
            raise InputError(f"{path}, line {number}", expected=expected, got=kind)
        found[arm, episode] = ErrorKind(kind)
    return found


def label_failures(transcripts: Iterable[Transcript], labels: Labels) -> list[LabelledFailure]:
    """Return the failed episodes with their errors.

    Args:
        transcripts: Of a run.
        labels: Hand labels, which win over the rules.

    Raises:
        InputError: A label belongs to no failed episode of the run.
    """
    found = []
    unused = set(labels)
    for one in transcripts:
        failure = failure_of(one)
        key = one.arm, one.episode.name
        if failure is None:
            continue
        unused.discard(key)
        kind = labels.get(key, failure.kind)
        seeded = next((fault_of(turn.answer) for turn in one.turns if turn.answer), None)
        found.append(LabelledFailure(*key, kind, failure.kind, failure.reason, key in labels, seeded))
    if unused:
        raise InputError("a label for an episode that has not failed", got=", ".join(map("/".join, unused)))
    return found


def confusion(failures: Iterable[LabelledFailure]) -> dict[Fault, Counter[ErrorKind]]:
    """Return how often each seeded fault was found by rules as which kind of error."""
    table: dict[Fault, Counter[ErrorKind]] = {}
    for one in failures:
        if one.seeded is not None:
            table.setdefault(one.seeded, Counter())[one.by_rules] += 1
    return table


def solved_faults(transcripts: Iterable[Transcript]) -> Counter[Fault]:
    """Return how many episodes were solved in spite of each seeded fault."""
    answers = (
        next((turn.answer for turn in one.turns if turn.answer), "") for one in transcripts if one.success
    )
    return Counter(fault for answer in answers if (fault := fault_of(answer)) is not None)


def agreement(table: Mapping[Fault, Counter[ErrorKind]]) -> tuple[int, int]:
    """Return how many failures were found as `EXPECTED`, and of how many with an expected kind."""
    right = total = 0
    for fault, counts in table.items():
        if fault not in EXPECTED:
            continue
        total += counts.total()
        right += counts[EXPECTED[fault]]
        if fault is Fault.OTHER_OBJECT:
            right += counts[ErrorKind.SPATIAL_UNDERSTANDING]
    return right, total
