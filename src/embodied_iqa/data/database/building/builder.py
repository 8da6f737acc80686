"""Build of a database: the steps in order, each continued where it was interrupted."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Protocol

from embodied_iqa import __version__
from embodied_iqa.base.errors import InputError, UsageError, UserError
from embodied_iqa.base.files import remove_parts
from embodied_iqa.base.jobs.engine import BlockReport, Engine, Job
from embodied_iqa.base.jobs.folder import JobFolder
from embodied_iqa.base.jobs.plan import another_plan, require_same_plan
from embodied_iqa.data.database.building.build_options import BuildOptions, BuildPlan, Step
from embodied_iqa.data.database.building.build_subjects import Member, load_member
from embodied_iqa.data.database.building.finish import finish
from embodied_iqa.data.database.building.own_views import UnscoredViews, unscored_views
from embodied_iqa.data.database.building.step_annotate import AnnotateStep
from embodied_iqa.data.database.building.step_distort import make_pairs
from embodied_iqa.data.database.building.step_references import ReferenceStep
from embodied_iqa.data.database.building.step_score import score_database
from embodied_iqa.data.database.completeness import begun_subjects, failed_subjects
from embodied_iqa.data.database.database_folder import RECORD_FILE, is_database
from embodied_iqa.data.database.edits import apply_edits
from embodied_iqa.data.database.record import DatabaseRecord, RecordedSubject
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.reference import SubjectReference

_PLANNED: Final = {Step.REFERENCES, Step.TASKS, Step.DISTORT}
"""Steps that depend on the plan; the others use the existing tables, also in a merged database."""


class Watcher(Protocol):
    """Observer of a build's progress."""

    def begin(self, step: Step, blocks: int) -> None:
        """Called with the number of missing blocks of a step."""
        ...

    def advance(self, step: Step, report: BlockReport) -> None:
        """Called when a block is done."""
        ...


@dataclass(slots=True)
class StepSummary:
    """Work of a step in this build.

    Attributes:
        blocks: Number of blocks that were missing and are done.
        rows: Number of new rows.
        seconds: Wall time.
        busy_s: Time of all workers, without loading models.
        inference_s: Part of this time inside of models.
        failures: Number of failures by subject or kind of reason.
    """

    blocks: int = 0
    rows: int = 0
    seconds: float = 0.0
    busy_s: float = 0.0
    inference_s: float = 0.0
    failures: Counter[str] = field(default_factory=Counter)

    @property
    def rows_per_s(self) -> float:
        """Rows per second of wall time."""
        return self.rows / self.seconds if self.seconds > 0 else 0.0

    @property
    def share_outside(self) -> float | None:
        """Share of the workers' time outside of models; None where no model was queried."""
        return None if not self.inference_s else max(0.0, 1.0 - self.inference_s / self.busy_s)


@dataclass(frozen=True, slots=True)
class BuildSummary:
    """Result of a build.

    Attributes:
        steps: The steps that ran.
        record: `dataset.json` after the build.
    """

    steps: Mapping[Step, StepSummary]
    record: DatabaseRecord


def build(
    path: Path,
    plan: BuildPlan,
    options: BuildOptions,
    watcher: Watcher | None = None,
    note: Callable[[UnscoredViews], None] | None = None,
) -> BuildSummary:
    """Build a database or continue one.

    Args:
        path: New, empty, or a database of the same plan; the number of references may have grown.
        plan: What its content depends on.
        options: How to build it, and which subjects to add.
        watcher: Observes the progress.
        note: Called for scores that some references will lack, before images are distorted.

    Raises:
        UsageError: The database was built with another plan, or a step lacks the one before it.
        InputError: Another job works in it; the folder is not a database; the disk is full; a subject
            fails on everything. Finished work is kept.
    """
    folder = JobFolder(path, "database build", RECORD_FILE)
    fresh = folder.plan() is None  # something else in it is left alone
    if fresh and Step.REFERENCES not in options.steps:
        raise UsageError(f"{path} needs references first", expected=f"--steps with {Step.REFERENCES}")
    with folder.locked():
        # a record alone is of a build that failed before its first reference: its plan binds nobody
        begun = is_database(path) and folder.has_results()
        return _Builder(DatabaseStore(path), plan, options, watcher, note, begun=begun).run()


class _Builder:
    def __init__(
        self,
        store: DatabaseStore,
        plan: BuildPlan,
        options: BuildOptions,
        watcher: Watcher | None,
        note: Callable[[UnscoredViews], None] | None,
        *,
        begun: bool,
    ) -> None:
        self._store = store
        self._plan = plan
        self._options = options
        self._watcher = watcher
        self._note = note
        self._begun = begun
        self._engine = Engine(options.engine)
        self._done: dict[Step, StepSummary] = {}

    def run(self) -> BuildSummary:
        self._begin()
        remove_parts(self._store.path)
        with self._engine:
            for step in Step:
                if step in self._options.steps:
                    self._done[step] = StepSummary()
                    self._check(step)
                    self._run_step(step)
                if step is Step.REFERENCES:
                    self._note_views()
        return BuildSummary(self._done, finish(self._store))

    def _begin(self) -> None:
        """Write the record of the plan and of all subjects, old and new.

        Until the build has ended, the record has its command, and no hash of what it may write anew.
        """
        record = DatabaseRecord(self._plan.tree())
        if self._begun:
            record = self._store.record()
            if set(self._options.steps) & _PLANNED:
                tree = self._plan.tree()
                known = {name: value for name, value in record.plan.items() if name in tree}
                require_same_plan(self._store.path, known, tree)
                self._require_all_references()
        failed = self._failed_left_out(record)
        record = replace(record, subjects=tuple(x for x in record.subjects if x.name not in failed))
        if Step.ANNOTATE in self._options.steps:
            self._require_panel(record)
        # a subject without an answer was only planned
        answered = [item for item in record.subjects if self._store.annotation_files(item.name)]
        subjects = {subject.name: subject for subject in answered}
        for reference in self._options.subjects if Step.ANNOTATE in self._options.steps else ():
            member = self._loaded(reference)
            now = RecordedSubject.of(member.name, member.role, member.info)
            if not self._options.chosen:
                self._keep_answers(subjects.get(member.name), now)
            subjects[member.name] = now
        ordered = tuple(subjects[name] for name in sorted(subjects))
        gone = {self._store.annotations(name) for name in failed}
        hashes = {
            name: value
            for name, value in record.sha256.items()
            if not self._writes(name) and (self._store.path / name).parent not in gone
        }
        for folder in gone:  # before the record: what it then lacks was only planned
            shutil.rmtree(folder)
        command = self._options.command
        self._store.write_record(
            replace(record, embodied_iqa=__version__, subjects=ordered, sha256=hashes, unfinished=command)
        )

    def _loaded(self, reference: SubjectReference) -> Member:
        try:
            return load_member(reference, self._options.vlm, self._options.vla)
        except UserError as error:
            if self._options.chosen:
                raise
            message = f"{reference.text}, a subject of {self._store.path}, cannot be queried: {error}"
            raise InputError(message, expected="it there, or --panel NAMES without it") from error

    def _keep_answers(self, before: RecordedSubject | None, now: RecordedSubject) -> None:
        """Refuse to query a subject of the database as another version: its answers would be replaced."""
        if before is not None and before.version != now.version:
            raise InputError(
                f"{now.name} has answered in {self._store.path} as another version",
                expected=f"{before.version}, by the parameters of then, or --panel to query it anew",
                got=now.version,
            )

    def _failed_left_out(self, record: DatabaseRecord) -> list[str]:
        """Return the subjects that the panel leaves out and that never answered, of a build that scores."""
        if not {Step.ANNOTATE, Step.SCORE} <= set(self._options.steps):
            return []  # their rows would stay among the scores
        asked = {reference.text for reference in self._options.subjects}
        names = [subject.name for subject in record.subjects if subject.name not in asked]
        return failed_subjects(self._store, names)

    def _note_views(self) -> None:
        """Name the scores that references will lack, as soon as their views are known."""
        built = replace(self._store, built=True)
        if (
            self._note is None
            or Step.ANNOTATE not in self._options.steps
            or "references" not in built.tables()
        ):
            return
        views = map(View, built.references(["view"])["view"].to_pylist())
        for one in unscored_views(views, self._store.record().subjects):
            self._note(one)

    def _writes(self, name: str) -> bool:
        """Whether this build may write a table anew: not other subjects' answers, runs and verdicts."""
        store = self._store
        kept = (store.execution_file, store.verdicts_file)
        asked = {store.annotations(reference.text).name for reference in self._options.subjects}
        file = store.path / name
        return file not in kept and (file.parent == store.path or file.parent.name in asked)

    def _require_all_references(self) -> None:
        """Refuse a plan of fewer references than there are: references may only grow."""
        built = replace(self._store, built=True)
        there = len(built.references(["reference_id"])) if "references" in built.tables() else 0
        if there > self._plan.references:
            require_same_plan(self._store.path, {"references": there}, {"references": self._plan.references})

    def _require_panel(self, record: DatabaseRecord) -> None:
        """Refuse a panel that leaves subjects of an earlier one without some of their answers."""
        asked = [reference.text for reference in self._options.subjects]
        others = [subject.name for subject in record.subjects if subject.name not in asked]
        lacking = begun_subjects(self._store, others)
        if lacking:
            names = ",".join([*lacking, *asked])
            without = " ".join(str(self._store.annotations(name)) for name in lacking)
            raise another_plan(
                self._store.path,
                [
                    f"{name} in panel lacks {count:,} answers there, not asked"
                    for name, count in lacking.items()
                ],
                expected=f"--panel {names}, another folder, or to give up these subjects: rm -r {without}",
            )

    def _check(self, step: Step) -> None:
        """Refuse a step whose input is missing."""
        existing, needed = self._store.tables(), ""
        if step in {Step.TASKS, Step.DISTORT} and "references" not in existing:
            needed = "references"
        elif step is Step.ANNOTATE and not {"pairs", "tasks"} <= existing.keys():
            needed = "pairs"
        elif step is Step.SCORE and not self._annotated():
            needed = "annotations"
        if step is Step.ANNOTATE and not needed:
            self._require_panel(self._store.record())  # the references may have grown
        if needed:
            raise UsageError(
                f"{self._store.path}: step {step} needs {needed} first", expected=f"--steps up to {step}"
            )

    def _annotated(self) -> list[RecordedSubject]:
        subjects = self._store.record().subjects
        return [subject for subject in subjects if self._store.annotation_files(subject.name)]

    def _run_step(self, step: Step) -> None:
        store, run = self._store, self._runner(step)
        built = replace(store, built=True)
        match step:
            case Step.REFERENCES:
                before = _references(built)
                ReferenceStep(built, self._plan).run(run)
                self._done[step].rows = max(0, _references(built) - before)  # twins are read, too
            case Step.TASKS:
                ReferenceStep(built, self._plan).run_tasks(run)
            case Step.DISTORT:
                make_pairs(built, self._plan, run)
                apply_edits(store)
            case Step.ANNOTATE:
                apply_edits(store)
                names = {reference.text for reference in self._options.subjects}
                subjects = [item for item in store.record().subjects if item.name in names]
                AnnotateStep(store, subjects, self._options).run(run)
            case Step.SCORE:
                unscaled = score_database(store, self._annotated(), run)
                lacking = {f"{name} has no scale ({why})": 1 for name, why in unscaled.items()}
                self._done[step].failures.update(lacking)

    def _runner(self, step: Step) -> Callable[[Sequence[Job]], None]:
        """Return a function that runs jobs of a step and adds up their results."""
        summary = self._done[step]

        def run(jobs: Sequence[Job]) -> None:
            started = time.perf_counter()
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
            summary.seconds += time.perf_counter() - started

        return run


def _references(store: DatabaseStore) -> int:
    return store.references(["reference_id"]).num_rows if "references" in store.tables() else 0
