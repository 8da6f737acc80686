"""A vision model as detector: the boxes of kinds of objects, put onto the table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InternalError, UsageError
from embodied_iqa.imaging.images.frame import Frame
from embodied_iqa.models.subjects.backends.classical.colours import PaintMap, blobs_of, paint_map
from embodied_iqa.models.subjects.backends.classical.shapes import Pinhole
from embodied_iqa.models.vision.model import VisionModel
from embodied_iqa.models.vision.predictions import Instances, VisionTask
from embodied_iqa.models.vision.reference import load_vision_models
from embodied_iqa.suites.cell_manipulation.planning.detecting import Place, place_of_area, thing_named
from embodied_iqa.suites.cell_manipulation.planning.soiled import SeenArea, soiled_areas
from embodied_iqa.world.manipulation.shapes import shape_of
from embodied_iqa.world.tasks.vocabulary import Colour, Kind

Array = NDArray[np.float64]

_ASPECT: Final = 4 / 3
"""Width by height of the images that models are trained on."""
_CORRECTIONS: Final = 2
_CORNERS: Final = 24


@dataclass(frozen=True, slots=True)
class BoxedObject:
    """An object on the table.

    Attributes:
        kind: The class that the model predicts.
        colour: The commonest colour in the middle of the box; None where there is no coloured pixel.
        score: Of the model.
        position_m: Its centre in the base frame.
    """

    kind: Kind
    colour: Colour | None
    score: float
    position_m: tuple[float, float, float]


class BoxDetections:
    """What a vision model finds; soiled areas, which the models do not know, are looked for when needed.

    Args:
        frame: The image.
        paint: Colours of its pixels.
        objects: By falling score.
    """

    def __init__(self, frame: Frame, paint: PaintMap, objects: tuple[BoxedObject, ...]) -> None:
        self._frame, self._paint, self.objects = frame, paint, objects

    @cached_property
    def areas(self) -> tuple[SeenArea, ...]:
        """Soiled areas, as the classical detector finds them."""
        return tuple(soiled_areas(self._frame, blobs_of(self._paint)))

    def positions_m(self) -> list[tuple[float, float, float]]:
        """See `Detections`."""
        return [item.position_m for item in self.objects] + [(one.x_m, one.y_m, 0.0) for one in self.areas]

    def place_of(self, name: str) -> Place | None:
        """Return the object of a colour and kind with the best score."""
        thing = thing_named(name)
        if thing is None:
            return place_of_area(name, self.areas)
        alike = (one for one in self.objects if (one.colour, one.kind) == (thing.colour, thing.kind))
        best = next(alike, None)
        return None if best is None else best.position_m[:2]


class BoxDetector:
    """A `Detector` by a vision model.

    An image that is narrower than 4:3 is widened at both sides with its border pixels, as the model would
    else see its objects narrower than in training.

    Args:
        model: A detector or an instance segmenter, whose boxes are used.
    """

    def __init__(self, model: VisionModel) -> None:
        self._model = model

    def __call__(self, frame: Frame) -> BoxDetections:
        """See `Detector`."""
        found, camera, paint = self._instances(frame.rgb), Pinhole(frame), paint_map(frame.rgb)
        objects = []
        for label, score, box in zip(found.labels, found.scores.tolist(), found.boxes_px, strict=True):
            place = None
            if label in set(map(str, Kind)) and score >= self._model.info.threshold:
                place = place_of_box(Kind(label), box, camera)
            if place is not None:
                objects.append(BoxedObject(Kind(label), _colour_in(box, paint), score, place))
        return BoxDetections(frame, paint, tuple(objects))

    def _instances(self, rgb: NDArray[np.uint8]) -> Instances:
        """Return the instances in pixels of the image as it is."""
        height, width = rgb.shape[:2]
        beside_px = max(0, round((_ASPECT * height - width) / 2))
        wide = cv2.copyMakeBorder(rgb, 0, 0, beside_px, beside_px, cv2.BORDER_REPLICATE)
        (found,) = self._model.predict([np.asarray(wide)])
        if not isinstance(found, Instances):
            raise InternalError(f"{self._model.info.name} predicts no boxes")
        shift = np.array([beside_px, 0, beside_px, 0])
        return Instances(found.labels, found.scores, found.boxes_px - shift)


def load_box_detector(name: str) -> BoxDetector:
    """Load a detector or an instance segmenter.

    Args:
        name: As `embodied_iqa.models.vision.reference` has it.

    Raises:
        UserError: The model cannot be loaded, finds no boxes, or knows no kind; or there are several.
    """
    models = load_vision_models(name)
    boxes = [one for one in models if one.info.task is not VisionTask.CLASSIFICATION]
    if len(models) != 1 or len(boxes) != 1:
        available = [one.info.name for one in boxes]
        raise UsageError("not one detector or segmenter", got=name, available=available or None)
    if not set(map(str, Kind)) & set(boxes[0].info.classes):
        raise UsageError(f"{name} knows no kind of object", got=boxes[0].info.classes, available=list(Kind))
    return BoxDetector(boxes[0])


def place_of_box(kind: Kind, box_px: Array, camera: Pinhole) -> tuple[float, float, float] | None:
    """Return the centre of an object that stands on the table and is seen in a box; None if it cannot.

    Args:
        kind: Gives the size of an upright cylinder in its place.
        box_px: ``(4,)`` left, top, right, bottom.
        camera: Of the image.

    Returns:
        Position in the base frame, m: the projected cylinder and the box have the same middle.
    """
    middle_px, half_m = (box_px[:2] + box_px[2:]) / 2, shape_of(kind).height_m / 2
    wanted = camera.on_height(middle_px, half_m)
    place = wanted
    for _ in range(_CORRECTIONS):
        there = None if place is None else camera.on_height(_middle_px(kind, place, camera), half_m)
        if place is None or wanted is None or there is None:
            return None
        place = place + wanted - there
    return None if place is None else (float(place[0]), float(place[1]), half_m)


def _middle_px(kind: Kind, place: Array, camera: Pinhole) -> Array:
    """Return the middle of the box around an object, from its projected rims."""
    shape, turn = shape_of(kind), np.linspace(0.0, 2 * np.pi, _CORNERS, endpoint=False)
    rim = shape.width_m / 2 * np.stack([np.cos(turn), np.sin(turn)], axis=1) + place
    rims = [np.column_stack([rim, np.full(_CORNERS, z)]) for z in (0.0, shape.height_m)]
    seen = camera.pixels(np.concatenate(rims))
    return np.asarray((seen.min(axis=0) + seen.max(axis=0)) / 2)


def _colour_in(box_px: Array, paint: PaintMap) -> Colour | None:
    """Return the commonest colour in the middle half of a box."""
    middle, half = (box_px[:2] + box_px[2:]) / 2, (box_px[2:] - box_px[:2]) / 4
    low, high = np.maximum(0, np.floor(middle - half)).astype(int), np.ceil(middle + half).astype(int)
    counts = np.bincount(paint.label[low[1] : high[1], low[0] : high[0]].ravel(), minlength=len(Colour) + 1)
    return tuple(Colour)[int(counts[1:].argmax())] if counts[1:].any() else None
