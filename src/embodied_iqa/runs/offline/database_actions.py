"""Decisions of a database against what was done in its source: a second reference."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from statistics import fmean
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.tables import rows_of
from embodied_iqa.data.database.record import RecordedSubject
from embodied_iqa.data.database.schema import Annotation, Reference, SourceKind
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.models.scoring.constants import load_constants
from embodied_iqa.models.scoring.decision import score_decisions
from embodied_iqa.models.subjects.catalogue import Role
from embodied_iqa.runs.offline.recorded_actions import RecordedActions
from embodied_iqa.world.protocols import ChunkStatus

Array = NDArray[np.float64]
ACTIONS_FILE: Final = "recorded_actions.csv"
"""Of a database."""
_UNSEEN: Final = "the policy saw no target"
"""Why a refusal is not compared."""
_WITH_ACTIONS: Final = {SourceKind.DATASET, SourceKind.RECORDING}


@dataclass(frozen=True, slots=True)
class ActionScore:
    """Agreement of one decision with what was done, and of that on the reference; None where unknown.

    A decision that refused (`no_target`), on this image or on the reference, is not compared.
    """

    subject: str
    reference_id: str
    pair_id: str
    task_id: str
    distortion_id: str
    level: int
    status: ChunkStatus | None
    reference_status: ChunkStatus | None
    score: float | None
    reference_score: float | None
    position_error_mm: float | None
    reason: str


def score_against_actions(store: DatabaseStore, actions: RecordedActions) -> Iterator[ActionScore]:
    """Yield the scores of all decisions of VLAs on distorted images.

    As many actions are taken as the decision on the reference has steps, one for one.

    Args:
        store: A finished database of the source of the actions.
        actions: What was done there, from its begin.

    Raises:
        InputError: The source is damaged.
    """
    references = {
        row.reference_id: row for row in rows_of(Reference, store.references()) if row.source in _WITH_ACTIONS
    }
    for subject in store.record().subjects:
        if subject.role is Role.VLA and store.constants_file(subject.name).is_file():
            yield from _of_subject(store, subject, references, actions.again())


def as_csv(rows: Iterable[ActionScore]) -> str:
    """Return scores as CSV; what is unknown is empty."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, [one.name for one in fields(ActionScore)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in rows)
    return stream.getvalue()


def means_of(rows: Iterable[ActionScore]) -> dict[str, dict[str, float | int | None]]:
    """Return by subject the number of decisions that were compared or refused, refusals, and the means."""
    found: dict[str, list[ActionScore]] = {}
    for row in rows:
        found.setdefault(row.subject, []).extend(
            [row] if row.score is not None or row.reason == _UNSEEN else []
        )
    return {subject: _means(own) for subject, own in found.items()}


def _means(rows: Sequence[ActionScore]) -> dict[str, float | int | None]:
    compared = [row for row in rows if row.score is not None]
    names = ("score", "reference_score", "position_error_mm")
    return {
        "decisions": len(rows),
        "refused": sum(row.status is ChunkStatus.NO_TARGET for row in rows),
        "reference_refused": sum(row.reference_status is ChunkStatus.NO_TARGET for row in rows),
        **{name: fmean(getattr(row, name) for row in compared) if compared else None for name in names},
    }


def _of_subject(
    store: DatabaseStore,
    subject: RecordedSubject,
    references: Mapping[str, Reference],
    actions: RecordedActions,
) -> Iterator[ActionScore]:
    d_max_m = load_constants(store.constants_file(subject.name)).d_max_m or 0.0
    done = _all_done(store, subject, references, actions)
    for part in store.annotation_parts(subject.name):
        rows = [row for row in rows_of(Annotation, part) if row.reference_id in references]
        first = {(row.reference_id, row.task_id): row for row in rows if row.pair_id is None}
        for row in rows:
            if row.pair_id is None:
                continue
            key = row.reference_id, row.task_id
            raw = first[key]
            scores: tuple[float | None, float | None, float | None, str]
            try:
                scores = _scores(row, raw, references[row.reference_id], done[key], d_max_m)
            except InputError as error:
                scores = (None, None, None, str(error))
            place = (row.subject, row.reference_id, row.pair_id, row.task_id, row.distortion_id, row.level)
            yield ActionScore(*place, row.status, raw.status, *scores)


def _all_done(
    store: DatabaseStore,
    subject: RecordedSubject,
    references: Mapping[str, Reference],
    actions: RecordedActions,
) -> dict[tuple[str, str], Array | InputError]:
    """Return what was done from each reference and task on, or why that is not known; in one pass."""
    raws = [
        row
        for part in store.annotation_parts(subject.name)
        for row in rows_of(Annotation, part)
        if row.pair_id is None and row.reference_id in references
    ]
    found: dict[tuple[str, str], Array | InputError] = {}
    for raw in sorted(raws, key=lambda row: references[row.reference_id].noise_stamp_ns):
        try:
            done: Array | InputError = _done(raw, references[raw.reference_id], actions)
        except InputError as error:
            done = error
        found[raw.reference_id, raw.task_id] = done
    return found


def _scores(
    row: Annotation, raw: Annotation, reference: Reference, done: Array | InputError, d_max_m: float
) -> tuple[float, float, float, str]:
    if isinstance(done, InputError):
        raise done
    if row.error is not None:
        raise InputError(row.error)
    if row.status is ChunkStatus.NO_TARGET:
        raise InputError(_UNSEEN)
    gripper = reference.gripper or 0.0
    found, clean = score_decisions([_increments(row), _increments(raw)], done, d_max_m, gripper=gripper)
    return found.score, clean.score, found.position_error_mm, ""


def _done(raw: Annotation, reference: Reference, actions: RecordedActions) -> Array:
    """Return what was done from a reference on, for as many steps as the decision on it has.

    Raises:
        InputError: There is no such decision, it refused, or the episode ends before.
    """
    if raw.error is None and raw.status is ChunkStatus.NO_TARGET:
        raise InputError(_UNSEEN)
    if raw.error is not None or raw.status is not ChunkStatus.ACT:
        raise InputError(raw.error or "no step was decided on the reference")
    if reference.T_base_tool is None or reference.gripper is None or reference.stamp_ns is None:
        raise InputError("the pose of the tool, the gripper or the time is not known")
    T_base_tool = np.array(reference.T_base_tool).reshape(4, 4)
    return actions.increments(reference.stamp_ns, len(_increments(raw)), T_base_tool, reference.gripper)


def _increments(row: Annotation) -> Array:
    return np.array(row.increments or (), np.float64).reshape(-1, 7)
