"""Labels one reference: distorts it and measures what the predictions of every model lose."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import write_json_whole
from embodied_iqa.base.jobs.engine import BlockReport
from embodied_iqa.base.records import unstructure
from embodied_iqa.base.tables import read_digest, schema_of, table_of, write_table
from embodied_iqa.imaging.images.codecs import write_image
from embodied_iqa.models.vision.labels import agreement, pseudo_truth
from embodied_iqa.models.vision.model import VisionModel
from embodied_iqa.models.vision.predictions import Classification, Prediction, VisionTask
from embodied_iqa.quality.metrics.metric import Image
from embodied_iqa.suites.miqa.building.build_plan import MiqaPlan
from embodied_iqa.suites.miqa.building.models import models_of, predictions_of
from embodied_iqa.suites.miqa.building.reference import ReferenceView
from embodied_iqa.suites.miqa.building.truth import truth_of
from embodied_iqa.suites.miqa.database import read_values
from embodied_iqa.suites.miqa.distorting import Distorter, drawn_names
from embodied_iqa.suites.miqa.layout import ImageFolder, TaskFolder
from embodied_iqa.suites.miqa.names import ImageName
from embodied_iqa.suites.miqa.rows import ModelValues

_BATCH: Final = 5
"""Distorted images in memory: masks of a hundred instances each are large."""


def digest_for(plan: MiqaPlan, task: VisionTask, reference: str) -> str:
    """Return the hash that marks finished measures of a task on a reference."""
    return plan.digest(reference, [model.info for model in models_of(plan.models, task)])


def missing_tasks(path: Path, plan: MiqaPlan, reference: str) -> tuple[VisionTask, ...]:
    """Return the tasks of the plan that are not measured on a reference."""
    return tuple(
        task
        for task in plan.tasks
        if read_digest(TaskFolder(path, task).values_file(reference)) != digest_for(plan, task, reference)
    )


def label_reference(path: Path, plan: MiqaPlan, index: int) -> BlockReport:
    """Measure the missing tasks on a reference; each is written when all of it is there.

    Raises:
        InputError: The reference cannot be read, a model fails, or a file cannot be written.
    """
    started = time.perf_counter()
    name = plan.names[index]
    tasks = missing_tasks(path, plan, name)
    reference = plan.source.read(index)
    views = (
        (reference.crop, [task for task in tasks if _is_cls(task)]),
        (reference.whole, [task for task in tasks if not _is_cls(task)]),
    )
    rows, busy_s = 0, 0.0
    for view, wanted in views:
        if wanted:
            job = _ViewJob(path, plan, name, view, wanted)
            rows += job.run()
            busy_s += job.inference_s
    return BlockReport(index, rows, {}, time.perf_counter() - started, busy_s)


def require_right(path: Path, plan: MiqaPlan, task: VisionTask) -> None:
    """Refuse models that are right on no clean image, for which nothing is distorted yet.

    Their performance on clean images weighs them, unless the cards of all state it.

    Raises:
        InputError: None is right on any, or see `label_reference`.
    """
    infos = [model.info for model in models_of(plan.models, task)]
    if all(info.performance is not None for info in infos):
        return
    if not any(_is_right(path, plan, task, index) for index in range(len(plan.names))):
        raise InputError(
            f"no model for {task} is right on any of the {len(plan.names)} clean images: none has a weight",
            expected="more --models, or better ones (docs/vision-models.md)",
            got=", ".join(info.name for info in infos),
        )


def _is_right(path: Path, plan: MiqaPlan, task: VisionTask, index: int) -> bool:
    """Return whether a model is right, if only in part, on the clean image of a reference."""
    name = plan.names[index]
    if task not in missing_tasks(path, plan, name):
        return any(read_values(TaskFolder(path, task), name)[0].accuracy)
    reference = plan.source.read(index)
    view = reference.crop if _is_cls(task) else reference.whole
    return _ViewJob(path, plan, name, view, [task]).is_right(task)


@dataclass(slots=True)
class _Member:
    """A model with its references of comparison."""

    model: VisionModel
    clean: Prediction
    truth: Prediction
    values: list[tuple[float, float]]

    def measure(self, prediction: Prediction) -> None:
        """Add consistency and accuracy of a prediction."""
        info = self.model.info
        self.values.append(
            (
                agreement(prediction, self.clean, info.task, info.threshold),
                agreement(prediction, self.truth, info.task, info.threshold),
            )
        )


class _ViewJob:
    """The tasks of one image."""

    def __init__(
        self, path: Path, plan: MiqaPlan, name: str, view: ReferenceView, tasks: Sequence[VisionTask]
    ) -> None:
        self._path = path
        self._plan = plan
        self._name = name
        self._view = view
        self._tasks = tasks
        self._folder: ImageFolder = TaskFolder(path, tasks[0]).images
        self.inference_s = 0.0

    def run(self) -> int:
        """Measure and write; return the number of labelled images of all tasks."""
        members = {task: self._members(task) for task in self._tasks}
        self._write_source()  # not before: a model that fails at once leaves no result
        names = drawn_names(self._name, self._plan.seed, self._plan.share)
        for batch in self._batches(names):
            if self._plan.keep_images:
                for name, image in batch.items():
                    write_image(self._folder.images / name.path, image)
            for member in (one for found in members.values() for one in found):
                self._measure(member, [name.path for name in batch], list(batch.values()))
        for task, found in members.items():
            self._write_values(task, [self._name, *(name.path for name in names)], found)
        return len(names) * len(self._tasks)

    def is_right(self, task: VisionTask) -> bool:
        """Return whether a model is right, if only in part, on the clean image."""
        return any(accuracy for member in self._members(task) for _, accuracy in member.values)

    def _members(self, task: VisionTask) -> list[_Member]:
        truth = Classification(self._view.category) if _is_cls(task) else self._view.instances
        found = []
        for model in models_of(self._plan.models, task):
            (clean,) = self._predict(model, [self._view.rgb], [self._name])
            member = _Member(model, pseudo_truth(clean, task, model.info.threshold), truth, [])
            member.measure(clean)
            found.append(member)
        return found

    def _measure(self, member: _Member, names: Sequence[str], images: Sequence[Image]) -> None:
        for prediction in self._predict(member.model, images, names):
            member.measure(prediction)

    def _predict(self, model: VisionModel, images: Sequence[Image], names: Sequence[str]) -> list[Prediction]:
        started = time.perf_counter()
        found = predictions_of(model, images, names)
        self.inference_s += time.perf_counter() - started
        return found

    def _batches(self, names: Sequence[ImageName]) -> Iterator[Mapping[ImageName, Image]]:
        distorter = Distorter(self._view.rgb, self._view.region, self._plan.seed)
        for at in range(0, len(names), _BATCH):
            yield {name: distorter.image(name) for name in names[at : at + _BATCH]}

    def _write_source(self) -> None:
        mask = np.repeat(self._view.region[:, :, None], 3, axis=2).astype(np.uint8) * np.uint8(255)
        write_image(self._folder.mask(self._name), mask)
        write_json_whole(self._folder.truth_part(self._name), unstructure(truth_of(self._name, self._view)))
        write_image(self._folder.source(self._name), self._view.rgb)

    def _write_values(self, task: VisionTask, names: Sequence[str], members: Sequence[_Member]) -> None:
        measured = np.array([member.values for member in members])
        rows = [
            ModelValues(name, *(tuple(column.tolist()) for column in measured[:, at].T))
            for at, name in enumerate(names)
        ]
        digest = digest_for(self._plan, task, self._name)
        file = TaskFolder(self._path, task).values_file(self._name)
        write_table(file, table_of(ModelValues, rows), schema_of(ModelValues), digest)


def _is_cls(task: VisionTask) -> bool:
    return task is VisionTask.CLASSIFICATION
