"""Small databases of machine-vision quality, with labels that fall with the levels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.imaging.images.codecs import write_image
from embodied_iqa.models.vision.predictions import VisionTask
from embodied_iqa.suites.miqa.database import MiqaDatabase
from embodied_iqa.suites.miqa.layout import TaskFolder
from embodied_iqa.suites.miqa.manifest import Images, Manifest
from embodied_iqa.suites.miqa.names import all_names
from embodied_iqa.suites.miqa.rows import MiqaRow
from embodied_iqa.suites.miqa.splits import split_references
from embodied_iqa.suites.miqa.writing import write_task

SIDE_PX = 64
KINDS = ("gaussian_noise", "contrast")


def scene(number: int) -> NDArray[np.uint8]:
    """Return an image of some circles, the first of which is the region of interest."""
    rng = np.random.default_rng([9, number])
    rgb = np.full((SIDE_PX, SIDE_PX, 3), 120, np.uint8)
    cv2.circle(rgb, (32, 32), 14, (220, 60, 60), -1)
    for _ in range(5):
        x, y = (int(value) for value in rng.integers(SIDE_PX, size=2))
        cv2.circle(rgb, (x, y), 5, tuple(int(value) for value in rng.integers(0, 256, 3)), -1)
    return rgb


def make_miqa(
    root: Path,
    references: int = 10,
    tasks: Sequence[VisionTask] = (VisionTask.CLASSIFICATION,),
    kinds: Sequence[str] = KINDS,
    seed: int = 7,
) -> MiqaDatabase:
    """Write a database of circles; the level inside of the region counts twice."""
    parts = split_references({f"r{index:02d}": "circle" for index in range(references)}, seed)
    for task in tasks:
        folder, rows = TaskFolder(root, task), list[MiqaRow]()
        rng = np.random.default_rng([seed, list(VisionTask).index(task)])
        for number, (reference, part) in enumerate(parts.items()):
            rgb = scene(number)
            mask = cv2.circle(np.zeros((SIDE_PX, SIDE_PX), np.uint8), (32, 32), 14, 255, -1)
            write_image(folder.images.source(reference), rgb)
            write_image(folder.images.mask(reference), np.repeat(mask[..., None], 3, axis=2))
            for name in all_names(reference):
                if name.kind in kinds:
                    fall = 0.1 * name.inside + 0.05 * name.outside
                    c = float(np.clip(1 - fall + rng.normal(0, 0.02), 0, 1))
                    row = (
                        name.path,
                        reference,
                        "circle",
                        name.kind,
                        name.inside,
                        name.outside,
                        name.mode,
                        part,
                    )
                    rows.append(MiqaRow(*row, c, 0.9 * c, 0.95 * c))
        manifest = Manifest(task, "circles", Images.SEEDS, "", seed, 0.2, None, (), references, len(rows))
        write_task(folder, manifest, rows)
    return MiqaDatabase(root)
