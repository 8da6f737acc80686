"""Objects on the table in one image: colours, kinds and places, from pixels and camera geometry."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.imaging.images.frame import Frame
from embodied_iqa.models.subjects.backends.classical.colours import Blob, blobs_of, paint_map
from embodied_iqa.models.subjects.backends.classical.shapes import Pinhole, ShapeFit, fit_shapes
from embodied_iqa.world.tasks.instruction import Thing
from embodied_iqa.world.tasks.vocabulary import Colour, Kind

_MIN_SCORE: Final = 0.60
"""Smallest overlap of an accepted kind."""
_NEARLY_AS_GOOD: Final = 0.06
_TABLE_X_M: Final = (-0.93, -0.15)
_TABLE_Y_M: Final = (-0.45, 0.45)


@dataclass(frozen=True, slots=True)
class SeenObject:
    """A coloured object on the table.

    Attributes:
        colour: Its colour.
        centre_px: Centroid ``(u, v)``.
        area_px: Number of coloured pixels.
        fits: Fit of each kind, best first; never empty.
    """

    colour: Colour
    centre_px: tuple[float, float]
    area_px: int
    fits: tuple[ShapeFit, ...]

    @property
    def kind(self) -> Kind | None:
        """Most likely kind, or None if none fits."""
        best = self.fits[0]
        return best.kind if best.score >= _MIN_SCORE else None

    def fit_as(self, thing: Thing) -> ShapeFit | None:
        """Return the best fit of a description's colour, kind and size, or None; marks are not read.

        The fit is good, and nearly as good as the best one.
        """
        best = next((fit for fit in self.fits if thing.fits(self._thing(fit, thing))), None)
        good = best is not None and best.score >= max(_MIN_SCORE, self.fits[0].score - _NEARLY_AS_GOOD)
        return best if good else None

    def _thing(self, fit: ShapeFit, thing: Thing) -> Thing:
        return Thing(self.colour, fit.kind, thing.mark, fit.size)


@dataclass(frozen=True, slots=True, eq=False)
class Sight:
    """Detections in one image.

    Attributes:
        objects: Objects on the table, in the order of `Colour` and size in the image.
        blobs: The largest coloured patches, anywhere.
        camera: The image's camera.
    """

    objects: tuple[SeenObject, ...]
    blobs: tuple[Blob, ...]
    camera: Pinhole

    def named(self, thing: Thing) -> list[tuple[SeenObject, ShapeFit]]:
        """Return the objects that a description applies to, whatever their mark, and how they fit it."""
        fits = [(item, item.fit_as(thing)) for item in self.objects]
        return [(item, fit) for item, fit in fits if fit is not None]

    def shows(self, colour: Colour, place_m: NDArray[np.float64], within_m: float) -> bool:
        """Return whether a blob of ``colour`` is at a place (base frame), within a radius."""
        beside_m = place_m + np.array([0.0, within_m, 0.0])
        centre, rim = self.camera.pixels(np.stack([place_m, beside_m]))
        radius_px = float(np.linalg.norm(rim - centre))
        return any(
            blob.colour is colour and float(np.linalg.norm(centre - blob.centre_px)) <= radius_px
            for blob in self.blobs
        )


@lru_cache(maxsize=1)
def look(frame: Frame) -> Sight:
    """Detect objects from pixels, intrinsics and camera pose; several questions on one frame look once."""
    paint, camera = paint_map(frame.rgb), Pinhole(frame)
    blobs = blobs_of(paint)
    objects = []
    for blob in blobs:
        fits = fit_shapes(blob, paint, camera)
        if fits and _on_table(fits[0]):
            objects.append(SeenObject(blob.colour, blob.centre_px, blob.area_px, fits))
    return Sight(tuple(objects), tuple(blobs), camera)


def _on_table(fit: ShapeFit) -> bool:
    return _TABLE_X_M[0] < fit.x_m < _TABLE_X_M[1] and _TABLE_Y_M[0] < fit.y_m < _TABLE_Y_M[1]
