"""Export as CSV: every table of the database, and the mean opinions."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from embodied_iqa.database.execution import joined_execution
from embodied_iqa.database.splits import SPLIT_SEEDS, training_references
from embodied_iqa.database.store import DatabaseStore
from embodied_iqa.export.opinions import PairOpinions

__all__ = ["fill_csv", "opinion_columns"]

_BATCH_ROWS: Final = 10_000
_README: Final = """\
| file | a row is |
|---|---|
| `references.csv` | a reference picture |
| `tasks.csv` | a task of a reference |
| `pairs.csv` | a distorted picture |
| `scores.csv` | the score of one subject for one task of a pair |
| `opinions.csv` | a pair with its mean opinions, thirds, and the ten splits by reference |
| `execution.csv` | a run of a joined experiment; only where one was joined |

Opinions: `<target>_mean` (over five tasks, 0 to 5, higher is better), `_z_scored`, `_std` over the subjects
and `_subjects`, how many scored.

UTF-8, commas, a heading; an empty cell where there is no value; lists and structures as JSON. Pictures are
not in this export; the column `picture` names them in the database, and is empty where they are made from
their seed."""


def fill_csv(store: DatabaseStore, opinions: PairOpinions, folder: Path) -> str:
    """Write the export into an empty folder; return what its README says."""
    tables = {
        "references": store.references().sort_by("reference_id"),
        "tasks": store.tasks().sort_by([("reference_id", "ascending"), ("rank", "ascending")]),
        "pairs": store.pairs().sort_by("pair_id"),
        "scores": store.scores(),
    }
    execution = joined_execution(store)
    if execution is not None:
        tables["execution"] = execution
    for name, table in tables.items():
        _write(folder / f"{name}.csv", table.schema.names, _rows(table))
    columns = opinion_columns(opinions)
    _write(folder / "opinions.csv", list(columns), zip(*columns.values(), strict=True))
    return _README


def opinion_columns(opinions: PairOpinions) -> dict[str, list[Any]]:
    """Return what is told of every pair, by column; None where there is no score."""
    pairs = opinions.pairs
    columns: dict[str, list[Any]] = {
        "pair_id": pairs.pair_ids.tolist(),
        "reference_id": pairs.reference_ids.tolist(),
        "distortion_id": pairs.distortion_ids.tolist(),
        "level": pairs.levels.tolist(),
        **{name.replace(" ", "_"): values.tolist() for name, values in pairs.labels.items()},
    }
    for name, target in opinions.targets.items():
        columns[f"{name}_mean"] = _numbers(target.mean)
        columns[f"{name}_z_scored"] = _numbers(target.z_scored)
        columns[f"{name}_std"] = _numbers(target.deviation)
        columns[f"{name}_subjects"] = target.subjects.tolist()
    columns |= {f"{group}_third": labels.tolist() for group, labels in opinions.thirds.items()}
    for seed in SPLIT_SEEDS:
        chosen = training_references(pairs.reference_ids.tolist(), seed)
        columns[f"split_seed{seed}"] = [
            "train" if r in chosen else "val" for r in pairs.reference_ids.tolist()
        ]
    return columns


def _numbers(values: Any) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]


def _rows(table: Any) -> Iterator[list[Any]]:
    for batch in table.to_batches(max_chunksize=_BATCH_ROWS):
        for row in batch.to_pylist():
            yield list(row.values())


def _write(path: Path, names: list[str], rows: Iterable[Iterable[Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(names)
        writer.writerows([_cell(value) for value in row] for row in rows)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list | dict):
        return json.dumps(value)
    return repr(value) if isinstance(value, float) else str(value)
