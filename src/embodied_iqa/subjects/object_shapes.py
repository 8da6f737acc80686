"""What everybody who handles the objects knows about them: their sizes, by kind."""

from __future__ import annotations

from dataclasses import dataclass

from embodied_iqa.subjects.instruction import Kind

__all__ = ["SHAPES", "ObjectShape"]


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


SHAPES: dict[Kind, ObjectShape] = {
    Kind.CUBE: ObjectShape(width_m=0.045, height_m=0.045, radius_m=0.0319),
    Kind.CYLINDER: ObjectShape(width_m=0.044, height_m=0.060, radius_m=0.022),
    Kind.BALL: ObjectShape(width_m=0.052, height_m=0.052, radius_m=0.026),
    Kind.BOWL: ObjectShape(width_m=0.090, height_m=0.040, radius_m=0.045),
    Kind.BUTTON: ObjectShape(width_m=0.072, height_m=0.034, radius_m=0.0510),
}
