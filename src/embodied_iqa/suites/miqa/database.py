"""Reading of a database of machine-vision quality."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.tables import read_table, rows_of, schema_of
from embodied_iqa.models.vision.predictions import VisionTask
from embodied_iqa.suites.miqa.layout import TaskFolder
from embodied_iqa.suites.miqa.manifest import Manifest, read_manifest
from embodied_iqa.suites.miqa.miqa_images import MiqaImages
from embodied_iqa.suites.miqa.rows import MiqaRow, ModelValues


@dataclass(frozen=True)
class MiqaDatabase:
    """Labels and images of a folder that `embodied-iqa miqa build` or `miqa import` wrote.

    Attributes:
        path: The folder.
    """

    path: Path

    @cached_property
    def tasks(self) -> tuple[VisionTask, ...]:
        """The tasks with finished labels.

        Raises:
            InputError: There is none.
        """
        found = tuple(task for task in VisionTask if TaskFolder(self.path, task).manifest_file.is_file())
        if not found:
            raise InputError(
                f"{self.path} has no labels of machine vision",
                expected="a folder of `miqa build`",
            )
        return found

    def manifest(self, task: VisionTask) -> Manifest:
        """Return how the labels of a task were made.

        Raises:
            InputError: There are none.
        """
        return read_manifest(TaskFolder(self.path, task))

    def rows(self, task: VisionTask) -> tuple[MiqaRow, ...]:
        """Return the labels of all images, reference by reference.

        Raises:
            InputError: There are none, or the table is damaged.
        """
        self.manifest(task)
        file = TaskFolder(self.path, task).table_file
        return _rows(file, file.stat().st_mtime_ns if file.is_file() else 0)

    def images(self, task: VisionTask) -> MiqaImages:
        """Return the images; `MiqaRow.image` names them."""
        return MiqaImages(self.path, task)

    def values(self, task: VisionTask) -> ModelMeasures:
        """Return what every model measured on every labelled image.

        Raises:
            InputError: The labels were imported, or a table is damaged.
        """
        folder, manifest = TaskFolder(self.path, task), self.manifest(task)
        if not manifest.models:
            raise InputError(
                f"{self.path} holds no values of single models",
                expected="labels of `miqa build`",
            )
        references = dict.fromkeys(row.reference for row in self.rows(task))
        rows = [row for name in references for row in read_values(folder, name) if "/" in row.image]
        return ModelMeasures(
            tuple(row.image for row in rows),
            np.array([row.consistency for row in rows], np.float64),
            np.array([row.accuracy for row in rows], np.float64),
            np.array([model.performance for model in manifest.models], np.float64),
        )


@dataclass(frozen=True, slots=True, eq=False)
class ModelMeasures:
    """Measures of M models on P images.

    Attributes:
        images: P paths below ``images/``.
        consistency: ``(P, M)`` in [0, 1].
        accuracy: ``(P, M)`` in [0, 1].
        performance: ``(M,)`` of each model on clean images.
    """

    images: Sequence[str]
    consistency: NDArray[np.float64]
    accuracy: NDArray[np.float64]
    performance: NDArray[np.float64]


def read_values(folder: TaskFolder, reference: str) -> list[ModelValues]:
    """Return the measures of a reference, its clean image first.

    Raises:
        InputError: The file is missing or damaged.
    """
    return rows_of(ModelValues, read_table(folder.values_file(reference), schema_of(ModelValues).names))


@lru_cache(maxsize=4)
def _rows(file: Path, _: int) -> tuple[MiqaRow, ...]:
    return tuple(rows_of(MiqaRow, read_table(file, schema_of(MiqaRow).names)))
