"""References of an annotated database whose scenes are simulated, so that their truth is exact."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.tables import rows_of
from embodied_iqa.data.database.database_images import reference_frame
from embodied_iqa.data.database.edits import scene_of
from embodied_iqa.data.database.schema import Reference
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.imaging.distortions.region import mask_of_labels
from embodied_iqa.models.vision.predictions import VisionTask
from embodied_iqa.models.vision.samples.truth import classes_of_cell, coloured_class, crop_of, instances_of
from embodied_iqa.suites.miqa.building.reference import MiqaReference, ReferenceView, crop_view
from embodied_iqa.world.scenes.scene import find_destination, find_object
from embodied_iqa.world.simulation.kept_renderers import batch_renderer
from embodied_iqa.world.simulation.world import at_rest
from embodied_iqa.world.tasks.instruction import parse_instruction


@dataclass(frozen=True)
class DatabaseSource:
    """References of a database: its images, and the truth of their scenes rendered again.

    The region of interest is what the main task of the scene names. Photographs are left out and counted.

    Attributes:
        path: The database.
        references: Those of simulated scenes.
        left_out: Number of the others.
    """

    path: Path
    references: tuple[Reference, ...] = field(init=False)
    left_out: int = field(init=False)

    def __post_init__(self) -> None:
        rows = rows_of(Reference, DatabaseStore(self.path).references())
        usable = [row for row in rows if scene_of(row) is not None]
        if not usable:
            raise InputError(
                f"{self.path} has no reference of a simulated scene", expected="exact truth", got=len(rows)
            )
        object.__setattr__(self, "references", tuple(usable))
        object.__setattr__(self, "left_out", len(rows) - len(usable))

    @property
    def names(self) -> tuple[str, ...]:
        """Identifiers of the references."""
        return tuple(row.reference_id for row in self.references)

    @property
    def description(self) -> str:
        """Name of the database; names and hashes identify the images."""
        return f"database {self.path.resolve().name}, {self.left_out} without a simulated scene"

    @property
    def fingerprint(self) -> str:
        """Empty: hashes of images identify them, which are checked when they are read."""
        return ""

    def categories(self, task: VisionTask) -> frozenset[str]:
        """Return the classes of the cell: kinds of objects, and for classifiers their colours, too."""
        return classes_of_cell(task)

    def read(self, index: int) -> MiqaReference:
        """Read an image and render the segmentation of its scene.

        Raises:
            InputError: The image is missing or damaged, or shows nothing of its task.
        """
        row = self.references[index]
        rgb, scene = reference_frame(self.path, row).rgb, scene_of(row)
        if scene is None:
            raise InputError(f"{row.reference_id} has no simulated scene")
        task = parse_instruction(row.instruction or "")
        with batch_renderer(row.width_px, row.height_px) as renderer:
            labels = renderer.segmentation(scene, row.view, at_rest(scene))
        instances, objects = instances_of(labels, scene.objects)
        main = find_object(scene, task)
        if main not in objects:
            raise InputError(f"{row.reference_id} does not show the object of its task", got=row.instruction)
        named = [one for one in (main, find_destination(scene, task)) if one is not None]
        region = np.asarray(mask_of_labels(labels, named))
        crop = crop_of(rgb, np.asarray(labels == main), coloured_class(scene.objects[main]))
        whole = ReferenceView(rgb, region, str(scene.objects[main].kind), instances)
        return MiqaReference(whole, crop_view(crop.rgb, crop.mask, crop.label))
