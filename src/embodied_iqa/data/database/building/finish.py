"""Final record of a database: counts, constants, recipes and hashes of its tables."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import replace
from typing import Any

from embodied_iqa.base.files import sha256_of
from embodied_iqa.data.database.record import DatabaseRecord, RecordedSubject
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.models.scoring.cognition import COGNITION_RECIPE
from embodied_iqa.models.scoring.constants import load_constants
from embodied_iqa.models.scoring.decision import DECISION_RECIPE


def finish(store: DatabaseStore) -> DatabaseRecord:
    """Write `dataset.json` as the tables are now, without clock times, and return it."""
    record = store.record()
    record = replace(
        record,
        counts=_counts(store, record),
        skipped=_skipped(store),
        subjects=tuple(_scaled(store, subject) for subject in record.subjects),
        recipes={"cognition": COGNITION_RECIPE, "decision": DECISION_RECIPE},
        unfinished=None,
        sha256={name: sha256_of(file) for name, file in store.files().items()},
    )
    store.write_record(record)
    return record


def _counts(store: DatabaseStore, record: DatabaseRecord) -> dict[str, Any]:
    readers = {
        "references": store.references,
        "tasks": store.tasks,
        "pairs": store.pairs,
        "scores": store.scores,
    }
    counts: dict[str, Any] = {
        name: len(read(["reference_id"])) for name, read in readers.items() if name in store.tables()
    }
    errors = {
        subject.name: [part["error"] for part in store.annotation_parts(subject.name, ["error"])]
        for subject in record.subjects
    }
    counts["annotations"] = sum(len(column) for columns in errors.values() for column in columns)
    counts["failures"] = {
        name: sum(len(column) - column.null_count for column in columns) for name, columns in errors.items()
    }
    return counts


def _skipped(store: DatabaseStore) -> dict[str, int]:
    file = store.path / "skipped.csv"
    if not file.is_file():
        return {}
    with file.open(encoding="utf-8", newline="") as stream:
        kinds = Counter(row["reason"].partition(":")[0] for row in csv.DictReader(stream))
    return dict(sorted(kinds.items()))


def _scaled(store: DatabaseStore, subject: RecordedSubject) -> RecordedSubject:
    file = store.constants_file(subject.name)
    return subject.with_scale(load_constants(file) if file.is_file() else None)
