"""Sizes of the gripper, a parallel gripper like a Robotiq 2F-140, and of the objects by kind."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

from embodied_iqa.world.tasks.vocabulary import Kind, Size

STROKE_M: Final = 0.140
"""Opening between the finger pads at g = 0; closed at g = 1."""

FINGER_TIP_BEYOND_TOOL_M: Final = 0.010
"""The fingers end this far beyond the tool centre point."""

FINGER_HALF_WIDTH_M: Final = 0.014
"""Half of a finger's width, across the direction in which it moves."""

BUTTON_BASE_HALF_M: Final = 0.036
BUTTON_BASE_HEIGHT_M: Final = 0.020
BUTTON_CAP_RADIUS_M: Final = 0.024
BOWL_FOOT_RADIUS_M: Final = 0.0208
"""A button is a square, dark base with a coloured cap; a bowl widens from its foot as a quarter circle."""

CUP_FOOT_RADIUS_M: Final = 0.021
CUP_GRIP_HEIGHT_M: Final = 0.042
"""A cup widens evenly from its foot; the tool centre point holds it at this height above its foot."""

LID_BOSS_RADIUS_M: Final = 0.040
LID_BOSS_HEIGHT_M: Final = 0.008
LID_PLATE_M: Final = 0.006
LID_HANDLE_RADIUS_M: Final = 0.011
"""A lid is a plate with a boss below, which centres it in the pot, and a round handle above."""

PEG_GRIP_HEIGHT_M: Final = 0.058
SOCKET_HOLE_HALF_M: Final = 0.0205
SOCKET_FLOOR_M: Final = 0.006
"""A peg is a round pin; a socket is a block with a square hole, with a funnel above and a floor below."""

KNOB_BAR_HALF_M: Final = (0.026, 0.008)
"""A knob is a bar on a round plate: half its length and half its width."""

DRAWER_HANDLE_AHEAD_M: Final = 0.080
"""From the middle of the cabinet to the drawer's handle, towards the robot (+x)."""


@dataclass(frozen=True, slots=True)
class ObjectShape:
    """The outer size of a kind of object on the table.

    Attributes:
        width_m: Edge length or diameter, from above; of the gripped part, if the gripper holds only a part.
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
    Kind.CUP: ObjectShape(width_m=0.062, height_m=0.070, radius_m=0.031),
    Kind.POT: ObjectShape(width_m=0.110, height_m=0.050, radius_m=0.066),
    Kind.LID: ObjectShape(width_m=0.022, height_m=0.044, radius_m=0.058),
    Kind.PEG: ObjectShape(width_m=0.026, height_m=0.085, radius_m=0.013),
    Kind.SOCKET: ObjectShape(width_m=0.080, height_m=0.050, radius_m=0.0566),
    Kind.MAT: ObjectShape(width_m=0.100, height_m=0.002, radius_m=0.0707),
    Kind.KNOB: ObjectShape(width_m=0.016, height_m=0.058, radius_m=0.040),
    Kind.DRAWER: ObjectShape(width_m=0.022, height_m=0.056, radius_m=0.090),
}
"""Shape of each kind at its ordinary size."""

SCALE_OF_SIZE: Final[dict[Size | None, float]] = {Size.SMALL: 0.80, None: 1.0, Size.LARGE: 1.18}
"""Scale of a small, an ordinary and a large object: a large one still fits in a bowl."""


@cache
def shape_of(kind: Kind, size: Size | None = None) -> ObjectShape:
    """Return the shape of an object; only cubes, cylinders and balls come in several sizes."""
    shape, scale = SHAPES[kind], SCALE_OF_SIZE[size]
    return ObjectShape(scale * shape.width_m, scale * shape.height_m, scale * shape.radius_m)
