"""Builds a database: takes the steps in order, each from where it was broken off."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from embodied_iqa import __version__
from embodied_iqa.database.building.engine import BlockReport, Engine, Job
from embodied_iqa.database.building.members import load_member
from embodied_iqa.database.building.settings import BuildOptions, BuildPlan, Step
from embodied_iqa.database.building.step_annotate import AnnotateStep, SubjectKey
from embodied_iqa.database.building.step_distort import DistortStep
from embodied_iqa.database.building.step_references import ReferenceStep
from embodied_iqa.database.building.step_score import ScoreStep
from embodied_iqa.database.lock import locked
from embodied_iqa.database.record import finished_record
from embodied_iqa.database.store import DatabaseStore, Row, is_database
from embodied_iqa.errors import InputError, UsageError
from embodied_iqa.files import remove_parts

__all__ = ["BuildSummary", "StepSummary", "Watcher", "build"]

_NEEDS: Final = {
    Step.TASKS: "references",
    Step.DISTORT: "references",
    Step.ANNOTATE: "pairs",
    Step.SCORE: "annotations",
}
_PLANNED: Final = {Step.REFERENCES, Step.TASKS, Step.DISTORT}
"""The other steps take what there is, also in a database that was merged."""


class Watcher(Protocol):
    """Whoever wants to know how far a build is."""

    def begin(self, step: Step, blocks: int) -> None:
        """So many blocks of a step are missing."""
        ...

    def advance(self, step: Step, report: BlockReport) -> None:
        """A block is done."""
        ...


@dataclass(slots=True)
class StepSummary:
    """What a step did this time.

    Attributes:
        blocks: How many were missing and are done.
        rows: How many rows that made.
        seconds: Wall time.
        busy_s: Time of all workers, without loading models.
        inference_s: Part of that inside of models.
        failures: Subject or kind of reason to how often.
    """

    blocks: int = 0
    rows: int = 0
    seconds: float = 0.0
    busy_s: float = 0.0
    inference_s: float = 0.0
    failures: Counter[str] = field(default_factory=Counter)

    @property
    def rows_per_s(self) -> float:
        """Rows a second of wall time."""
        return self.rows / self.seconds if self.seconds > 0 else 0.0

    @property
    def share_outside(self) -> float | None:
        """Share of the workers' time outside of models; None where no model was asked."""
        return None if not self.inference_s else max(0.0, 1.0 - self.inference_s / self.busy_s)


@dataclass(frozen=True, slots=True)
class BuildSummary:
    """What a build did this time.

    Attributes:
        steps: By step, those that were taken.
        record: `dataset.json` as it is now.
    """

    steps: dict[Step, StepSummary]
    record: Row


def build(path: Path, plan: BuildPlan, options: BuildOptions, watcher: Watcher | None = None) -> BuildSummary:
    """Build a database or go on with one.

    Args:
        path: New, empty, or a database of the same plan; it may ask for more references now.
        plan: What its content depends on.
        options: How it is done, and which subjects come to those that are there.
        watcher: Is told how far it is.

    Raises:
        UsageError: The database was made by another plan, or a step lacks the one before it.
        InputError: Another builder works in it; the folder is something else; the disk is full; a subject
            fails on everything. What was done is kept.
    """
    builder = _Builder(DatabaseStore(path), plan, options, watcher)
    _check_folder(path)
    with locked(path):
        return builder.run()


def _check_folder(path: Path) -> None:
    if path.is_dir() and not is_database(path) and any(item.name != ".lock" for item in path.iterdir()):
        raise InputError(f"{path} is no database", expected="a new or empty folder")


class _Builder:
    def __init__(
        self, store: DatabaseStore, plan: BuildPlan, options: BuildOptions, watcher: Watcher | None
    ) -> None:
        self._store = store
        self._plan = plan
        self._options = options
        self._watcher = watcher
        self._engine = Engine(options.engine)
        self._done: dict[Step, StepSummary] = {}

    def run(self) -> BuildSummary:
        self._begin()
        remove_parts(self._store.path)
        steps: dict[Step, Callable[[], None]] = {
            Step.REFERENCES: self._references,
            Step.TASKS: self._tasks,
            Step.DISTORT: self._distort,
            Step.ANNOTATE: self._annotate,
            Step.SCORE: self._score,
        }
        with self._engine:
            for step in Step:
                if step in self._options.steps:
                    self._done[step] = StepSummary()
                    self._check(step)
                    steps[step]()
        record = finished_record(self._store, self._store.record())
        self._store.write_record(record)
        return BuildSummary(self._done, record)

    def _begin(self) -> None:
        tree = self._plan.tree()
        if is_database(self._store.path):
            found = self._store.record()
            if set(self._options.steps) & _PLANNED:
                _compare(found.get("plan", {}), tree, self._store.path)
            tree = found.get("plan", tree)
        else:
            found = {}
        subjects = {item["name"]: item for item in found.get("subjects", ())}
        for name in self._options.subjects if Step.ANNOTATE in self._options.steps else ():
            member = load_member(name, self._options.vlm, self._options.vla)
            subjects[name] = SubjectKey(name, member.role, member.info).tree()
        ordered = [subjects[name] for name in sorted(subjects)]
        self._store.write_record({**found, "plan": tree, "embodied_iqa": __version__, "subjects": ordered})

    def _check(self, step: Step) -> None:
        needed = _NEEDS.get(step)
        files = {
            "references": [self._store.references_file],
            "pairs": [self._store.pairs_file, self._store.tasks_file],
        }
        if any(not file.is_file() for file in files.get(needed or "", [])):
            raise UsageError(f"step {step} needs {needed} first", expected=f"--steps up to {step}")

    def _subjects(self) -> list[SubjectKey]:
        return [SubjectKey.of(item) for item in self._store.record()["subjects"]]

    def _references(self) -> None:
        step = ReferenceStep(self._store, self._plan)
        if not step.is_done():
            step.run(self._runner(Step.REFERENCES))

    def _tasks(self) -> None:
        step = ReferenceStep(self._store, self._plan)
        if not step.are_tasks_done():
            step.run_tasks(self._runner(Step.TASKS))

    def _distort(self) -> None:
        step = DistortStep(self._store, self._plan)
        if not step.is_done():
            step.run(self._runner(Step.DISTORT))

    def _annotate(self) -> None:
        wanted = set(self._options.subjects)
        subjects = [key for key in self._subjects() if key.name in wanted]
        AnnotateStep(self._store, subjects, self._options).run(self._runner(Step.ANNOTATE))

    def _score(self) -> None:
        subjects = [key for key in self._subjects() if self._store.annotation_files(key.name)]
        if not subjects:
            raise UsageError("step score needs annotations first", expected="--steps up to score")
        step = ScoreStep(self._store, subjects)
        step.run(self._runner(Step.SCORE))
        self._done[Step.SCORE].failures.update({f"unscaled {name}": 1 for name in step.unscaled})

    def _runner(self, step: Step) -> Callable[[list[Job]], None]:
        summary = self._done[step]

        def run(jobs: list[Job]) -> None:
            begun = time.perf_counter()
            if self._watcher is not None:
                self._watcher.begin(step, len(jobs))
            for report in self._engine.run(jobs):
                summary.blocks += 1
                summary.rows += report.rows
                summary.busy_s += report.busy_s
                summary.inference_s += report.inference_s
                summary.failures.update(report.failures)
                if self._watcher is not None:
                    self._watcher.advance(step, report)
            summary.seconds += time.perf_counter() - begun

        return run


def _compare(found: Row, tree: Row, path: Path) -> None:
    other = [name for name in tree if found.get(name) != tree[name]]
    if other:
        shown = "; ".join(f"{name} was {found.get(name)!r}, is {tree[name]!r}" for name in other)
        raise UsageError(f"{path} was built otherwise: {shown}", expected="the same, or another --out")
