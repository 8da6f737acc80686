"""Folder of an experiment: one file per run, written atomically, so that an experiment can be resumed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from embodied_iqa.config import Scalar
from embodied_iqa.errors import InputError, UsageError
from embodied_iqa.experiment.plan import ExperimentPlan, RunKey
from embodied_iqa.experiment.rows import RunRow, ScoredRow, read_rows, write_rows
from embodied_iqa.records import read_json
from embodied_iqa.subjects.registry import info_of
from embodied_iqa.trial.run_folder import write_json

SCHEMA: Final = 1
_SHARDS: Final = "shards"
_RECORD: Final = "experiment.json"
_SHOWN: Final = 3


class ExperimentFolder:
    """Results of an experiment on disk.

    `experiment.json` holds the parameters of all runs and `shards/` one Parquet file per run; `runs.parquet`
    and `scores.csv` are made from the runs of the current plan.

    Args:
        path: A new or empty folder, or the folder of an interrupted experiment, which may get a larger plan.
        parameters: All parameters that affect the result of a run, except its key.

    Raises:
        UsageError: The runs in the folder have other parameters.
        InputError: The folder holds something else, or cannot be written.
    """

    def __init__(self, path: Path, parameters: Mapping[str, Scalar]) -> None:
        self.path = path
        self._shards = path / _SHARDS
        self._check(dict(parameters))
        for part in self._shards.glob(".*.part"):  # of a run that was interrupted while it was written
            part.unlink()

    def missing(self, plan: ExperimentPlan) -> list[RunKey]:
        """Return the runs of a plan that do not exist yet, or only for another version of the subject."""
        versions = {subject: info_of(subject).version for subject in plan.subjects}
        return [key for key in plan.runs() if not self._holds(key, versions[key.subject])]

    def add(self, key: RunKey, row: RunRow) -> None:
        """Write a run."""
        write_rows([row], self._shard(key))

    def rows(self, plan: ExperimentPlan) -> list[RunRow]:
        """Return the runs of a plan; all must exist."""
        return [row for key in plan.runs() for row in read_rows(self._shard(key))]

    def write_results(self, rows: Iterable[ScoredRow]) -> Path:
        """Write `runs.parquet`."""
        path = self.path / "runs.parquet"
        write_rows(list(rows), path)
        return path

    def _shard(self, key: RunKey) -> Path:
        return self._shards / f"{key.name}.parquet"

    def _holds(self, key: RunKey, version: str) -> bool:
        shard = self._shard(key)
        return shard.is_file() and [row.subject_version for row in read_rows(shard)] == [version]

    def _check(self, parameters: dict[str, Scalar]) -> None:
        file = self.path / _RECORD
        tree = {"schema": SCHEMA, "parameters": parameters}
        if file.is_file():
            _compare(file, tree)
            return
        if self.path.is_dir() and any(self.path.iterdir()):
            raise InputError(
                f"{self.path} is not the folder of an experiment", expected="a new or empty folder"
            )
        try:
            self._shards.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot write to {self.path}: {error.strerror}") from None
        write_json(file, tree)


@dataclass(frozen=True, slots=True)
class _Record:
    """Content of `experiment.json`."""

    schema: int
    parameters: dict[str, Any]


def _compare(file: Path, tree: dict[str, Any]) -> None:
    found = read_json(_Record, file, "the experiment")
    before = found.parameters
    now = json.loads(json.dumps(tree["parameters"]))
    other = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    if found.schema != SCHEMA or other:
        shown = ", ".join(f"{name} was {before.get(name)!r}, is {now.get(name)!r}" for name in other[:_SHOWN])
        more = f" and {len(other) - _SHOWN} more" if len(other) > _SHOWN else ""
        raise UsageError(
            f"the runs in {file.parent} have other parameters: {shown}{more}",
            expected="the same parameters, or another --out",
        )
