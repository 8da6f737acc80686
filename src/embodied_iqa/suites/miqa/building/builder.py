"""Build of machine-vision labels, continued where it was interrupted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from embodied_iqa.base.jobs.engine import BlockReport, EngineOptions, run_jobs
from embodied_iqa.base.jobs.folder import JobFolder
from embodied_iqa.suites.miqa.building.build_plan import MiqaPlan
from embodied_iqa.suites.miqa.building.finish import TaskSummary, finish_task
from embodied_iqa.suites.miqa.building.label_reference import label_reference, missing_tasks, require_right
from embodied_iqa.suites.miqa.building.models import unknown_categories


class Watcher(Protocol):
    """Observer of a build's progress."""

    def begin(self, references: int) -> None:
        """Called with the number of references with missing labels."""
        ...

    def advance(self, report: BlockReport) -> None:
        """Called when a reference is done."""
        ...


@dataclass(frozen=True, slots=True)
class BuildSummary:
    """Result of a build.

    Attributes:
        labelled: References that were missing and are done.
        busy_s: Time of all workers.
        inference_s: Part of this time inside of models.
        tasks: What the database holds now.
    """

    labelled: int
    busy_s: float
    inference_s: float
    tasks: tuple[TaskSummary, ...]


def build_labels(
    path: Path, plan: MiqaPlan, engine: EngineOptions, watcher: Watcher | None = None
) -> BuildSummary:
    """Build labels, or continue.

    Args:
        path: New, empty, or a database of the same plan; references, tasks and models may be added.
        plan: What the labels depend on.
        engine: What runs the jobs.
        watcher: Observes the progress.

    Raises:
        UsageError: The folder was built with another plan; a task has no model, or
            none that knows a category of the source.
        InputError: Another job works in it; a reference cannot be read; a model fails on an image, or
            none is right on a clean one; the disk is full. Finished references are kept.
    """
    unknown_categories(plan.models, plan.tasks, plan.source)  # what is refused leaves no folder
    with JobFolder(path, "label build").opened(plan.tree()):
        missing = [index for index, name in enumerate(plan.names) if missing_tasks(path, plan, name)]
        for task in plan.tasks:
            require_right(path, plan, task)
        if watcher is not None:
            watcher.begin(len(missing))
        reports = []
        for report in run_jobs((partial(label_reference, path, plan, index) for index in missing), engine):
            reports.append(report)
            if watcher is not None:
                watcher.advance(report)
        tasks = tuple(finish_task(path, plan, task) for task in plan.tasks)
    busy_s, inference_s = (sum(getattr(one, name) for one in reports) for name in ("busy_s", "inference_s"))
    return BuildSummary(len(missing), busy_s, inference_s, tasks)
