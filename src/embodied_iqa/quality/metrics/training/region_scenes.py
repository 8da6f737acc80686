"""Rendered scenes with the kind of object of every pixel, for the training of a region encoder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.models.panel.samples.draw_samples import sample_scene
from embodied_iqa.quality.metrics.learned.inputs import InputKind, NetworkInput
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS
from embodied_iqa.world.scenes.scene import Scene
from embodied_iqa.world.simulation.renderer import BACKGROUND
from embodied_iqa.world.simulation.scene_batches import SceneBatchRenderer
from embodied_iqa.world.tasks.vocabulary import Kind

CLASSES: Final = ("no object", *Kind)
"""What a pixel shows; table, robot and room are not objects."""
CELL_PX: Final = 4
"""Side of a cell that has one class, in pixels of the network's input."""
_DRAWN_PX: Final = (320, 240)


@dataclass(frozen=True, slots=True, eq=False)
class SegmentedImages:
    """Images with their true segmentation.

    Attributes:
        images: ``(N, S, S, 3)`` uint8.
        classes: ``(N, S / CELL_PX, S / CELL_PX)`` uint8, index in `CLASSES`.
    """

    images: NDArray[np.uint8]
    classes: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.images)


def draw_segmented(seed: int, first: int, end: int, square_px: int) -> SegmentedImages:
    """Draw scenes ``first`` to ``end - 1`` of a seed from all cameras; three images a scene.

    Raises:
        MissingDependencyError: No graphics context can be opened.
    """
    shots = list(_shots(seed, first, end, square_px))
    images, classes = zip(*shots, strict=True)
    return SegmentedImages(np.stack(images), np.stack(classes))


def _shots(
    seed: int, first: int, end: int, square_px: int
) -> Iterator[tuple[NDArray[np.uint8], NDArray[np.uint8]]]:
    square = NetworkInput(InputKind.SQUARE, size_px=(square_px, square_px))
    with SceneBatchRenderer(*_DRAWN_PX) as renderer:
        for number in range(first, end):
            scene, _ = sample_scene(seed, number)
            frames = renderer.frames(scene, CELL_VIEWS)
            for view in CELL_VIEWS:
                found = renderer.segmentation(scene, view)
                yield square.measure(frames[view].rgb), _cells(found, scene, square_px // CELL_PX)


def _cells(segmentation: NDArray[np.int16], scene: Scene, side: int) -> NDArray[np.uint8]:
    """Return the classes of a grid of ``side`` x ``side`` cells of the central square, at their centres."""
    table = np.zeros(len(scene.objects) + 1, np.uint8)
    table[:-1] = [CLASSES.index(item.kind) for item in scene.objects]
    classes = table[np.where(segmentation == BACKGROUND, len(scene.objects), segmentation)]
    height, width = classes.shape
    left = (width - height) // 2
    cells: NDArray[np.uint8] = cv2.resize(
        classes[:, left : left + height], (side, side), interpolation=cv2.INTER_NEAREST_EXACT
    )
    return cells
