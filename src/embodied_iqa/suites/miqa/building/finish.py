"""Last step of a build: weights of the models, labels, truth, splits and the manifest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.records import read_json
from embodied_iqa.models.vision.labels import machine_labels, model_weights
from embodied_iqa.models.vision.predictions import VisionTask
from embodied_iqa.suites.miqa.building.build_plan import MiqaPlan
from embodied_iqa.suites.miqa.building.models import models_of
from embodied_iqa.suites.miqa.building.truth import ReferenceTruth, write_coco
from embodied_iqa.suites.miqa.database import read_values
from embodied_iqa.suites.miqa.layout import TaskFolder
from embodied_iqa.suites.miqa.manifest import Images, LabelModel, Manifest, WeightSource
from embodied_iqa.suites.miqa.names import parse_name
from embodied_iqa.suites.miqa.rows import MiqaRow, ModelValues, Part
from embodied_iqa.suites.miqa.splits import split_references
from embodied_iqa.suites.miqa.writing import write_task


@dataclass(frozen=True, slots=True)
class TaskSummary:
    """The labels of a task.

    Attributes:
        manifest: How they were made.
        consistency: Mean of the weighted consistency, in [0, 1].
        accuracy: Mean of the weighted accuracy.
        clean_accuracy: Mean of the weighted accuracy on the clean references.
    """

    manifest: Manifest
    consistency: float
    accuracy: float
    clean_accuracy: float


def finish_task(path: Path, plan: MiqaPlan, task: VisionTask) -> TaskSummary:
    """Compute the labels of a task from the measures of its models, and write everything that is read.

    Raises:
        InputError: No model does anything right on the clean references; a file cannot be written.
    """
    folder = TaskFolder(path, task)
    values = {name: read_values(folder, name) for name in plan.names}
    clean = np.array([rows[0].accuracy for rows in values.values()])
    performance, origin = _performance(plan, task, clean)
    weights = model_weights(performance)
    truths = [_truth(folder, name) for name in plan.names]
    parts = split_references({truth.reference: truth.category for truth in truths}, plan.seed)
    rows = []
    for truth in truths:
        rows += _rows(truth, parts[truth.reference], values[truth.reference][1:], performance)
    known = [model.info for model in models_of(plan.models, task)]
    manifest = Manifest(
        task=task,
        source=plan.source.description,
        images=Images.FILES if plan.keep_images else Images.SEEDS,
        folder="",
        seed=plan.seed,
        share=plan.share,
        weights_from=origin,
        models=tuple(
            LabelModel(info.name, info.version, float(of_clean), float(weight))
            for info, of_clean, weight in zip(known, performance, weights, strict=True)
        ),
        references=len(truths),
        rows=len(rows),
    )
    write_coco(folder.images.truth_file, truths)
    write_task(folder, manifest, rows)
    return TaskSummary(
        manifest,
        float(np.mean([row.weighted_consistency for row in rows])),
        float(np.mean([row.weighted_accuracy for row in rows])),
        float((clean @ weights).mean()),
    )


def _performance(
    plan: MiqaPlan, task: VisionTask, clean: NDArray[np.float64]
) -> tuple[list[float], WeightSource]:
    """Return the performance of each model: of their cards if all have one, so that they are comparable."""
    stated = [model.info.performance for model in models_of(plan.models, task)]
    known = [value for value in stated if value is not None]
    if len(known) == len(stated):
        return known, WeightSource.CARD
    return clean.mean(axis=0).tolist(), WeightSource.CLEAN


def _truth(folder: TaskFolder, name: str) -> ReferenceTruth:
    return read_json(ReferenceTruth, folder.images.truth_part(name), "the truth of a reference")


def _rows(
    truth: ReferenceTruth, part: Part, values: Sequence[ModelValues], performance: Sequence[float]
) -> list[MiqaRow]:
    labels = machine_labels(
        np.array([row.consistency for row in values]), np.array([row.accuracy for row in values]), performance
    )
    names = (
        "weighted_consistency", "weighted_accuracy", "composite", "mean_consistency", "std_consistency",
        "mean_accuracy", "std_accuracy",
    )  # fmt: skip
    columns = [getattr(labels, name).tolist() for name in names]
    found = []
    for row, *numbers in zip(values, *columns, strict=True):
        name = parse_name(row.image)
        which = (row.image, name.reference, truth.category, name.kind, name.inside, name.outside)
        found.append(MiqaRow(*which, name.mode, part, *numbers))
    return found
