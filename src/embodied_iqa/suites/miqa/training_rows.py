"""Training set of a database of machine-vision quality: its training references and nothing else."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Final

import numpy as np

from embodied_iqa.base.config import ranged
from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.jobs.plan import digest_of
from embodied_iqa.models.vision.predictions import VisionTask
from embodied_iqa.quality.metrics.trainable import TrainingSet
from embodied_iqa.quality.metrics.training.miqa_recipes import with_region_layer
from embodied_iqa.quality.metrics.training.recipes import MetricRecipe, recipe_by_name
from embodied_iqa.suites.miqa.database import MiqaDatabase
from embodied_iqa.suites.miqa.rows import MiqaRow, Part

TARGET: Final = "miqa:"
"""Prefix of a target that is a label of a task, such as ``miqa:cls:composite``."""


class Label(StrEnum):
    """Labels of an image."""

    COMPOSITE = "composite"
    CONSISTENCY = "consistency"
    ACCURACY = "accuracy"

    @property
    def field(self) -> str:
        """Name of the column in `MiqaRow`."""
        return str(self) if self is Label.COMPOSITE else f"weighted_{self}"


@dataclass(frozen=True, slots=True)
class LabelTraining:
    """What a metric learns of the labels, and what differs from its recipe.

    Attributes:
        recipe: RA-MIQA as ra-miqa or ra-miqa-small, its ablation or a baseline; see docs/miqa.md.
        vision_task: Of the labels: cls, det or ins.
        label: Composite, consistency or accuracy.
        region_layer: Block of the region encoder whose tokens are averaged: 1, 2, ..., last or none
            (default last).
        weights: Backbone to begin with (safetensors, names of timm).
        region_weights: Region encoder (safetensors; default: one is trained on rendered scenes).
        epochs: At most (default: as in the recipe).
        images_each: Of each reference, drawn by the seed; 0 for all (default: as in the recipe).
    """

    recipe: str = "ra-miqa-small"
    vision_task: VisionTask = VisionTask.CLASSIFICATION
    label: Label = Label.COMPOSITE
    region_layer: str | None = None
    weights: Path | None = None
    region_weights: Path | None = None
    epochs: int | None = ranged(None, 1, math.inf)
    images_each: int | None = ranged(None, 0, math.inf)

    @property
    def target(self) -> str:
        """``miqa:TASK:LABEL``."""
        return f"{TARGET}{self.vision_task}:{self.label}"

    def changed_recipe(self) -> MetricRecipe:
        """Return the recipe with the changes.

        Raises:
            UsageError: The recipe is unknown, or it has no such layer.
        """
        recipe = recipe_by_name(self.recipe)
        if self.region_layer is not None:
            recipe = with_region_layer(recipe, self.region_layer)
        recipe = recipe.of_epochs(self.epochs)
        return recipe if self.images_each is None else replace(recipe, pictures_each=self.images_each)


def parse_target(text: str) -> tuple[VisionTask, Label]:
    """Return task and label of ``miqa:TASK:LABEL``; without a label, the composite.

    Raises:
        UsageError: Another form.
    """
    task, _, label = text.removeprefix(TARGET).partition(":")
    try:
        return VisionTask(task), Label(label or Label.COMPOSITE)
    except ValueError:
        expected = f"miqa:TASK:LABEL with {', '.join(VisionTask)} and {', '.join(Label)}"
        raise UsageError("wrong target", expected=expected, got=text) from None


def training_set(database: MiqaDatabase, task: VisionTask, label: Label) -> TrainingSet:
    """Return the images of the training references with one of their labels.

    Raises:
        InputError: The task has no labels.
    """
    return _set(database, task, label, Part.TRAIN)


def held_out_set(database: MiqaDatabase, task: VisionTask, label: Label) -> TrainingSet:
    """Return the images of the validation references with one of their labels; not to be trained on."""
    return _set(database, task, label, Part.VALIDATION)


def references_digest(database: MiqaDatabase, task: VisionTask) -> str:
    """Return a hash of the names of the training references."""
    rows = database.rows(task)
    return digest_of("training references", sorted({row.reference for row in rows if row.part is Part.TRAIN}))


def _set(database: MiqaDatabase, task: VisionTask, label: Label, part: Part) -> TrainingSet:
    rows: list[MiqaRow] = [row for row in database.rows(task) if row.part is part]
    labels = np.array([getattr(row, label.field) for row in rows], np.float64)
    names = tuple(row.image for row in rows)
    return TrainingSet(database.images(task), names, tuple(row.reference for row in rows), labels)
