"""Training set of a database of machine-vision quality: its training references and nothing else."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import numpy as np

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.jobs.plan import digest_of
from embodied_iqa.models.vision.predictions import VisionTask
from embodied_iqa.quality.metrics.trainable import TrainingSet
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
    names = tuple(row.picture for row in rows)
    return TrainingSet(database.images(task), names, tuple(row.reference for row in rows), labels)
