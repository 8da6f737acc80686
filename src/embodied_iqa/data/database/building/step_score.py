"""Step 5: scores of all answers against the subject's own answers on the reference."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, InternalError
from embodied_iqa.base.files import sha256_of, write_whole
from embodied_iqa.base.jobs.engine import BlockReport, Job
from embodied_iqa.base.jobs.plan import digest_of
from embodied_iqa.base.tables import read_digest, read_table, rows_of, stamped, table_of, write_table
from embodied_iqa.data.database.record import RecordedSubject
from embodied_iqa.data.database.schema import ANNOTATIONS, SCHEMA_VERSION, SCORES, Annotation, Score
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.scoring.cider import CIDER_MAX
from embodied_iqa.models.scoring.cognition import COGNITION_RECIPE, CognitionScore, score_cognition
from embodied_iqa.models.scoring.constants import SubjectConstants, load_constants, save_constants
from embodied_iqa.models.scoring.decision import DECISION_RECIPE, position_scale_m, score_decisions
from embodied_iqa.models.scoring.frequencies import document_frequencies
from embodied_iqa.models.subjects.catalogue import Role
from embodied_iqa.world.protocols import ChunkStatus, is_refusal

_ROWS_PER_GROUP: Final = 65_536
_Shown = tuple[View, float | None]
"""View of a reference, and the gripper's opening, where it is known."""
_Scorer = Callable[[Sequence[Annotation], Annotation, _Shown], list[dict[str, Any]]]
"""Returns the columns of the scores of answers on distorted images of one reference, for one task.

Takes these answers, that on the reference, and the reference.
"""


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a subject's answers, and what its scores depend on."""

    subject: str
    number: int
    answers: Path
    scores: Path
    digest: str


def score_database(
    store: DatabaseStore, subjects: Sequence[RecordedSubject], run: Callable[[Sequence[Job]], object]
) -> dict[str, str]:
    """Measure each subject's constants, score its answers, write all scores to `scores.parquet`.

    Args:
        store: The database, with annotations.
        subjects: The subjects to score.
        run: Runs jobs.

    Returns:
        Subjects without constants, and why: their answers get no scores.
    """
    ordered = sorted(subjects, key=lambda subject: subject.name)
    unscaled: dict[str, str] = {}
    parts = [part for subject in ordered for part in _parts(store, subject, unscaled)]
    columns = store.references(["reference_id", "view", "gripper"]).to_pydict()
    views = map(View, columns["view"])
    shown = dict(zip(columns["reference_id"], zip(views, columns["gripper"], strict=True), strict=True))
    job = partial(_score_part, store, shown)
    run([partial(job, part) for part in parts if read_digest(part.scores) != part.digest])
    digest = digest_of("scores", [part.digest for part in parts])
    if read_digest(store.scores_file) != digest:
        _concatenate(store, parts, digest)
    return unscaled


def _parts(store: DatabaseStore, subject: RecordedSubject, unscaled: dict[str, str]) -> list[_Part]:
    constants = _constants(store, subject, unscaled)
    recipe = COGNITION_RECIPE if subject.role is Role.VLM else DECISION_RECIPE
    folder = store.work / "scores" / store.annotations(subject.name).name
    return [
        _Part(
            subject.name,
            number,
            file,
            folder / f"part-{number:05d}.parquet",
            digest_of(SCHEMA_VERSION, read_digest(file), constants, recipe),
        )
        for number, file in enumerate(store.annotation_files(subject.name))
    ]


def _constants(store: DatabaseStore, subject: RecordedSubject, unscaled: dict[str, str]) -> str:
    """Measure and write the constants by which a subject's scores are scaled; return the file's hash."""
    file = store.constants_file(subject.name)
    try:
        constants = _measured(subject, list(_reference_answers(store, subject.name)))
    except InputError as error:
        unscaled[subject.name] = str(error)
        file.unlink(missing_ok=True)
        return ""
    save_constants(constants, file)
    return sha256_of(file)


def _reference_answers(store: DatabaseStore, subject: str) -> Iterator[Annotation]:
    for table in store.annotation_parts(subject):
        yield from rows_of(Annotation, table.filter(pc.is_null(table["pair_id"])))


def _measured(subject: RecordedSubject, rows: Sequence[Annotation]) -> SubjectConstants:
    name, version = subject.says, subject.version
    if subject.role is Role.VLM:
        answers = [row.answer for row in rows if row.answer is not None]
        recipe = "all reference answers of the subject in this database"
        return SubjectConstants(
            name, version, recipe, len(answers), frequencies=document_frequencies(answers)
        )
    chunks = [_increments(row) for row in rows if row.status is ChunkStatus.ACT]
    recipe = "all reference actions of the subject in this database, 10,000 random pairs, seed 0"
    return SubjectConstants(name, version, recipe, len(chunks), d_max_m=position_scale_m(chunks))


def _increments(row: Annotation) -> NDArray[np.float64]:
    return np.array(row.increments, np.float64).reshape(-1, 7)


def _score_part(store: DatabaseStore, references: Mapping[str, _Shown], part: _Part) -> BlockReport:
    constants = store.constants_file(part.subject)
    scale = _scale(constants, part.digest) if constants.is_file() else None
    rows = rows_of(Annotation, read_table(part.answers, ANNOTATIONS.names))
    scored = _scores(rows, references, _scorer(scale))
    write_table(part.scores, table_of(Score, scored), SCORES, part.digest)
    failures = sum(row.score is None for row in scored)
    return BlockReport(part.number, len(scored), {part.subject: failures} if failures else {})


@cache
def _scale(file: Path, _digest: str) -> SubjectConstants:
    return load_constants(file)


def _scorer(scale: SubjectConstants | None) -> _Scorer | None:
    """Return what scores the answers of a subject, or None without its constants."""
    if scale is None:
        return None
    if scale.frequencies is None:
        return partial(_decision, d_max_m=scale.d_max_m or 0.0)
    # many images get the same answer
    return partial(_cognition, agreement=cache(partial(score_cognition, frequencies=scale.frequencies)))


def _scores(
    rows: Sequence[Annotation], references: Mapping[str, _Shown], score: _Scorer | None
) -> list[Score]:
    """Return a score for each answer about a pair whose reference was not rejected, in their order."""
    first = {(row.reference_id, row.task_id): row for row in rows if row.pair_id is None}
    pairs = [row for row in rows if row.pair_id is not None and row.reference_id in references]
    values = {} if score is None else _values(pairs, first, references, score)
    return [
        _scored(row, references[row.reference_id][0], values.get((row.pair_id, row.task_id), {}))
        for row in pairs
    ]


def _values(
    pairs: Sequence[Annotation],
    first: Mapping[tuple[str, str], Annotation],
    references: Mapping[str, _Shown],
    score: _Scorer,
) -> dict[tuple[str | None, str], dict[str, Any]]:
    """Return the columns of the scores by pair and task, where both images have an answer."""
    groups: dict[tuple[str, str], list[Annotation]] = {}
    for row in pairs:
        place = row.reference_id, row.task_id
        if row.error is None and first[place].error is None:
            groups.setdefault(place, []).append(row)
    return {
        (row.pair_id, row.task_id): values
        for place, group in groups.items()
        for row, values in zip(group, score(group, first[place], references[place[0]]), strict=True)
    }


def _scored(row: Annotation, view: View, values: Mapping[str, Any]) -> Score:
    """Return the row of a score; without values where an answer or the constants are missing."""
    return Score(
        subject=row.subject,
        role=row.role,
        reference_id=row.reference_id,
        pair_id=str(row.pair_id),
        task_id=row.task_id,
        rank=row.rank,
        distortion_id=row.distortion_id,
        level=row.level,
        view=view,
        own_view=row.own_view,
        **values,
    )


def _cognition(
    rows: Sequence[Annotation],
    first: Annotation,
    _: _Shown,
    *,
    agreement: Callable[[str, str], CognitionScore],
) -> list[dict[str, Any]]:
    if first.role is not Role.VLM:
        raise InternalError(f"{first.subject} is scored as a VLA with the constants of a VLM")
    return [
        {
            "precision": score.bleu,
            "recall": score.rouge,
            "semantics": score.cider / CIDER_MAX,
            "score": score.score,
        }
        for score in (agreement(str(row.answer), str(first.answer)) for row in rows)
    ]


def _decision(
    rows: Sequence[Annotation], first: Annotation, reference: _Shown, *, d_max_m: float
) -> list[dict[str, Any]]:
    if first.role is not Role.VLA:
        raise InternalError(f"{first.subject} is scored as a VLM with the constants of a VLA")
    if reference[1] is None:
        raise InternalError(f"{first.subject} decided without the gripper's opening")
    chunks = [_increments(row) for row in rows]
    scores = score_decisions(chunks, _increments(first), d_max_m, gripper=reference[1])
    return [
        {
            "position": score.position,
            "rotation": score.rotation,
            "state": score.state,
            "score": score.score,
            "position_error_mm": score.position_error_mm,
            "refused": is_refusal(row.status, first.status),
        }
        for row, score in zip(rows, scores, strict=True)
    ]


def _concatenate(store: DatabaseStore, parts: Sequence[_Part], digest: str) -> None:
    schema = stamped(SCORES, digest)

    def write(fresh: Path) -> None:
        with pq.ParquetWriter(fresh, schema, compression="zstd") as writer:
            for table in _row_groups(read_table(part.scores, SCORES.names) for part in parts):
                writer.write_table(table.replace_schema_metadata(schema.metadata))

    write_whole(store.scores_file, write)


def _row_groups(tables: Iterator[Any]) -> Iterator[Any]:
    """Concatenate small tables to ones of a row group each."""
    waiting: list[Any] = []
    for table in tables:
        waiting.append(table)
        if sum(len(item) for item in waiting) >= _ROWS_PER_GROUP:
            yield pa.concat_tables(waiting)
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting)
