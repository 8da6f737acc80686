"""Detectors of the object list: the classical perception, or a vision model with the table's height."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Protocol

from embodied_iqa.base.lazy import load
from embodied_iqa.imaging.images.frame import Frame
from embodied_iqa.models.subjects.backends.classical.perception import Sight, look
from embodied_iqa.models.subjects.backends.classical.shapes import KNOWN_KINDS
from embodied_iqa.suites.cell_manipulation.planning.planner_options import CLASSICAL
from embodied_iqa.suites.cell_manipulation.planning.soiled import SeenArea, soiled_areas
from embodied_iqa.world.manipulation.shapes import shape_of
from embodied_iqa.world.tasks.instruction import Thing
from embodied_iqa.world.tasks.vocabulary import Colour, Kind

_BOXES: Final = "embodied_iqa.suites.cell_manipulation.planning.box_detector:load_box_detector"

Place = tuple[float, float]
"""x and y in the base frame, m."""


class Detections(Protocol):
    """What a detector finds in one image."""

    def positions_m(self) -> list[tuple[float, float, float]]:
        """Return the centres of all objects and soiled areas in the base frame."""
        ...

    def place_of(self, name: str) -> Place | None:
        """Return where an object or an area is; None where it is not recognised.

        Args:
            name: Colour and kind, such as "red cube", or the name of an area.
        """
        ...


class Detector(Protocol):
    """Finds objects and soiled areas in the front image. Stateless."""

    def __call__(self, frame: Frame) -> Detections:
        """Return what is found in an image, from its pixels and its camera."""
        ...


@cache
def load_detector(name: str) -> Detector:
    """Return a detector, loaded once a process.

    Args:
        name: ``classical``, or a detector or segmenter such as ``panel:det-residual-192``
            (docs/vision-models.md).

    Raises:
        UserError: The model cannot be loaded, or knows no kind of object.
    """
    if name == CLASSICAL:
        return detect_classically
    detector: Detector = load(_BOXES)(name)
    return detector


def thing_named(name: str) -> Thing | None:
    """Return the object of a name, such as "red cube"; None for the name of an area."""
    words = name.split()
    return Thing(Colour(words[0]), Kind(words[1])) if words[0] in set(map(str, Colour)) else None


def place_of_area(name: str, areas: Sequence[SeenArea]) -> Place | None:
    """Return the centre of an area; None if it is not seen."""
    return next(((area.x_m, area.y_m) for area in areas if area.name == name), None)


@dataclass(frozen=True, slots=True, eq=False)
class ClassicalDetections:
    """What the classical perception finds.

    Attributes:
        sight: Coloured objects on the table.
        areas: Soiled areas.
    """

    sight: Sight
    areas: tuple[SeenArea, ...]

    def positions_m(self) -> list[tuple[float, float, float]]:
        """See `Detections`."""
        fits = [item.fits[0] for item in self.sight.objects]
        found = [(fit.x_m, fit.y_m, shape_of(fit.kind, fit.size).height_m / 2) for fit in fits]
        return found + [(area.x_m, area.y_m, 0.0) for area in self.areas]

    def place_of(self, name: str) -> Place | None:
        """Return the best fit; for a kind without a known outline, the largest object of its colour."""
        thing = thing_named(name)
        if thing is None:
            return place_of_area(name, self.areas)
        if thing.kind in KNOWN_KINDS:
            fits = [fit for _, fit in self.sight.named(thing)]
            best = max(fits, key=lambda fit: fit.score, default=None)
        else:
            alike = [item for item in self.sight.objects if item.colour is thing.colour]
            best = max(alike, key=lambda item: item.area_px).fits[0] if alike else None
        return None if best is None else (best.x_m, best.y_m)


def detect_classically(frame: Frame) -> ClassicalDetections:
    """See `Detector`: coloured objects by the classical perception, and soiled areas."""
    sight = look(frame)
    return ClassicalDetections(sight, tuple(soiled_areas(frame, sight.blobs)))
