"""Plans of the verbs with one object: pick, press, pull, push, twist."""

from __future__ import annotations

from typing import Final

import numpy as np

from embodied_iqa.manipulation.gripper_shape import FINGER_HALF_WIDTH_M, FINGER_TIP_BEYOND_TOOL_M
from embodied_iqa.manipulation.object_shapes import DRAWER_HANDLE_AHEAD_M, SHAPES
from embodied_iqa.manipulation.plan_parts import (
    ABOVE_M,
    ObjectPose,
    closing,
    grip_height_m,
    grip_yaw_rad,
    ready_to_grip,
)
from embodied_iqa.manipulation.waypoints import Waypoint
from embodied_iqa.tasks.instruction import Kind

__all__ = [
    "PUSH_DIRECTION",
    "plan_pick",
    "plan_press",
    "plan_pull",
    "plan_push",
    "plan_twist",
    "pushed_ahead_m",
]

PUSH_DIRECTION: Final = (-1.0, 0.0)
"""Away from the robot, in the table's plane: base frame x, y."""

_LIFT_M: Final = 0.15
_PUSH_CLEARANCE_M: Final = 0.008
_PUSH_M: Final = 0.090
_PUSH_GAP: Final = 0.35
"""Gap between the fingers as a part of the object's width: two points of touch keep a ball from
slipping past."""
_BACK_M: Final = 0.030
_PRESS_DEPTH_M: Final = 0.008
_PULL_M: Final = 0.080
_HANDLE_GRIP_M: Final = 0.040
_KNOB_GRIP_M: Final = 0.046
_TWIST_RAD: Final = np.pi / 4
"""One of two turns: together a quarter."""


def plan_pick(target: ObjectPose, now_rad: float) -> tuple[Waypoint, ...]:
    """Approach, descend, grip, lift."""
    x, y, grip_z = target.x_m, target.y_m, grip_height_m(target.kind)
    yaw, ready = grip_yaw_rad(target, now_rad), ready_to_grip(target.kind)
    return (
        Waypoint(x, y, ABOVE_M, yaw, gripper=ready),
        Waypoint(x, y, grip_z, yaw, gripper=ready),
        Waypoint(x, y, grip_z, yaw, gripper=1.0),
        Waypoint(x, y, grip_z + _LIFT_M, yaw, gripper=1.0),
    )


def plan_push(target: ObjectPose, now_rad: float) -> tuple[Waypoint, ...]:
    """Approach on the robot's side, descend, push, back off, rise."""
    del now_rad
    shape = SHAPES[target.kind]
    along_x, along_y = PUSH_DIRECTION
    low = min(0.022, shape.height_m / 2)
    gripper = closing(_PUSH_GAP * shape.width_m)
    release = closing(shape.width_m)  # the fingers let go of what they were pressed against
    standoff = shape.radius_m + FINGER_HALF_WIDTH_M + _PUSH_CLEARANCE_M
    start_x, start_y = target.x_m - standoff * along_x, target.y_m - standoff * along_y
    way = _PUSH_M + _PUSH_CLEARANCE_M
    end_x, end_y = start_x + way * along_x, start_y + way * along_y
    back_x, back_y = end_x - _BACK_M * along_x, end_y - _BACK_M * along_y
    return (
        Waypoint(start_x, start_y, ABOVE_M, gripper=gripper),
        Waypoint(start_x, start_y, low, gripper=gripper),
        Waypoint(end_x, end_y, low, gripper=gripper),
        Waypoint(back_x, back_y, low, gripper=release),
        Waypoint(back_x, back_y, ABOVE_M, gripper=release),
    )


def pushed_ahead_m(kind: Kind) -> float:
    """Return how far ahead of the tool an object stands after a push that went as planned."""
    return SHAPES[kind].radius_m + FINGER_HALF_WIDTH_M + _BACK_M


def plan_press(target: ObjectPose, now_rad: float) -> tuple[Waypoint, ...]:
    """Approach, press, retreat."""
    del now_rad
    x, y = target.x_m, target.y_m
    pressed = SHAPES[target.kind].height_m + FINGER_TIP_BEYOND_TOOL_M - _PRESS_DEPTH_M
    return (
        Waypoint(x, y, ABOVE_M, gripper=1.0),
        Waypoint(x, y, pressed, gripper=1.0),
        Waypoint(x, y, ABOVE_M, gripper=1.0),
    )


def plan_pull(target: ObjectPose, now_rad: float) -> tuple[Waypoint, ...]:
    """Approach the drawer's handle, descend, grip, pull towards the robot, let go, rise."""
    del now_rad
    x, y, ready = target.x_m + DRAWER_HANDLE_AHEAD_M, target.y_m, ready_to_grip(target.kind)
    return (
        Waypoint(x, y, ABOVE_M, gripper=ready),
        Waypoint(x, y, _HANDLE_GRIP_M, gripper=ready),
        Waypoint(x, y, _HANDLE_GRIP_M, gripper=1.0),
        Waypoint(x + _PULL_M, y, _HANDLE_GRIP_M, gripper=1.0),
        Waypoint(x + _PULL_M, y, _HANDLE_GRIP_M, gripper=ready),
        Waypoint(x + _PULL_M, y, ABOVE_M, gripper=ready),
    )


def plan_twist(target: ObjectPose, now_rad: float) -> tuple[Waypoint, ...]:
    """Approach the knob, descend, grip, turn a quarter in two steps, let go, rise."""
    del now_rad
    x, y, ready = target.x_m, target.y_m, ready_to_grip(target.kind)
    return (
        Waypoint(x, y, ABOVE_M, gripper=ready),
        Waypoint(x, y, _KNOB_GRIP_M, gripper=ready),
        Waypoint(x, y, _KNOB_GRIP_M, gripper=1.0),
        Waypoint(x, y, _KNOB_GRIP_M, _TWIST_RAD, gripper=1.0),
        Waypoint(x, y, _KNOB_GRIP_M, 2 * _TWIST_RAD, gripper=1.0),
        Waypoint(x, y, _KNOB_GRIP_M, 2 * _TWIST_RAD, gripper=ready),
        Waypoint(x, y, ABOVE_M, 2 * _TWIST_RAD, gripper=ready),
    )
