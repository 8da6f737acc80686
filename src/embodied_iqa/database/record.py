"""`dataset.json`: how everything was made, how much of it there is, and the hash of every table."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from typing import Any

from embodied_iqa.database.store import DatabaseStore, Row
from embodied_iqa.files import sha256_of
from embodied_iqa.scoring.cognition import COGNITION_RECIPE
from embodied_iqa.scoring.constants import load_constants
from embodied_iqa.scoring.decision import DECISION_RECIPE

__all__ = ["finished_record", "tables_of"]


def tables_of(store: DatabaseStore) -> list[Path]:
    """List the tables that are there, in a fixed order."""
    named = [
        store.references_file,
        store.tasks_file,
        store.pairs_file,
        store.scores_file,
        store.execution_file,
    ]
    parts = sorted((store.path / "annotations").glob("*/part-*.parquet"))
    return [file for file in named if file.is_file()] + parts


def finished_record(store: DatabaseStore, record: Row) -> Row:
    """Return the record with counts, scales, recipes and hashes as the tables are now; no clock times."""
    return {
        **record,
        "counts": _counts(store, record),
        "skipped": _skipped(store),
        "subjects": [_with_scale(store, item) for item in record["subjects"]],
        "recipes": {"cognition": COGNITION_RECIPE, "decision": DECISION_RECIPE},
        "sha256": {str(file.relative_to(store.path)): sha256_of(file) for file in tables_of(store)},
    }


def _counts(store: DatabaseStore, record: Row) -> dict[str, Any]:
    tables = {
        "references": (store.references_file, store.references),
        "tasks": (store.tasks_file, store.tasks),
        "pairs": (store.pairs_file, store.pairs),
        "scores": (store.scores_file, store.scores),
    }
    counts: dict[str, Any] = {
        name: len(read(["reference_id"])) for name, (file, read) in tables.items() if file.is_file()
    }
    answers, failures = 0, {}
    for item in record["subjects"]:
        parts = list(store.annotation_parts(item["name"], ["error"]))
        answers += sum(len(part) for part in parts)
        failures[item["name"]] = sum(len(part) - part["error"].null_count for part in parts)
    return counts | {"annotations": answers, "failures": failures}


def _skipped(store: DatabaseStore) -> dict[str, int]:
    file = store.path / "skipped.csv"
    if not file.is_file():
        return {}
    with file.open(encoding="utf-8", newline="") as stream:
        kinds = Counter(row["reason"].partition(":")[0] for row in csv.DictReader(stream))
    return dict(sorted(kinds.items()))


def _with_scale(store: DatabaseStore, item: Row) -> Row:
    file = store.constants_file(item["name"])
    if not file.is_file():
        return {**item, "d_max_m": None, "documents": None}
    constants = load_constants(file)
    documents = None if constants.frequencies is None else constants.frequencies.n_documents
    return {**item, "d_max_m": constants.d_max_m, "documents": documents}
