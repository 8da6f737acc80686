"""Images of one object, vision models that predict on them by a rule, and builds of labels with them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import ClassVar, TypeAlias

import numpy as np

from embodied_iqa.base.jobs.engine import EngineOptions
from embodied_iqa.models.vision.model import VisionModelInfo
from embodied_iqa.models.vision.predictions import Classification, Instances, Prediction, VisionTask
from embodied_iqa.suites.miqa.building.build_plan import MiqaPlan
from embodied_iqa.suites.miqa.building.builder import build_labels
from embodied_iqa.suites.miqa.building.reference import MiqaReference, ReferenceView, crop_view, single
from embodied_iqa.suites.miqa.database import MiqaDatabase

Rule: TypeAlias = Callable[[np.ndarray], Prediction]
SIZE_PX = (48, 64)
MASK = np.zeros(SIZE_PX, bool)
MASK[10:34, 12:40] = True
TRUTH = single(MASK, "cube")


@dataclass(frozen=True)
class Squares:
    """Images with one object, always in the same place; a `MiqaSource`."""

    count: int = 2
    description: ClassVar[str] = "squares"
    fingerprint: ClassVar[str] = ""
    read_count: ClassVar[list[int]] = []

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the references."""
        return tuple(f"square_{index}" for index in range(self.count))

    def categories(self, _: VisionTask) -> frozenset[str]:
        """Return the class of the object."""
        return frozenset({"cube"})

    def read(self, index: int) -> MiqaReference:
        """Return a reference and count it."""
        self.read_count.append(index)
        rgb = np.random.default_rng(index).integers(60, 120, (*SIZE_PX, 3), np.uint8)
        rgb[MASK] = (200, 40, 40)
        view = ReferenceView(rgb, MASK, "cube", TRUTH)
        return MiqaReference(view, crop_view(rgb, MASK, "cube"))


@dataclass
class Fake:
    """Predicts by a rule."""

    name: str
    task: VisionTask
    rule: Rule
    performance: float | None = 0.5
    calls: int = 0
    batches: list[int] = field(default_factory=list)

    @property
    def info(self) -> VisionModelInfo:
        """What is known of the model."""
        return VisionModelInfo(self.name, self.task, "1", ("cube", "ball"), self.performance)

    def predict(self, images: Sequence[np.ndarray]) -> list[Prediction]:
        """Return one prediction for each image."""
        self.batches.append(len(images))
        return [self.rule(image) for image in images]


def bright(image: np.ndarray) -> Classification:
    """Right where the object is much brighter in red than the rest: lost by strong fog and darkness."""
    difference = image[MASK][:, 0].mean() - image[~MASK][:, 0].mean()
    return Classification("cube" if difference > 90 else "ball")


def seen(image: np.ndarray) -> Instances:
    """The pixels that are red enough."""
    mask = (image[:, :, 0].astype(int) - image[:, :, 1]) > 110
    found = single(mask, "cube")
    return Instances(found.labels, found.scores * 0.9, found.boxes_px, found.masks)


def nothing(_: np.ndarray) -> Instances:
    """Sees nothing."""
    return Instances((), np.zeros(0), np.zeros((0, 4)), np.zeros((0, *SIZE_PX), bool))


def oracle(_: np.ndarray) -> Instances:
    """Sees the truth."""
    return TRUTH


def right(_: np.ndarray) -> Classification:
    """Always right."""
    return Classification("cube")


def wrong(_: np.ndarray) -> Classification:
    """Always wrong."""
    return Classification("ball")


def plan(*tasks: VisionTask, **options: object) -> MiqaPlan:
    """Return a plan of two references, twenty images each."""
    return MiqaPlan(Squares(), 2, ("fakes",), tasks, **{"share": 0.08, **options})


def build(path: Path, wanted: MiqaPlan) -> MiqaDatabase:
    """Build in this process."""
    build_labels(path, wanted, EngineOptions())
    return MiqaDatabase(path)


def tree(path: Path) -> dict[str, str]:
    """Return the hash of each file."""
    return {
        file.relative_to(path).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(path.rglob("*"))
        if file.is_file() and file.name != ".lock"
    }
