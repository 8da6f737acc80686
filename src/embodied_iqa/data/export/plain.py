"""Export as CSV: every table of the database, and the mean opinions."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from embodied_iqa.data.database.joined_runs import joined_execution
from embodied_iqa.data.database.splits import split_columns
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.data.export.opinions import PairOpinions

_BATCH_ROWS: Final = 10_000
_README: Final = """\
| file | a row is |
|---|---|
| `references.csv` | a reference image |
| `tasks.csv` | a task of a reference |
| `pairs.csv` | a distorted image |
| `scores.csv` | the score of one subject for one task of a pair |
| `opinions.csv` | a pair with its mean opinions, thirds, and the ten splits by reference |
| `execution.csv` | a run of a joined experiment; only where one was joined |

Opinions: `<target>_mean` (five times the mean over the tasks, 0 to 5, higher is better), `_z_scored`, `_std`
over the subjects and `_subjects`, their number. `wrong_motion` is 5 minus what was lost by motions that end
elsewhere, `refusal` 5 minus five times the share of tasks in which the policy saw no target and moved
nothing; `refused_mean`, `refusal_loss_mean` and `wrong_motion_loss_mean` are these losses themselves, lower
is better.

Splits: `train`, and `val`, as pyiqa calls the fifth that is held out for the test.

UTF-8, commas, a header; an empty cell where there is no value; lists and structures as JSON. Images are
not in this export; the column `image` has their paths in the database, and is empty where they are made
from their seed."""


def fill_csv(store: DatabaseStore, opinions: PairOpinions, folder: Path) -> str:
    """Write the export into an empty folder; return the text of its README."""
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
        write_csv(folder / f"{name}.csv", table.schema.names, _rows(table))
    columns = opinion_columns(opinions)
    write_csv(folder / "opinions.csv", list(columns), zip(*columns.values(), strict=True))
    return _README


def opinion_columns(opinions: PairOpinions) -> dict[str, list[Any]]:
    """Return the columns that every export has of a pair; None where there is no score."""
    pairs = opinions.pairs
    columns: dict[str, list[Any]] = {
        "pair_id": pairs.pair_ids.tolist(),
        "reference_id": pairs.reference_ids.tolist(),
        "distortion_id": pairs.distortion_ids.tolist(),
        "level": pairs.levels.tolist(),
        **{name.replace(" ", "_"): values.tolist() for name, values in pairs.labels.items()},
    }
    for title, target in opinions.targets.items():
        name = title.replace("-", "_")
        columns[f"{name}_mean"] = _numbers(target.mean)
        columns[f"{name}_z_scored"] = _numbers(target.z_scored)
        columns[f"{name}_std"] = _numbers(target.deviation)
        columns[f"{name}_subjects"] = target.subjects.tolist()
    columns |= {f"{name}_mean": _numbers(values) for name, values in opinions.losses.items()}
    columns |= {f"{group}_third": labels.tolist() for group, labels in opinions.thirds.items()}
    return columns | split_columns(pairs.reference_ids.tolist())


def _numbers(values: Any) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]


def _rows(table: Any) -> Iterator[Iterable[Any]]:
    for batch in table.to_batches(max_chunksize=_BATCH_ROWS):
        yield from zip(*batch.to_pydict().values(), strict=True)


def write_csv(path: Path, names: Iterable[str], rows: Iterable[Iterable[Any]]) -> None:
    """Write a table with a header; lists and structures as JSON, None as an empty cell."""
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
