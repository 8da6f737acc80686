"""Seeded images of the cell through the camera model, with exact truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InternalError, UsageError
from embodied_iqa.base.kept import keep_open
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.vision.predictions import Instances
from embodied_iqa.models.vision.samples.truth import CROP_PX, Crop, coloured_class, crop_of, instances_of
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS
from embodied_iqa.world.scenes.language.five_tasks import draw_task_scene
from embodied_iqa.world.scenes.scene import Scene
from embodied_iqa.world.simulation.camera.simulated_cameras import as_delivered
from embodied_iqa.world.simulation.kept_renderers import batch_renderer
from embodied_iqa.world.simulation.world import at_rest
from embodied_iqa.world.tasks.instruction import Instruction

IMAGE_PX: Final = (640, 480)
"""Width and height of the images, from which networks take theirs."""
_SEED_TAG: Final = 0x715A
_ATTEMPTS: Final = 100


@dataclass(frozen=True, slots=True, eq=False)
class VisionSample:
    """A rendered image with its truth.

    Attributes:
        scene: What it shows, with the arm at home.
        task: The main task of the scene; its object is ``scene.objects[0]``.
        view: The camera.
        rgb: ``(H, W, 3)`` uint8 RGB, as the camera delivers it.
        labels: ``(H, W)`` int16, the index in ``scene.objects`` of what each pixel shows, or -1.
        instances: The objects of which a pixel is visible, class by kind; too small ones are marked as crowd.
        object_of_instance: Index in ``scene.objects`` of each instance.
        main_index: Index among the instances of the object of the task; never marked as crowd.
    """

    scene: Scene
    task: Instruction
    view: View
    rgb: NDArray[np.uint8]
    labels: NDArray[np.int16]
    instances: Instances
    object_of_instance: tuple[int, ...]
    main_index: int

    @property
    def main_class(self) -> str:
        """Colour and kind of the object of the task, such as "red cube"."""
        return coloured_class(self.scene.objects[0])

    def crop(self, index: int | None = None, size_px: int = CROP_PX) -> Crop:
        """Return the image of one instance; None for the object of the task."""
        item = self.main_index if index is None else index
        number = self.object_of_instance[item]
        mask = self.labels == number
        return crop_of(self.rgb, mask, coloured_class(self.scene.objects[number]), size_px)


def rendered_sample(seed: int, view: View, size_px: tuple[int, int] = IMAGE_PX) -> VisionSample:
    """Render a scene that shows the object of its task.

    Args:
        seed: Any integer from 0; the same arguments give the same sample in every process.
        view: The camera.
        size_px: Width and height of the image, even numbers.

    Raises:
        UsageError: The seed is negative, or the size is odd or too large.
        MissingDependencyError: No graphics context can be opened.
    """
    if seed < 0:
        raise UsageError("the seed of a sample cannot be negative", expected="an integer from 0", got=seed)
    rng = np.random.default_rng([seed, CELL_VIEWS.index(view), _SEED_TAG])
    with keep_open():
        for _ in range(_ATTEMPTS):
            scene, task = draw_task_scene(int(rng.integers(2**31)), views=[view])
            sample = _rendered(scene, task, view, size_px)
            if sample is not None:
                return sample
    raise InternalError(f"no scene shows the object of its task: seed {seed}, view {view}")


def _rendered(scene: Scene, task: Instruction, view: View, size_px: tuple[int, int]) -> VisionSample | None:
    """Return the sample of a scene; None if too little of the object of the task is visible."""
    state = at_rest(scene)
    with batch_renderer(*size_px) as renderer:
        labels = renderer.segmentation(scene, view, state)
        instances, objects = instances_of(labels, scene.objects)
        if 0 not in objects or instances.crowd is None or instances.crowd[objects.index(0)]:
            return None
        frame = as_delivered(renderer.frames(scene, [view], state)[view], scene.seed)
    return VisionSample(scene, task, view, frame.rgb, labels, instances, objects, objects.index(0))
