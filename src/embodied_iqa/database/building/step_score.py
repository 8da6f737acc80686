"""Step 5: scores of all answers against the subject's own on the reference."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from embodied_iqa.database.building.engine import BlockReport, Job
from embodied_iqa.database.building.settings import digest_of
from embodied_iqa.database.building.step_annotate import SubjectKey
from embodied_iqa.database.schema import ANNOTATIONS, SCORES
from embodied_iqa.database.store import DatabaseStore, Row, read_digest, read_table, write_table
from embodied_iqa.errors import InputError
from embodied_iqa.files import sha256_of, write_whole
from embodied_iqa.scoring.cider import CIDER_MAX
from embodied_iqa.scoring.cognition import COGNITION_RECIPE, CognitionScore, score_cognition
from embodied_iqa.scoring.constants import SubjectConstants, load_constants, save_constants
from embodied_iqa.scoring.decision import DECISION_RECIPE, position_scale_m, score_decision
from embodied_iqa.scoring.frequencies import DocumentFrequencies, document_frequencies
from embodied_iqa.subjects.catalogue import Role
from embodied_iqa.subjects.protocols import ChunkStatus

__all__ = ["ScoreStep"]

_ROWS_A_GROUP: Final = 65_536
_PARTS: Final = ("precision", "recall", "semantics", "position", "rotation", "state")
_NONE: Final[Row] = dict.fromkeys((*_PARTS, "score", "position_error_mm"))


@dataclass(frozen=True, slots=True)
class _Part:
    """One part of a subject's answers and what its scores depend on."""

    subject: str
    role: Role
    number: int
    file: Path
    digest: str


class ScoreStep:
    """Scores whatever was annotated.

    Args:
        store: The database, with annotations.
        subjects: Of whom.
    """

    def __init__(self, store: DatabaseStore, subjects: Sequence[SubjectKey]) -> None:
        self._store = store
        self._subjects = sorted(subjects, key=lambda key: key.name)
        self.unscaled: dict[str, str] = {}

    def run(self, run: Callable[[list[Job]], None]) -> None:
        """Measure each subject's constants, score its parts, join all to `scores.parquet`."""
        parts = [part for key in self._subjects for part in self._parts(key)]
        views = {row["reference_id"]: row for row in self._store.references(_OF_REFERENCE).to_pylist()}
        job = partial(_score_part, self._store.path, views)
        missing = [part for part in parts if read_digest(_file(self._store, part)) != part.digest]
        run([partial(job, part) for part in missing])
        digest = digest_of("scores", 1, [part.digest for part in parts])
        if read_digest(self._store.scores_file) != digest:
            self._join(parts, digest)

    def _parts(self, key: SubjectKey) -> list[_Part]:
        files = self._store.annotation_files(key.name)
        constants = self._constants(key)
        recipe = COGNITION_RECIPE if key.role is Role.VLM else DECISION_RECIPE
        return [
            _Part(key.name, key.role, number, file, digest_of(read_digest(file), constants, recipe))
            for number, file in enumerate(files)
        ]

    def _constants(self, key: SubjectKey) -> str:
        """Measure and write what a subject's scores are scaled by; return the hash of the file."""
        file = self._store.constants_file(key.name)
        try:
            constants = _measured(key, list(_reference_rows(self._store, key.name)))
        except InputError as error:
            self.unscaled[key.name] = str(error)
            file.unlink(missing_ok=True)
            return ""
        save_constants(constants, file)
        return sha256_of(file)

    def _join(self, parts: Sequence[_Part], digest: str) -> None:
        schema = SCORES.with_metadata({b"embodied_iqa.plan": digest.encode()})

        def write(fresh: Path) -> None:
            with pq.ParquetWriter(fresh, schema, compression="zstd") as writer:
                for table in _gathered(read_table(_file(self._store, part), SCORES) for part in parts):
                    writer.write_table(table.replace_schema_metadata(schema.metadata))

        write_whole(self._store.scores_file, write)


_OF_REFERENCE: Final = ("reference_id", "view", "gripper")


def _gathered(tables: Iterator[Any]) -> Iterator[Any]:
    """Join small tables to ones that are worth a row group each."""
    waiting: list[Any] = []
    for table in tables:
        waiting.append(table)
        if sum(len(item) for item in waiting) >= _ROWS_A_GROUP:
            yield pa.concat_tables(waiting)
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting)


def _file(store: DatabaseStore, part: _Part) -> Path:
    return store.work / "scores" / store.annotations(part.subject).name / f"part-{part.number:05d}.parquet"


def _reference_rows(store: DatabaseStore, subject: str) -> Iterator[Row]:
    for table in store.annotation_parts(subject):
        yield from table.filter(pa.compute.is_null(table["pair_id"])).to_pylist()


def _measured(key: SubjectKey, rows: list[Row]) -> SubjectConstants:
    name, version = key.info.name, key.info.version
    if key.role is Role.VLM:
        answers = [row["answer"] for row in rows if row["answer"] is not None]
        recipe = "all reference answers of the subject in this database"
        return SubjectConstants(
            name, version, recipe, len(answers), frequencies=document_frequencies(answers)
        )
    chunks = [_increments(row) for row in rows if row["status"] == ChunkStatus.ACT]
    recipe = "all reference actions of the subject in this database, 10,000 random pairs, seed 0"
    return SubjectConstants(name, version, recipe, len(chunks), d_max_m=position_scale_m(chunks))


def _increments(row: Row) -> NDArray[np.float64]:
    return np.array(row["increments"], np.float64).reshape(-1, 7)


def _score_part(path: Path, references: dict[str, Row], part: _Part) -> BlockReport:
    store = DatabaseStore(path)
    constants = store.constants_file(part.subject)
    scale = _scale(constants, part.digest) if constants.is_file() else None
    rows = read_table(part.file, ANNOTATIONS).to_pylist()
    first = {(row["reference_id"], row["task_id"]): row for row in rows if row["pair_id"] is None}
    scored = []
    for row in rows:
        if row["pair_id"] is not None:
            reference = references[row["reference_id"]]
            said = _NONE | _values(row, first[row["reference_id"], row["task_id"]], reference, scale)
            scored.append(_score_row(row, reference) | said)
    write_table(_file(store, part), scored, SCORES, part.digest)
    failures = sum(row["score"] is None for row in scored)
    return BlockReport(part.number, len(scored), {part.subject: failures} if failures else {})


@cache
def _scale(file: Path, _digest: str) -> SubjectConstants:
    return load_constants(file)


def _score_row(row: Row, reference: Row) -> Row:
    names = ("subject", "role", "reference_id", "pair_id", "task_id", "rank", "distortion_id", "level")
    return {name: row[name] for name in names} | {"view": reference["view"], "own_view": row["own_view"]}


def _values(row: Row, first: Row, reference: Row, scale: SubjectConstants | None) -> Row:
    """Return the scores of a row; none where there is no answer or nothing to scale by."""
    if scale is None or row["error"] is not None or first["error"] is not None:
        return {}
    if scale.frequencies is not None:
        return _cognition(row["answer"], first["answer"], scale.frequencies)
    decision = score_decision(
        _increments(row), _increments(first), scale.d_max_m or 0.0, gripper=reference["gripper"]
    )
    return {
        "position": decision.position,
        "rotation": decision.rotation,
        "state": decision.state,
        "score": decision.score,
        "position_error_mm": decision.position_error_mm,
    }


def _cognition(answer: str, reference_answer: str, frequencies: DocumentFrequencies) -> Row:
    score: CognitionScore = score_cognition(answer, reference_answer, frequencies)
    return {
        "precision": score.bleu,
        "recall": score.rouge,
        "semantics": score.cider / CIDER_MAX,
        "score": score.score,
    }
