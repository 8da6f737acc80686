"""Evaluation of metrics on the held-out images of a database; measured values are kept and reused."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from embodied_iqa.base.config import ranged
from embodied_iqa.base.files import write_json_whole
from embodied_iqa.base.jobs.engine import EngineOptions, run_jobs
from embodied_iqa.base.jobs.folder import JobFolder
from embodied_iqa.base.records import unstructure
from embodied_iqa.models.vision.predictions import VisionTask
from embodied_iqa.quality.metrics.benchmark.resolving import described
from embodied_iqa.quality.metrics.benchmark.values import (
    ValueStore,
    Want,
    blocks_of,
    close_loaded,
    finite_values,
)
from embodied_iqa.quality.metrics.learned.card import CARD_FILE, load_metric_card
from embodied_iqa.quality.metrics.learned.trained import model_folder
from embodied_iqa.suites.miqa.database import MiqaDatabase
from embodied_iqa.suites.miqa.evaluation.comparing import (
    MeasuredMetric,
    TaskComparison,
    compare_task,
    held_out_rows,
)
from embodied_iqa.suites.miqa.evaluation.evaluation_results import EVALUATION_FILE, MiqaEvaluation
from embodied_iqa.suites.miqa.rows import MiqaRow
from embodied_iqa.suites.miqa.training_rows import TARGET, Label, references_digest

BASELINES: Final = ("psnr", "ssim", "vsi")
Progress = Callable[[str, int, int], None]
"""Called with what is done, the number of finished jobs, and of all."""


@dataclass(frozen=True, slots=True)
class EvaluationPlan:
    """What an evaluation compares.

    Attributes:
        metrics: Names of metrics.
        tasks: Tasks whose labels count.
        label: Which labels.
        draws: Draws of references, for the intervals.
        images_each: Held-out images of each reference, drawn with seed 0; 0 for all.
    """

    metrics: tuple[str, ...]
    tasks: tuple[VisionTask, ...]
    label: Label = Label.COMPOSITE
    draws: int = ranged(500, 1, math.inf)
    images_each: int = ranged(0, 0, math.inf)


def evaluate(
    database: MiqaDatabase, plan: EvaluationPlan, out: Path, engine: EngineOptions, progress: Progress
) -> MiqaEvaluation:
    """Measure metrics on the held-out images, compare them with the labels, write ``evaluation.json``.

    Args:
        database: Nothing is written to it.
        plan: What is compared.
        out: Folder of measured values and of the result; values that are there are reused.
        engine: What runs the measurements.
        progress: Observes the progress.

    Raises:
        UsageError: Unknown metric.
        InputError: No held-out images, a file is missing or damaged, or another evaluation works in the
            folder. Finished measurements are kept.
    """
    with JobFolder(out, "evaluation of metrics").locked():
        return _evaluated(_Work(database, plan, out.resolve(), engine, progress))


def _evaluated(work: _Work) -> MiqaEvaluation:
    database, plan = work.database, work.plan
    parts = [work.compared(task) for task in plan.tasks]
    result = MiqaEvaluation(
        database.path.resolve().name,
        plan.label,
        tuple(part.facts for part in parts),
        tuple(row for part in parts for row in part.metrics),
        tuple(row for part in parts for row in part.subsets),
        tuple(row for part in parts for row in part.differences),
        tuple(_remarks(database, plan)),
        tuple(row for part in parts for row in part.falls),
    )
    write_json_whole(work.out / EVALUATION_FILE, unstructure(result))
    return result


@dataclass(frozen=True, slots=True)
class _Work:
    """What the tasks of an evaluation share."""

    database: MiqaDatabase
    plan: EvaluationPlan
    out: Path
    engine: EngineOptions
    progress: Progress

    def compared(self, task: VisionTask) -> TaskComparison:
        words = {trained_on(metric).partition(":")[0] for metric in self.plan.metrics}
        trained = [one for one in self.database.tasks if one in words]
        rows = held_out_rows(self.database, task, self.plan.images_each, trained)
        return compare_task(task, self.plan.label, rows, self._measured(task, rows), draws=self.plan.draws)

    def _measured(self, task: VisionTask, rows: Sequence[MiqaRow]) -> list[MeasuredMetric]:
        pairs, owners = [row.image for row in rows], [row.reference for row in rows]
        store, blocks = ValueStore(self.out, self.database.images(task)), blocks_of(pairs, owners)
        wants = [Want(name, *described(name), name, blocks) for name in self.plan.metrics]
        jobs, title = store.jobs(wants), f"measure images of {task}"
        try:
            for done, _ in enumerate(run_jobs(jobs, self.engine), start=1):
                self.progress(title, done, len(jobs))
        finally:
            close_loaded()
        found = []
        for want in wants:
            values = store.read(want, pairs)
            signed = finite_values(values.values, want.info.sign)
            found.append(MeasuredMetric(want.metric, trained_on(want.metric), signed, values.milliseconds))
        return found


def trained_on(metric: str) -> str:
    """Return task and label that a metric was trained on, such as ``cls:composite``; empty for others."""
    folder = _folder(metric)
    target = load_metric_card(folder).target if folder is not None else ""
    return target.removeprefix(TARGET) if target.startswith(TARGET) else ""


def _folder(metric: str) -> Path | None:
    path = model_folder(metric)
    return path if path is not None and (path / CARD_FILE).is_file() else None


def _remarks(database: MiqaDatabase, plan: EvaluationPlan) -> list[str]:
    """Return which trained metrics may have learned from held-out references."""
    remarks = []
    for metric in plan.metrics:
        folder = _folder(metric)
        if folder is None:
            continue
        card = load_metric_card(folder)
        task = next((one for one in VisionTask if card.target.startswith(f"{TARGET}{one}:")), None)
        if task is None or task not in database.tasks:
            continue
        known = card.database.get("training_references")
        if known != references_digest(database, task):
            remarks.append(
                f"{metric} was trained on other references than the training part of this database: "
                "images that are held out here may be among them."
            )
    return remarks
