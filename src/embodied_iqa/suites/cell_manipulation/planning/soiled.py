"""Soiled areas in the front image: a filter for small dark spots, matched with an area's rectangle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.imaging.images.frame import Frame
from embodied_iqa.models.subjects.backends.classical.colours import Blob
from embodied_iqa.models.subjects.backends.classical.shapes import Pinhole
from embodied_iqa.suites.cell_manipulation.cell_scene import (
    AREA_LENGTH_M,
    AREA_WIDTH_M,
    HORIZONTAL,
    SPOT_RADIUS_M,
    VERTICAL,
)
from embodied_iqa.world.scenes.places import OBJECTS_X_M, OBJECTS_Y_M

_CELL_M: Final = 0.002
_AROUND_M: Final = 0.03
_SPOT_CELLS: Final = 2 * round(2.5 * SPOT_RADIUS_M / _CELL_M) + 1
"""Diameter of the filter: a spot is darker than what is around it at this distance."""
_LEAST_DARKER: Final = 0.45
"""Least share by which a spot is darker than its surroundings."""
_LEAST_COVER: Final = 0.17
"""Least dark share of an area: two thirds of that of a new one."""
_LEAST_HALF: Final = 0.6
"""Least dark share of each half, as a share of that of the whole."""
_NEARLY: Final = 0.97
_SIZES: Final = {HORIZONTAL: (AREA_WIDTH_M, AREA_LENGTH_M), VERTICAL: (AREA_LENGTH_M, AREA_WIDTH_M)}


@dataclass(frozen=True, slots=True)
class SeenArea:
    """A soiled area.

    Attributes:
        name: Its name in instructions.
        x_m: Its centre in the base frame.
        y_m: Its centre in the base frame.
    """

    name: str
    x_m: float
    y_m: float


def soiled_areas(frame: Frame, blobs: Sequence[Blob]) -> list[SeenArea]:
    """Find at most one area of each direction.

    Args:
        frame: The image, with its camera.
        blobs: Coloured patches, whose marks are not dirt.
    """
    dark = _dark_spots(frame, blobs)
    found = [_best(dark, name) for name in _SIZES]
    return [area for area in found if area is not None]


def _dark_spots(frame: Frame, blobs: Sequence[Blob]) -> NDArray[np.float32]:
    """Return a map of the table, seen from above: 1 where a small spot is darker than its surroundings."""
    value = frame.rgb.max(axis=2)
    free = np.ones(value.shape, np.uint8)
    for blob in blobs:
        height, width = blob.mask.shape
        part = free[blob.top_px : blob.top_px + height, blob.left_px : blob.left_px + width]
        part[blob.mask > 0] = 0
    points = Pinhole(frame).pixels(_table_points_m()).astype(np.float32)
    u, v = points.T.reshape(2, *_shape())
    above = cv2.remap(value, u, v, cv2.INTER_LINEAR)
    seen = cv2.remap(free, u, v, cv2.INTER_NEAREST)
    around = cv2.morphologyEx(above, cv2.MORPH_CLOSE, np.ones((_SPOT_CELLS, _SPOT_CELLS), np.uint8))
    spots = (around - above > _LEAST_DARKER * around) & (seen > 0)
    return np.asarray(spots, dtype=np.float32)


def _best(dark: NDArray[np.float32], name: str) -> SeenArea | None:
    """Return the place of the most dirt; None if there is little, or all of it in one half."""
    rows, columns = (round(side / _CELL_M) for side in _SIZES[name])
    cover = cv2.boxFilter(dark, -1, (columns, rows), borderType=cv2.BORDER_CONSTANT)
    along, half = (0, (columns, rows // 2)) if rows > columns else (1, (columns // 2, rows))
    halves = cv2.boxFilter(dark, -1, half, borderType=cv2.BORDER_CONSTANT)
    beside = max(rows, columns) // 4
    lesser = np.minimum(np.roll(halves, beside, along), np.roll(halves, -beside, along))
    score = np.where(lesser >= _LEAST_HALF * cover, cover, 0.0)
    best = float(score.max())
    if best < _LEAST_COVER:
        return None
    row, column = np.argwhere(score >= _NEARLY * best).mean(axis=0)
    x_m, y_m = (low + _CELL_M * cell for low, cell in zip(_low_m(), (row, column), strict=True))
    return SeenArea(name, float(x_m), float(y_m))


def _low_m() -> tuple[float, float]:
    return OBJECTS_X_M[0] - _AROUND_M, OBJECTS_Y_M[0] - _AROUND_M


@cache
def _shape() -> tuple[int, int]:
    """Return the number of cells along the base's x and y."""
    spans = (high - low + 2 * _AROUND_M for low, high in (OBJECTS_X_M, OBJECTS_Y_M))
    rows, columns = (round(span / _CELL_M) for span in spans)
    return rows, columns


@cache
def _table_points_m() -> NDArray[np.float64]:
    """Return ``(N, 3)`` points of the table in the base frame, row by row."""
    rows, columns = np.indices(_shape())
    low_x, low_y = _low_m()
    height = np.zeros(rows.size)
    return np.stack([low_x + _CELL_M * rows.ravel(), low_y + _CELL_M * columns.ravel(), height], axis=1)
