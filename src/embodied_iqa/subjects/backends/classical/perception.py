"""Objects on the table in one image: colours, kinds and places, from pixels and camera geometry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.images.frame import Frame
from embodied_iqa.subjects.backends.classical.colours import Blob, blobs_of, paint_map
from embodied_iqa.subjects.backends.classical.shapes import Pinhole, ShapeFit, fit_shapes
from embodied_iqa.tasks.vocabulary import Colour, Kind

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

    def fit_as(self, kind: Kind) -> ShapeFit | None:
        """Return the fit of ``kind`` if it is good and nearly as good as the best, else None."""
        for fit in self.fits:
            if fit.kind is kind:
                good = fit.score >= max(_MIN_SCORE, self.fits[0].score - _NEARLY_AS_GOOD)
                return fit if good else None
        return None


@dataclass(frozen=True, slots=True, eq=False)
class Sight:
    """Detections in one image.

    Attributes:
        objects: Objects on the table, at most one per colour.
        blobs: The largest coloured patches, anywhere.
        camera: The image's camera.
    """

    objects: tuple[SeenObject, ...]
    blobs: tuple[Blob, ...]
    camera: Pinhole

    def shows(self, colour: Colour, place_m: NDArray[np.float64], within_m: float) -> bool:
        """Return whether a blob of ``colour`` is at a place (base frame), within a radius."""
        beside_m = place_m + np.array([0.0, within_m, 0.0])
        centre, rim = self.camera.pixels(np.stack([place_m, beside_m]))
        radius_px = float(np.linalg.norm(rim - centre))
        return any(
            blob.colour is colour and float(np.linalg.norm(centre - blob.centre_px)) <= radius_px
            for blob in self.blobs
        )


def look(frame: Frame) -> Sight:
    """Detect objects from pixels, intrinsics and camera pose."""
    paint, camera = paint_map(frame.rgb), Pinhole(frame)
    blobs = blobs_of(paint)
    objects: dict[Colour, SeenObject] = {}
    for blob in blobs:
        fits = fit_shapes(blob, paint, camera)
        rival = objects.get(blob.colour)
        better = rival is None or (bool(fits) and fits[0].score > rival.fits[0].score)
        if fits and _on_table(fits[0]) and better:
            objects[blob.colour] = SeenObject(blob.colour, blob.centre_px, blob.area_px, fits)
    return Sight(tuple(objects.values()), tuple(blobs), camera)


def see(frame: Frame) -> tuple[SeenObject, ...]:
    """Return the coloured objects on the table, at most one per colour."""
    return look(frame).objects


def _on_table(fit: ShapeFit) -> bool:
    return _TABLE_X_M[0] < fit.x_m < _TABLE_X_M[1] and _TABLE_Y_M[0] < fit.y_m < _TABLE_Y_M[1]
