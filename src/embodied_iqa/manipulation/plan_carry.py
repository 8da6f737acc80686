"""Plans of the verbs that bring an object to another: cover, insert, move, place, pour."""

from __future__ import annotations

from typing import Final

from embodied_iqa.manipulation.object_shapes import LID_BOSS_HEIGHT_M, SHAPES, SOCKET_FLOOR_M
from embodied_iqa.manipulation.plan_parts import (
    ABOVE_M,
    ObjectPose,
    grip_height_m,
    grip_yaw_rad,
    ready_to_grip,
)
from embodied_iqa.manipulation.waypoints import Waypoint

__all__ = ["plan_cover", "plan_insert", "plan_move", "plan_place", "plan_pour"]

_CARRY_M: Final = 0.12
"""How high the object's foot is while it travels: above whatever stands on the table."""
_SET_DOWN_M: Final = 0.002
_DROP_M: Final = 0.034
"""How high an object's foot is when it is let go: on a mat; in a bowl, whose rim the fingers clear."""
_RISE_M: Final = 0.09

_TILTS_RAD: Final = (0.6, 1.2, 1.8)
_POUR_HEIGHT_M: Final = 0.225
_POUR_OFFSET_M: Final = -0.085
"""Where the tool is while it pours, above the table and from the bowl's middle along the base's x."""


def plan_move(target: ObjectPose, destination: ObjectPose, now_rad: float) -> tuple[Waypoint, ...]:
    """Fetch the object and set it down on the destination."""
    return _carried(target, destination, now_rad, SHAPES[destination.kind].height_m + _SET_DOWN_M)


def plan_place(target: ObjectPose, destination: ObjectPose, now_rad: float) -> tuple[Waypoint, ...]:
    """Fetch the object and let it go in the destination."""
    return _carried(target, destination, now_rad, _DROP_M)


def plan_insert(target: ObjectPose, destination: ObjectPose, now_rad: float) -> tuple[Waypoint, ...]:
    """Fetch the peg and lower it into the hole."""
    return _carried(target, destination, now_rad, SOCKET_FLOOR_M + _SET_DOWN_M + 0.004)


def plan_cover(target: ObjectPose, destination: ObjectPose, now_rad: float) -> tuple[Waypoint, ...]:
    """Fetch the lid and lay it on the pot."""
    seat_m = SHAPES[destination.kind].height_m - LID_BOSS_HEIGHT_M
    return _carried(target, destination, now_rad, seat_m + 0.004)


def plan_pour(target: ObjectPose, destination: ObjectPose, now_rad: float) -> tuple[Waypoint, ...]:
    """Fetch the cup, bring it over the destination and tilt it in three steps."""
    x, y = destination.x_m + _POUR_OFFSET_M, destination.y_m
    first, second, third = _TILTS_RAD
    return (
        *_fetched(target, now_rad),
        Waypoint(x, y, _POUR_HEIGHT_M, gripper=1.0),
        Waypoint(x, y, _POUR_HEIGHT_M, tilt_rad=first, gripper=1.0),
        Waypoint(x, y, _POUR_HEIGHT_M, tilt_rad=second, gripper=1.0),
        Waypoint(x, y, _POUR_HEIGHT_M, tilt_rad=third, gripper=1.0),
    )


def _fetched(target: ObjectPose, now_rad: float) -> tuple[Waypoint, ...]:
    """Approach, descend, grip, lift."""
    x, y, grip_z = target.x_m, target.y_m, grip_height_m(target.kind)
    yaw, ready = grip_yaw_rad(target, now_rad), ready_to_grip(target.kind)
    return (
        Waypoint(x, y, ABOVE_M, yaw, gripper=ready),
        Waypoint(x, y, grip_z, yaw, gripper=ready),
        Waypoint(x, y, grip_z, yaw, gripper=1.0),
        Waypoint(x, y, grip_z + _CARRY_M, yaw, gripper=1.0),
    )


def _carried(
    target: ObjectPose, destination: ObjectPose, now_rad: float, foot_m: float
) -> tuple[Waypoint, ...]:
    """Fetch the object, bring it above the destination, lower its foot to a height, let go, rise."""
    x, y, yaw = destination.x_m, destination.y_m, grip_yaw_rad(target, now_rad)
    grip_z, ready = grip_height_m(target.kind), ready_to_grip(target.kind)
    return (
        *_fetched(target, now_rad),
        Waypoint(x, y, grip_z + _CARRY_M, yaw, gripper=1.0),
        Waypoint(x, y, grip_z + foot_m, yaw, gripper=1.0),
        Waypoint(x, y, grip_z + foot_m, yaw, gripper=ready),
        Waypoint(x, y, grip_z + foot_m + _RISE_M, yaw, gripper=ready),
    )
