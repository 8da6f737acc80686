"""Folder of an experiment: one file per run, written atomically, so that an experiment can be resumed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from embodied_iqa.base.config import Scalar
from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.files import remove_parts
from embodied_iqa.base.jobs.folder import JobFolder
from embodied_iqa.base.jobs.plan import another_plan, require_same_plan
from embodied_iqa.base.records import read_json, unstructure
from embodied_iqa.data.database.run_rows import RunRow, ScoredRow, read_rows, write_rows
from embodied_iqa.imaging.distortions import DistortionSpec
from embodied_iqa.models.subjects.reference import parse_vla
from embodied_iqa.models.subjects.registry import info_of
from embodied_iqa.models.subjects.subject_options import VlaOptions
from embodied_iqa.runs.experiment.arms import GateArm
from embodied_iqa.runs.experiment.experiment_plan import ExperimentPlan, ExperimentTask, RunKey
from embodied_iqa.runs.trial.run_folder import write_json
from embodied_iqa.world.scenes.scene import WORLD_VERSION

SCHEMA: Final = 3
_SHARDS: Final = "shards"
RECORD_FILE: Final = "experiment.json"
_JOB: Final = "experiment"


@dataclass(frozen=True, slots=True)
class _Record:
    """Content of `experiment.json`; subjects and arms are words."""

    schema: int
    parameters: dict[str, Any]
    subjects: tuple[str, ...] = ()
    tasks: tuple[ExperimentTask, ...] = ()
    distortions: tuple[DistortionSpec, ...] = ()
    arms: tuple[str, ...] = ()

    @property
    def plan(self) -> ExperimentPlan:
        subjects, arms = tuple(map(parse_vla, self.subjects)), tuple(map(GateArm, self.arms))
        return ExperimentPlan(subjects, self.tasks, self.distortions, arms)


@dataclass(frozen=True, slots=True)
class StoredExperiment:
    """An experiment as read from its folder, finished or not.

    Attributes:
        plan: Its runs.
        parameters: Of all runs.
        rows: The runs of the tasks that are finished with every subject, distortion and gate.
        finished: Number of these tasks.
    """

    plan: ExperimentPlan
    parameters: dict[str, Any]
    rows: tuple[RunRow, ...]
    finished: int


def read_experiment(path: Path) -> StoredExperiment:
    """Read the folder of an experiment.

    Raises:
        InputError: It holds no experiment, or a run is damaged.
        UsageError: It is of another version.
    """
    record = _record(path / RECORD_FILE)
    plan, rows, finished = record.plan, [], 0
    for task in plan.tasks:
        files = [path / _SHARDS / f"{key.name}.parquet" for key in plan.runs() if key.task == task]
        if all(file.is_file() for file in files):
            rows += [row for file in files for row in read_rows(file)]
            finished += 1
    return StoredExperiment(plan, record.parameters, tuple(rows), finished)


class ExperimentFolder:
    """Results of an experiment on disk.

    `experiment.json` holds the plan and the parameters of all runs, `shards/` one Parquet file per run;
    `runs.parquet` and `scores.csv` are made from the runs of the plan.

    Args:
        path: A new or empty folder, or the folder of an experiment.
        parameters: All parameters that affect the result of a run, except its key.
        plan: The runs.
        add: Extend the plan of the folder by this one; else both must have the same runs.

    Attributes:
        plan: The plan of the folder.

    Raises:
        UsageError: The folder has runs of another plan, or its runs have other parameters.
        InputError: The folder holds something else, or cannot be written.
    """

    def __init__(
        self, path: Path, parameters: Mapping[str, Scalar], plan: ExperimentPlan, *, add: bool = False
    ) -> None:
        self.path = path
        self._shards = path / _SHARDS
        self.plan = _planned(path, parameters, plan, add=add)
        self._keep(parameters)
        remove_parts(self._shards)  # of a run that was interrupted while it was written

    def missing(self, vla: VlaOptions | None = None) -> list[RunKey]:
        """Return the runs of the plan that do not exist yet, or only for another version of the subject.

        Args:
            vla: Options of the subjects, on which their versions may depend.
        """
        versions = {subject: info_of(subject, vla).version for subject in self.plan.subjects}
        return [key for key in self.plan.runs() if not self._holds(key, versions[key.subject])]

    def add(self, key: RunKey, row: RunRow) -> None:
        """Write a run."""
        write_rows([row], self._shard(key))

    def rows(self) -> list[RunRow]:
        """Return the runs of the plan; all must exist."""
        return [row for key in self.plan.runs() for row in read_rows(self._shard(key))]

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

    def _keep(self, parameters: Mapping[str, Scalar]) -> None:
        """Write the record, unless the folder has it."""
        file, plan = self.path / RECORD_FILE, self.plan
        kept = file.is_file() and JobFolder(self.path, _JOB, RECORD_FILE).has_results()
        if not kept or _record(file).plan != plan:
            subjects = tuple(subject.text for subject in plan.subjects)
            arms = tuple(arm.name for arm in plan.arms)
            same = _same(parameters)
            write_json(file, unstructure(_Record(SCHEMA, same, subjects, plan.tasks, plan.distortions, arms)))
        try:  # after the record, without which a folder of shards is not known to be of an experiment
            self._shards.mkdir(exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot write to {self.path}: {error.strerror}") from None


def locked_experiment(path: Path) -> AbstractContextManager[None]:
    """Keep others out of the folder of an experiment, see `JobFolder.locked`."""
    return JobFolder(path, _JOB, RECORD_FILE).locked()


@contextmanager
def opened_experiment(
    path: Path, parameters: Mapping[str, Scalar], plan: ExperimentPlan, *, add: bool = False
) -> Iterator[ExperimentFolder]:
    """Open the folder of an experiment and keep others out; one that is refused is left as it was.

    See `ExperimentFolder`.

    Raises:
        InputError: Another experiment works in it.
    """
    _planned(path, parameters, plan, add=add)
    with locked_experiment(path):
        yield ExperimentFolder(path, parameters, plan, add=add)


def _planned(
    path: Path, parameters: Mapping[str, Scalar], plan: ExperimentPlan, *, add: bool = False
) -> ExperimentPlan:
    """Check what a folder holds; return its plan, extended by this one. See `ExperimentFolder`."""
    folder = JobFolder(path, _JOB, RECORD_FILE)
    if folder.plan() is None or not (add or folder.has_results()):  # it failed before its first run
        return plan
    record = _record(path / RECORD_FILE)
    require_same_plan(path, record.parameters, _same(parameters))
    before = record.plan
    parts = [f"{item} is there, not asked" for item in before.without(plan)]
    parts += [f"{item} is not there, asked" for item in plan.without(before)]
    if parts and not add:
        raise another_plan(path, parts, expected="the same plan, --add to extend it, or another --out")
    return before.extended(plan)


def _same(parameters: Mapping[str, Scalar]) -> dict[str, Any]:
    return {"world": WORLD_VERSION, **parameters}


def _record(file: Path) -> _Record:
    found = read_json(_Record, file, "the experiment")
    if found.schema != SCHEMA:
        raise UsageError(
            f"{file.parent} holds an experiment of another version of this program",
            expected=f"schema {SCHEMA}, or another --out",
            got=found.schema,
        )
    return found
