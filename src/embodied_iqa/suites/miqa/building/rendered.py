"""References from the cell: rendered images with exact classes, boxes and masks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from embodied_iqa.base.errors import UsageError
from embodied_iqa.imaging.distortions.region import mask_of_labels
from embodied_iqa.models.vision.predictions import VisionTask
from embodied_iqa.models.vision.samples.rendered import VisionSample, rendered_sample
from embodied_iqa.models.vision.samples.truth import classes_of_cell
from embodied_iqa.suites.miqa.building.reference import MiqaReference, ReferenceView, crop_view
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS
from embodied_iqa.world.scenes.scene import WORLD_VERSION, find_destination

_FIRST: int = 1_000_000_000
"""First seed of references; training and evaluation of the vision panel use smaller ones."""
_MOST = 100_000
"""References of a seed."""


@dataclass(frozen=True)
class RenderedSource:
    """Seeded images of the simulated cell; views alternate.

    The region of interest is what the task of the scene names: its object and its destination.

    Attributes:
        seed: Of the scenes.
        count: Number of references.
    """

    seed: int
    count: int

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 10_000 or not 1 <= self.count <= _MOST:
            raise UsageError(
                "wrong references of the cell",
                expected=f"a seed from 0 to 9999, 1 to {_MOST} references",
                got=f"seed {self.seed}, {self.count} references",
            )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """``cell0_00000``: seed and number."""
        return tuple(f"cell{self.seed}_{index:05d}" for index in range(self.count))

    @property
    def description(self) -> str:
        """Version of the world and seed; the number may grow."""
        return f"cell, world {WORLD_VERSION}, seed {self.seed}"

    fingerprint = ""

    def categories(self, task: VisionTask) -> frozenset[str]:
        """Return the classes of the cell: kinds of objects, and for classifiers their colours, too."""
        return classes_of_cell(task)

    def read(self, index: int) -> MiqaReference:
        """Render a scene."""
        views = CELL_VIEWS
        return reference_of(rendered_sample(_FIRST + self.seed * _MOST + index, views[index % len(views)]))


def reference_of(sample: VisionSample) -> MiqaReference:
    """Return a rendered sample as a reference."""
    found = (sample.object_of_instance[sample.main_index], find_destination(sample.scene, sample.task))
    wanted = [index for index in found if index is not None]
    crop = sample.crop()
    region = np.asarray(mask_of_labels(sample.labels, wanted))
    category = sample.instances.labels[sample.main_index]
    return MiqaReference(
        ReferenceView(sample.rgb, region, category, sample.instances),
        crop_view(crop.rgb, crop.mask, crop.label),
    )
