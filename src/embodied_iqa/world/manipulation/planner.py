"""Plans of the ten verbs: from object poses to waypoints and to one chunk of increments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import UsageError
from embodied_iqa.world.manipulation.shapes import (
    CUP_GRIP_HEIGHT_M,
    DRAWER_HANDLE_AHEAD_M,
    FINGER_HALF_WIDTH_M,
    FINGER_TIP_BEYOND_TOOL_M,
    LID_BOSS_HEIGHT_M,
    LID_PLATE_M,
    PEG_GRIP_HEIGHT_M,
    SOCKET_FLOOR_M,
    STROKE_M,
    ObjectShape,
    shape_of,
)
from embodied_iqa.world.manipulation.waypoints import Waypoint, chunk_through, tool_yaw_rad
from embodied_iqa.world.tasks.vocabulary import DESTINATIONS_OF_VERB, Kind, Size, Verb

Array = NDArray[np.float64]
Plan = tuple[Waypoint, ...]

PUSH_DIRECTION: Final = (-1.0, 0.0)
"""Away from the robot, in the table's plane: base frame x, y."""

_ABOVE_M: Final = 0.12
"""Height from which the tool descends, and to which it retreats after opening the gripper."""
_GRIP_CLEARANCE_M: Final = 0.030
_GRIP_HEIGHT_M: Final = {
    Kind.CUP: CUP_GRIP_HEIGHT_M,
    Kind.LID: LID_BOSS_HEIGHT_M + LID_PLATE_M + 0.018,
    Kind.PEG: PEG_GRIP_HEIGHT_M,
}
_LIFT_M: Final = 0.15

_PUSH_CLEARANCE_M: Final = 0.008
_PUSH_M: Final = 0.090
_PUSH_GAP: Final = 0.35
"""Gap between the fingers as a part of the object's width: with two contact points a ball does not slip."""
_BACK_M: Final = 0.030
_PRESS_DEPTH_M: Final = 0.008
_PULL_M: Final = 0.080
_HANDLE_GRIP_M: Final = 0.040
_KNOB_GRIP_M: Final = 0.046
_TWIST_RAD: Final = np.pi / 4
"""One of two turns: together a quarter turn."""

_CARRY_M: Final = 0.12
"""Height of a carried object's foot: above everything on the table."""
_SET_DOWN_M: Final = 0.002
_DROP_M: Final = 0.034
"""Height of an object's foot when the gripper opens above a bowl: the fingers clear the rim."""
_RISE_M: Final = 0.09
_TILTS_RAD: Final = (0.6, 1.2, 1.8)
_POUR_HEIGHT_M: Final = 0.225
_POUR_OFFSET_M: Final = -0.085
"""Tool position while pouring: above the table, and from the bowl's centre along the base's x."""


@dataclass(frozen=True, slots=True)
class ObjectPose:
    """An object on the table, its pose known or estimated.

    Attributes:
        kind: What it is.
        x_m: Centre in the base frame.
        y_m: Centre in the base frame.
        yaw_rad: Turn about the vertical; matters for a cube, modulo a quarter turn.
        size: Small or large; None for an ordinary object.
    """

    kind: Kind
    x_m: float
    y_m: float
    yaw_rad: float = 0.0
    size: Size | None = None

    @property
    def shape(self) -> ObjectShape:
        """Its outer size."""
        return shape_of(self.kind, self.size)


def closing(opening_m: float) -> float:
    """Return the gripper state in [0, 1] for a distance between the finger pads."""
    return float(np.clip(1.0 - opening_m / STROKE_M, 0.0, 1.0))


def pushed_ahead_m(kind: Kind) -> float:
    """Return the distance from the tool to an ordinary object ahead of it after a push as planned."""
    return shape_of(kind).radius_m + FINGER_HALF_WIDTH_M + _BACK_M


def plan_waypoints(
    verb: Verb, target: ObjectPose, destination: ObjectPose | None = None, now_rad: float = 0.0
) -> Plan:
    """Plan the whole task, straight from waypoint to waypoint.

    Every waypoint's position is an affine function of the positions of target and destination; yaw depends on
    the target's yaw only; height, tilt and gripper are constants of verb, kind and size. The number of
    waypoints is a constant of the verb.

    Args:
        verb: What to do.
        target: The object that is handled.
        destination: Where it goes, for verbs with a destination.
        now_rad: The tool's current turn about the vertical; of the ways to grip a cube the nearest is used.

    Raises:
        UsageError: The verb needs a destination and none is given, or the reverse.
    """
    if (destination is not None) != bool(DESTINATIONS_OF_VERB[verb]):
        wanted = "where the object goes" if DESTINATIONS_OF_VERB[verb] else "no destination"
        raise UsageError(f"wrong plan for {verb}", expected=wanted, got=destination)
    if destination is None:
        return _IN_PLACE[verb](target, now_rad)
    return _CARRY[verb](target, destination, now_rad)


def plan_chunk(
    verb: Verb, target: ObjectPose, T_base_tool: Array, destination: ObjectPose | None = None
) -> Array:
    """Plan the whole task as one chunk.

    Args:
        verb: What to do.
        target: The object that is handled.
        T_base_tool: ``(4, 4)``, the tool's pose, where the chunk begins.
        destination: Where the object goes, for verbs with a destination.

    Returns:
        ``(K, 7)`` increments as in `ActionChunk`.

    Raises:
        UsageError: The verb needs a destination and none is given, or the reverse.
    """
    return chunk_through(plan_waypoints(verb, target, destination, tool_yaw_rad(T_base_tool)), T_base_tool)


def _at(x_m: float, y_m: float, *steps: tuple[float, float], yaw_rad: float = 0.0) -> Plan:
    """Return waypoints above one point of the table, one for each height (m) and gripper state."""
    return tuple(Waypoint(x_m, y_m, z_m, yaw_rad, gripper=gripper) for z_m, gripper in steps)


def _ready(target: ObjectPose) -> float:
    """Return the gripper state in which the fingers pass on both sides of what they grip."""
    return closing(target.shape.width_m + _GRIP_CLEARANCE_M)


def _grip_height_m(target: ObjectPose) -> float:
    """Return the tool's height above the foot of an object in its grip."""
    return _GRIP_HEIGHT_M.get(target.kind, target.shape.height_m / 2)


def _grip_yaw_rad(target: ObjectPose, now_rad: float) -> float:
    """Return the tool's yaw: along a cube's sides, as near as possible to the current yaw; else 0."""
    if target.kind is not Kind.CUBE:
        return 0.0
    quarter = np.pi / 2
    return float(now_rad + (target.yaw_rad - now_rad + quarter / 2) % quarter - quarter / 2)


def _fetch(target: ObjectPose, now_rad: float, lift_m: float) -> Plan:
    """Approach, descend, grip, lift."""
    grip_z, ready = _grip_height_m(target), _ready(target)
    steps = (_ABOVE_M, ready), (grip_z, ready), (grip_z, 1.0), (grip_z + lift_m, 1.0)
    return _at(target.x_m, target.y_m, *steps, yaw_rad=_grip_yaw_rad(target, now_rad))


def _pick(target: ObjectPose, now_rad: float) -> Plan:
    return _fetch(target, now_rad, _LIFT_M)


def _push(target: ObjectPose, now_rad: float) -> Plan:
    """Approach on the robot's side, descend, push, back off, rise."""
    del now_rad
    shape = target.shape
    along_x, along_y = PUSH_DIRECTION
    low = min(0.022, shape.height_m / 2)
    gripper = closing(_PUSH_GAP * shape.width_m)
    release = closing(shape.width_m)  # wider, so that the fingers do not drag the object back
    standoff = shape.radius_m + FINGER_HALF_WIDTH_M + _PUSH_CLEARANCE_M
    start_x, start_y = target.x_m - standoff * along_x, target.y_m - standoff * along_y
    way = _PUSH_M + _PUSH_CLEARANCE_M
    end_x, end_y = start_x + way * along_x, start_y + way * along_y
    back_x, back_y = end_x - _BACK_M * along_x, end_y - _BACK_M * along_y
    return (
        *_at(start_x, start_y, (_ABOVE_M, gripper), (low, gripper)),
        *_at(end_x, end_y, (low, gripper)),
        *_at(back_x, back_y, (low, release), (_ABOVE_M, release)),
    )


def _press(target: ObjectPose, now_rad: float) -> Plan:
    """Approach, press, retreat."""
    del now_rad
    pressed = target.shape.height_m + FINGER_TIP_BEYOND_TOOL_M - _PRESS_DEPTH_M
    return _at(target.x_m, target.y_m, (_ABOVE_M, 1.0), (pressed, 1.0), (_ABOVE_M, 1.0))


def _pull(target: ObjectPose, now_rad: float) -> Plan:
    """Approach the drawer's handle, descend, grip, pull towards the robot, open, rise."""
    del now_rad
    x, y, ready = target.x_m + DRAWER_HANDLE_AHEAD_M, target.y_m, _ready(target)
    return (
        *_at(x, y, (_ABOVE_M, ready), (_HANDLE_GRIP_M, ready), (_HANDLE_GRIP_M, 1.0)),
        *_at(x + _PULL_M, y, (_HANDLE_GRIP_M, 1.0), (_HANDLE_GRIP_M, ready), (_ABOVE_M, ready)),
    )


def _twist(target: ObjectPose, now_rad: float) -> Plan:
    """Approach the knob, descend, grip, turn a quarter in two steps, open, rise."""
    del now_rad
    x, y, ready = target.x_m, target.y_m, _ready(target)
    turned = (_KNOB_GRIP_M, 1.0), (_KNOB_GRIP_M, ready), (_ABOVE_M, ready)
    return (
        *_at(x, y, (_ABOVE_M, ready), (_KNOB_GRIP_M, ready), (_KNOB_GRIP_M, 1.0)),
        *_at(x, y, (_KNOB_GRIP_M, 1.0), yaw_rad=_TWIST_RAD),
        *_at(x, y, *turned, yaw_rad=2 * _TWIST_RAD),
    )


def _move(target: ObjectPose, destination: ObjectPose, now_rad: float) -> Plan:
    return _carry(target, destination, now_rad, destination.shape.height_m + _SET_DOWN_M)


def _place(target: ObjectPose, destination: ObjectPose, now_rad: float) -> Plan:
    return _carry(target, destination, now_rad, _DROP_M)


def _insert(target: ObjectPose, destination: ObjectPose, now_rad: float) -> Plan:
    return _carry(target, destination, now_rad, SOCKET_FLOOR_M + _SET_DOWN_M + 0.004)


def _cover(target: ObjectPose, destination: ObjectPose, now_rad: float) -> Plan:
    seat_m = destination.shape.height_m - LID_BOSS_HEIGHT_M
    return _carry(target, destination, now_rad, seat_m + 0.004)


def _carry(target: ObjectPose, destination: ObjectPose, now_rad: float, foot_m: float) -> Plan:
    """Fetch the object, carry it above the destination, lower its foot to a height, open, rise."""
    grip_z, ready = _grip_height_m(target), _ready(target)
    low = grip_z + foot_m
    steps = (grip_z + _CARRY_M, 1.0), (low, 1.0), (low, ready), (low + _RISE_M, ready)
    yaw_rad = _grip_yaw_rad(target, now_rad)
    return _fetch(target, now_rad, _CARRY_M) + _at(destination.x_m, destination.y_m, *steps, yaw_rad=yaw_rad)


def _pour(target: ObjectPose, destination: ObjectPose, now_rad: float) -> Plan:
    """Fetch the cup, carry it above the destination and tilt it in three steps."""
    x, y = destination.x_m + _POUR_OFFSET_M, destination.y_m
    tilts = (Waypoint(x, y, _POUR_HEIGHT_M, tilt_rad=tilt, gripper=1.0) for tilt in (0.0, *_TILTS_RAD))
    return (*_fetch(target, now_rad, _CARRY_M), *tilts)


_IN_PLACE: Final[dict[Verb, Callable[[ObjectPose, float], Plan]]] = {
    Verb.PICK: _pick,
    Verb.PRESS: _press,
    Verb.PULL: _pull,
    Verb.PUSH: _push,
    Verb.TWIST: _twist,
}
_CARRY: Final[dict[Verb, Callable[[ObjectPose, ObjectPose, float], Plan]]] = {
    Verb.COVER: _cover,
    Verb.INSERT: _insert,
    Verb.MOVE: _move,
    Verb.PLACE: _place,
    Verb.POUR: _pour,
}
