"""What everybody who handles the objects knows about them: their sizes, by kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from embodied_iqa.subjects.instruction import Kind

__all__ = [
    "BOWL_FOOT_RADIUS_M",
    "BUTTON_BASE_HALF_M",
    "BUTTON_BASE_HEIGHT_M",
    "BUTTON_CAP_RADIUS_M",
    "SHAPES",
    "ObjectShape",
]

BUTTON_BASE_HALF_M: Final = 0.036
BUTTON_BASE_HEIGHT_M: Final = 0.020
BUTTON_CAP_RADIUS_M: Final = 0.024
BOWL_FOOT_RADIUS_M: Final = 0.0208
"""A button is a square, dark base with a coloured cap; a bowl widens from its foot as a quarter circle."""


@dataclass(frozen=True, slots=True)
class ObjectShape:
    """The outer size of a kind of object, standing on the table.

    Attributes:
        width_m: Edge length or diameter, seen from above.
        height_m: Height of the highest point above the table.
        radius_m: Radius of the circle around the object, seen from above.
    """

    width_m: float
    height_m: float
    radius_m: float


SHAPES: Final[dict[Kind, ObjectShape]] = {
    Kind.CUBE: ObjectShape(width_m=0.045, height_m=0.045, radius_m=0.0319),
    Kind.CYLINDER: ObjectShape(width_m=0.044, height_m=0.060, radius_m=0.022),
    Kind.BALL: ObjectShape(width_m=0.052, height_m=0.052, radius_m=0.026),
    Kind.BOWL: ObjectShape(width_m=0.090, height_m=0.040, radius_m=0.045),
    Kind.BUTTON: ObjectShape(width_m=0.072, height_m=0.034, radius_m=0.0510),
}
