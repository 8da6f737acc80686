"""What the plans of several verbs share: poses of objects, heights, and how to grip."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from embodied_iqa.manipulation.gripper_shape import STROKE_M
from embodied_iqa.manipulation.object_shapes import (
    CUP_GRIP_HEIGHT_M,
    LID_BOSS_HEIGHT_M,
    LID_PLATE_M,
    PEG_GRIP_HEIGHT_M,
    SHAPES,
)
from embodied_iqa.tasks.instruction import Kind

__all__ = ["ABOVE_M", "ObjectPose", "closing", "grip_height_m", "grip_yaw_rad", "ready_to_grip"]

ABOVE_M: Final = 0.12
"""Height from which the tool comes down, and to which it goes when it has let go."""

_GRIP_CLEARANCE_M: Final = 0.030
_GRIP_HEIGHT_M: Final = {
    Kind.CUP: CUP_GRIP_HEIGHT_M,
    Kind.LID: LID_BOSS_HEIGHT_M + LID_PLATE_M + 0.018,
    Kind.PEG: PEG_GRIP_HEIGHT_M,
}


@dataclass(frozen=True, slots=True)
class ObjectPose:
    """An object as it stands on the table, known or estimated.

    Attributes:
        kind: What it is.
        x_m: Centre in the base frame.
        y_m: Centre in the base frame.
        yaw_rad: Turn about the vertical; matters for a cube, modulo a quarter turn.
    """

    kind: Kind
    x_m: float
    y_m: float
    yaw_rad: float = 0.0


def closing(opening_m: float) -> float:
    """Return the gripper's state in [0, 1] for a distance between its pads."""
    return float(np.clip(1.0 - opening_m / STROKE_M, 0.0, 1.0))


def ready_to_grip(kind: Kind) -> float:
    """Return the gripper's state with which the fingers pass on both sides of what they are to hold."""
    return closing(SHAPES[kind].width_m + _GRIP_CLEARANCE_M)


def grip_height_m(kind: Kind) -> float:
    """Return the tool's height above the foot of the object while it holds it."""
    return _GRIP_HEIGHT_M.get(kind, SHAPES[kind].height_m / 2)


def grip_yaw_rad(target: ObjectPose, now_rad: float) -> float:
    """Return the tool's turn: with a cube's sides, as near as possible to the present turn; else 0."""
    if target.kind is not Kind.CUBE:
        return 0.0
    quarter = np.pi / 2
    return float(now_rad + (target.yaw_rad - now_rad + quarter / 2) % quarter - quarter / 2)
