"""Spot checks: people say whether two answers of a subject mean the same; correlation to its scores."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

import numpy as np

from embodied_iqa.base.tables import rows_of
from embodied_iqa.data.analysis.correlation import Correlation, srcc
from embodied_iqa.data.analysis.intervals import Interval, srcc_interval
from embodied_iqa.data.analysis.raters import RaterAgreement, Scale, krippendorff_alpha
from embodied_iqa.data.analysis.resampling import References
from embodied_iqa.data.database.query import query, views_of
from embodied_iqa.data.database.schema import Annotation
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.data.journal.view import EditView
from embodied_iqa.models.subjects.catalogue import Role

_BINS: Final = 5
"""Scores are drawn from fifths of their range in turn: most answers are nearly unchanged."""
Key = tuple[str, str, str]
"""Pair, task and subject."""


@dataclass(frozen=True, slots=True)
class SpotItem:
    """Two answers to compare; the score is not shown before the person has answered.

    Attributes:
        pair_id: The distorted image.
        task_id: The task.
        subject: Who answered.
        text: The task's sentence.
        first: The answer on the reference.
        second: The answer on the distorted image.
        score: Automatic score of the second against the first, 0 to 1.
    """

    pair_id: str
    task_id: str
    subject: str
    text: str
    first: Annotation
    second: Annotation
    score: float


@dataclass(frozen=True, slots=True)
class SpotResult:
    """How spot checks and scores agree.

    Attributes:
        correlation: SRCC between the mean likeness and the score.
        interval: From resampling the references.
        people: Agreement between people, on an ordinal scale.
        opinions: Number of opinions.
        missing: Opinions about answers that the database no longer has.
    """

    correlation: Correlation
    interval: Interval
    people: RaterAgreement
    opinions: int
    missing: int


def draw_item(store: DatabaseStore, role: Role, person: str, done: Collection[Key]) -> SpotItem | None:
    """Return the next answers for a person; None where all are done.

    Args:
        store: A database with scores.
        role: VLMs or VLAs.
        person: The same person gets the same order.
        done: What this person has checked.
    """
    if not {"annotations", "scores"} <= views_of(store).keys():
        return None
    for turn in range(_BINS):
        low = (len(done) + turn) % _BINS / _BINS
        high = low + 1 / _BINS if low + 1 / _BINS < 1 else 2.0
        table = query(
            store,
            "SELECT pair_id, task_id, subject, reference_id, score FROM scores "
            "WHERE role = ? AND own_view AND score >= ? AND score < ? "
            "ORDER BY hash(concat_ws('|', pair_id, task_id, subject, ?)), pair_id, task_id LIMIT ?",
            [str(role), low, high, person, len(done) + 1],
        )
        for row in table.to_pylist():
            key = row["pair_id"], row["task_id"], row["subject"]
            item = None if key in done else _item(store, key, row["reference_id"], row["score"])
            if item is not None:
                return item
    return None


def read_item(store: DatabaseStore, key: Key) -> SpotItem | None:
    """Return the answers of a key; None where the database has none."""
    if not {"annotations", "scores"} <= views_of(store).keys():
        return None
    table = query(
        store,
        "SELECT reference_id, score FROM scores WHERE pair_id = ? AND task_id = ? AND subject = ?",
        list(key),
    )
    rows = table.to_pylist()
    return _item(store, key, rows[0]["reference_id"], rows[0]["score"]) if rows else None


def spot_result(store: DatabaseStore, view: EditView, role: Role) -> SpotResult:
    """Return how the opinions in the journal agree with the scores of the subjects of a role."""
    table = query(
        store,
        "SELECT pair_id, task_id, subject, reference_id, score FROM scores "
        "JOIN (SELECT unnest(?::VARCHAR[]) AS wanted) ON wanted = pair_id WHERE role = ?",
        [sorted({pair for _, pair, *_ in view.spot_checks()}), str(role)],
    )
    scored = {(row["pair_id"], row["task_id"], row["subject"]): row for row in table.to_pylist()}
    opinions: dict[Key, dict[str, int]] = {}
    missing = 0
    subjects = {item.name: item.role for item in store.record().subjects}
    for (person, *_), check in view.spot_checks().items():
        key = check.pair_id, check.task_id, check.subject
        if key in scored:
            opinions.setdefault(key, {})[person] = check.likeness
        elif subjects.get(check.subject, role) is role:
            missing += 1
    people = sorted({person for item in opinions.values() for person in item})
    ratings = np.array(
        [[item.get(person, np.nan) for item in opinions.values()] for person in people], np.float64
    ).reshape(len(people), len(opinions))
    likeness = np.array([np.mean(list(item.values())) for item in opinions.values()], np.float64)
    scores = np.array([scored[key]["score"] for key in opinions], np.float64)
    references = References.drawn(np.array([scored[key]["reference_id"] for key in opinions], np.str_))
    columns = np.stack([likeness, scores], axis=1)
    count = int(np.isfinite(ratings).sum())
    return SpotResult(
        srcc(likeness, scores),
        srcc_interval(columns, references),
        krippendorff_alpha(ratings, Scale.ORDINAL),
        count,
        missing,
    )


def _item(store: DatabaseStore, key: Key, reference_id: str, score: float | None) -> SpotItem | None:
    pair_id, task_id, subject = key
    table = query(
        store,
        "SELECT * FROM annotations WHERE subject = ? AND reference_id = ? AND task_id = ? "
        "AND (pair_id = ? OR pair_id IS NULL)",
        [subject, reference_id, task_id, pair_id],
    )
    answers = {row.pair_id: row for row in rows_of(Annotation, table)}
    texts = query(store, "SELECT text FROM tasks WHERE task_id = ?", [task_id])["text"].to_pylist()
    if score is None or not texts or answers.keys() != {None, pair_id}:
        return None
    return SpotItem(pair_id, task_id, subject, texts[0], answers[None], answers[pair_id], score)
