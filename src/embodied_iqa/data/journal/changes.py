"""Records of a journal: what a person changed, and who, when and from where."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, TypeAlias, get_args

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.records import structure, unstructure
from embodied_iqa.models.scoring.execution_score import Outcome
from embodied_iqa.world.tasks.sentence import check_sentence
from embodied_iqa.world.tasks.task import MAX_RANK
from embodied_iqa.world.tasks.vocabulary import Verb

MAX_NAME_CHARACTERS: Final = 40
MAX_LABEL_CHARACTERS: Final = 60
MAX_NOTE_CHARACTERS: Final = 1000
LIKENESS: Final = 4
"""Best answer to "do these two answers mean the same?"; 0 is the worst."""
_PHOTOGRAPH: Final = re.compile(r"[0-9a-f]{64}\.jpg", re.ASCII)
_MAX_DISTANCE_MM: Final = 10_000.0


class Verdict(StrEnum):
    """Opinion of a person about a task."""

    FITS = "fits"
    """One clear task that the image shows and the robot could do."""
    UNCLEAR = "unclear"
    """It may mean several objects or actions."""
    IMPOSSIBLE = "impossible"
    """The image does not show what it names, or no robot could do it."""
    WORDING = "wording"
    """Wrong language: spelling, grammar."""


@dataclass(frozen=True, slots=True)
class WrittenTask:
    """A task as a person writes it.

    Attributes:
        rank: 1 (the easiest) to 5.
        text: The sentence.
        verb: Verb of the first step; None if it is none of the ten.
    """

    rank: int
    text: str
    verb: Verb | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.rank <= MAX_RANK:
            raise UsageError("bad rank of a task", expected=f"1 to {MAX_RANK}", got=self.rank)
        check_sentence(self.text)


@dataclass(frozen=True, slots=True)
class WriteTasks:
    """All tasks of a reference, by rank."""

    reference_id: str
    tasks: tuple[WrittenTask, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.tasks) <= MAX_RANK:
            raise UsageError("wrong number of tasks", expected=f"1 to {MAX_RANK}", got=len(self.tasks))
        if len({task.text.casefold() for task in self.tasks}) < len(self.tasks):
            raise UsageError("a task of a reference comes twice")
        ranks = [task.rank for task in self.tasks]
        if ranks != sorted(set(ranks)):
            raise UsageError("the ranks of a reference's tasks rise", got=ranks)


@dataclass(frozen=True, slots=True)
class WriteLabels:
    """Labels of a reference, see `world.tasks.task_files.ImageLabels`; None for unknown."""

    reference_id: str
    main_object: str | None
    main_kind: str | None
    background: str | None

    def __post_init__(self) -> None:
        for name in ("main_object", "main_kind", "background"):
            if (text := getattr(self, name)) is not None:
                _check_text(name, text, MAX_LABEL_CHARACTERS)


@dataclass(frozen=True, slots=True)
class Reject:
    """A reference that is unsuitable, and why; undo takes it back."""

    reference_id: str
    reason: str

    def __post_init__(self) -> None:
        _check_text("reason", self.reason, MAX_NOTE_CHARACTERS)


@dataclass(frozen=True, slots=True)
class TaskVerdict:
    """Verdict about one task, named by its text: it holds for these words only."""

    text: str
    verdict: Verdict
    remark: str = ""

    def __post_init__(self) -> None:
        _check_text("remark", self.remark, MAX_NOTE_CHARACTERS, least=0)


@dataclass(frozen=True, slots=True)
class Verify:
    """Opinion of a second person about a reference's tasks.

    Attributes:
        reference_id: The reference.
        blind: The person saw neither ranks nor opinions of others.
        verdicts: One for each task, in the order in which the person finds them rising in difficulty.
        ordered: The person gave that order; else it says nothing.
    """

    reference_id: str
    blind: bool
    verdicts: tuple[TaskVerdict, ...]
    ordered: bool = True

    def __post_init__(self) -> None:
        _check_verdicts(self.verdicts)


@dataclass(frozen=True, slots=True)
class Settle:
    """Decision of a third person about a disagreement; fields as of `Verify`, always ordered."""

    reference_id: str
    verdicts: tuple[TaskVerdict, ...]

    def __post_init__(self) -> None:
        _check_verdicts(self.verdicts)


@dataclass(frozen=True, slots=True)
class SpotCheck:
    """Opinion of a person about two answers of a subject.

    Attributes:
        pair_id: The distorted image.
        task_id: The task.
        subject: Who answered.
        likeness: 0 (they mean something else) to `LIKENESS` (the same).
    """

    pair_id: str
    task_id: str
    subject: str
    likeness: int

    def __post_init__(self) -> None:
        if not 0 <= self.likeness <= LIKENESS:
            raise UsageError("bad likeness", expected=f"0 to {LIKENESS}", got=self.likeness)


@dataclass(frozen=True, slots=True)
class JudgeRun:
    """Judgement of a run of a real arm.

    Attributes:
        trial: The trial, by the time when it started (UTC); of the first question where this is unknown.
        task: Its instruction; None if unknown.
        run_index: 0 is the reference run.
        outcome: Success, failure or emergency stop.
        distance_mm: Measured distance from where the object should be; None if not measured.
        note: Remark of the person.
        photograph: Name of a file in the journal's folder; None for none.
    """

    trial: str
    task: str | None
    run_index: int
    outcome: Outcome
    distance_mm: float | None = None
    note: str = ""
    photograph: str | None = None

    def __post_init__(self) -> None:
        _check_text("note", self.note, MAX_NOTE_CHARACTERS, least=0)
        distance = self.distance_mm
        if distance is not None and not (math.isfinite(distance) and 0 <= distance <= _MAX_DISTANCE_MM):
            raise UsageError("bad distance", expected=f"0 to {_MAX_DISTANCE_MM:g} mm", got=distance)
        if self.photograph is not None and not _PHOTOGRAPH.fullmatch(self.photograph):
            raise UsageError("bad name of a photograph", got=self.photograph)


@dataclass(frozen=True, slots=True)
class Undo:
    """The edit of this sequence is taken back; undoing an undo restores the edit."""

    sequence: int


Change: TypeAlias = WriteTasks | WriteLabels | Reject | Verify | Settle | SpotCheck | JudgeRun | Undo
_KINDS: Final[Mapping[str, Any]] = MappingProxyType({kind.__name__: kind for kind in get_args(Change)})


@dataclass(frozen=True, slots=True)
class Edit:
    """A record of the journal.

    Attributes:
        sequence: 1 for the first one; its line.
        stamp_ns: When, nanoseconds since 1970 UTC.
        person: Who.
        origin: From where: "studio 127.0.0.1", "import tasks.yaml".
        change: What.
    """

    sequence: int
    stamp_ns: int
    person: str
    origin: str
    change: Change

    def __post_init__(self) -> None:
        _check_text("name of a person", self.person, MAX_NAME_CHARACTERS)
        _check_text("origin", self.origin, MAX_NOTE_CHARACTERS)

    @property
    def kind(self) -> str:
        """Name of the change's class."""
        return type(self.change).__name__

    @property
    def reference_id(self) -> str | None:
        """The reference that it is about; None for other edits."""
        return getattr(self.change, "reference_id", None)


def edit_tree(edit: Edit) -> dict[str, Any]:
    """Return an edit as a line of the journal holds it."""
    return {
        "sequence": edit.sequence,
        "stamp_ns": edit.stamp_ns,
        "person": edit.person,
        "origin": edit.origin,
        "kind": edit.kind,
        "change": unstructure(edit.change),
    }


def edit_of(tree: Mapping[str, Any], where: str) -> Edit:
    """Return the edit of a line; the inverse of `edit_tree`.

    Raises:
        InputError: It is not an edit of this version.
    """
    if tree.keys() != {"sequence", "stamp_ns", "person", "origin", "kind", "change"}:
        raise InputError(f"{where}: not an edit", got=", ".join(sorted(tree)))
    kind = _KINDS.get(str(tree["kind"]))
    if kind is None:
        raise InputError(f"{where}: unknown kind of edit", got=tree["kind"], available=_KINDS)
    try:
        change = structure(kind, tree["change"], where)
        sequence, stamp_ns = (structure(int, tree[name], where) for name in ("sequence", "stamp_ns"))
        return Edit(sequence, stamp_ns, str(tree["person"]), str(tree["origin"]), change)
    except UsageError as error:
        raise InputError(f"{where}: {error}") from None


def _check_text(what: str, text: str, limit: int, least: int = 1) -> None:
    if not least <= len(text) <= limit or not text.isprintable() or text != " ".join(text.split()):
        expected = f"{least} to {limit} printable characters with single spaces"
        raise UsageError(f"bad {what}", expected=expected, got=text[:40])


def _check_verdicts(verdicts: tuple[TaskVerdict, ...]) -> None:
    texts = {item.text for item in verdicts}
    if not 1 <= len(verdicts) <= MAX_RANK or len(texts) < len(verdicts):
        raise UsageError("one verdict for each task", got=[item.text for item in verdicts])
