"""From where an object is to a chunk of increments that picks, pushes or presses it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.kinematics import increments_between
from embodied_iqa.subjects.gripper_shape import FINGER_HALF_WIDTH_M, FINGER_TIP_BEYOND_TOOL_M, STROKE_M
from embodied_iqa.subjects.instruction import Kind, Verb
from embodied_iqa.subjects.object_shapes import SHAPES

__all__ = ["PUSH_DIRECTION", "ObjectPose", "closing", "plan_chunk", "pushed_ahead_m"]

Array = NDArray[np.float64]

PUSH_DIRECTION: Final = (-1.0, 0.0)
"""Away from the robot, in the table's plane: base frame x, y."""

_ABOVE_M: Final = 0.12
_LIFT_M: Final = 0.15
_GRIP_CLEARANCE_M: Final = 0.030
_PUSH_CLEARANCE_M: Final = 0.008
_PUSH_M: Final = 0.090
_PUSH_GAP: Final = 0.35
"""Gap between the fingers as a part of the object's width: two points of touch keep a ball from
slipping past."""
_BACK_M: Final = 0.030
_PRESS_DEPTH_M: Final = 0.008
_TOOL_DOWN: Final = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])


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


@dataclass(frozen=True, slots=True)
class _Waypoint:
    x_m: float
    y_m: float
    z_m: float
    yaw_rad: float
    gripper: float


def plan_chunk(verb: Verb, target: ObjectPose, T_base_tool: Array) -> Array:
    """Plan the whole task as one chunk, straight from waypoint to waypoint, the tool pointing down.

    Args:
        verb: What to do.
        target: What to do it to.
        T_base_tool: ``(4, 4)``, where the tool is; the chunk begins here.

    Returns:
        ``(K, 7)`` increments as in `ActionChunk`. Pick: approach, descend, grip, lift. Push: approach on the
        robot's side, descend, push, back off, rise. Press: approach, press, retreat.
    """
    now_rad = _yaw_of(T_base_tool)
    plan = {Verb.PICK: _pick, Verb.PUSH: _push, Verb.PRESS: _press}[verb]
    waypoints = plan(target, now_rad)
    poses = np.stack([T_base_tool, *(_pose(waypoint) for waypoint in waypoints)])
    gripper = np.array([[waypoint.gripper] for waypoint in waypoints])
    return np.concatenate([increments_between(poses), gripper], axis=1)


def closing(opening_m: float) -> float:
    """Return the gripper's state in [0, 1] for a distance between its pads."""
    return float(np.clip(1.0 - opening_m / STROKE_M, 0.0, 1.0))


def pushed_ahead_m(kind: Kind) -> float:
    """Return how far ahead of the tool an object stands after a push that went as planned."""
    return SHAPES[kind].radius_m + FINGER_HALF_WIDTH_M + _BACK_M


def _pick(target: ObjectPose, now_rad: float) -> list[_Waypoint]:
    shape = SHAPES[target.kind]
    x, y, grip_z = target.x_m, target.y_m, shape.height_m / 2
    yaw = _nearest_quarter(target.yaw_rad, now_rad) if target.kind is Kind.CUBE else 0.0
    ready = closing(shape.width_m + _GRIP_CLEARANCE_M)
    return [
        _Waypoint(x, y, _ABOVE_M, yaw, ready),
        _Waypoint(x, y, grip_z, yaw, ready),
        _Waypoint(x, y, grip_z, yaw, 1.0),
        _Waypoint(x, y, grip_z + _LIFT_M, yaw, 1.0),
    ]


def _push(target: ObjectPose, now_rad: float) -> list[_Waypoint]:
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
    return [
        _Waypoint(start_x, start_y, _ABOVE_M, 0.0, gripper),
        _Waypoint(start_x, start_y, low, 0.0, gripper),
        _Waypoint(end_x, end_y, low, 0.0, gripper),
        _Waypoint(back_x, back_y, low, 0.0, release),
        _Waypoint(back_x, back_y, _ABOVE_M, 0.0, release),
    ]


def _press(target: ObjectPose, now_rad: float) -> list[_Waypoint]:
    del now_rad
    pressed = SHAPES[target.kind].height_m + FINGER_TIP_BEYOND_TOOL_M - _PRESS_DEPTH_M
    return [
        _Waypoint(target.x_m, target.y_m, _ABOVE_M, 0.0, 1.0),
        _Waypoint(target.x_m, target.y_m, pressed, 0.0, 1.0),
        _Waypoint(target.x_m, target.y_m, _ABOVE_M, 0.0, 1.0),
    ]


def _yaw_of(T_base_tool: Array) -> float:
    """Return the turn about the vertical of a tool that points down; 0: fingers along the base's y."""
    return float(np.arctan2(-T_base_tool[0, 0], T_base_tool[1, 0]))


def _nearest_quarter(yaw_rad: float, near_rad: float) -> float:
    """Return ``yaw_rad``, a square's, as the angle that is nearest to ``near_rad``."""
    quarter = np.pi / 2
    return float(near_rad + (yaw_rad - near_rad + quarter / 2) % quarter - quarter / 2)


def _pose(waypoint: _Waypoint) -> Array:
    cosine, sine = np.cos(waypoint.yaw_rad), np.sin(waypoint.yaw_rad)
    turn = np.array([[cosine, -sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1.0]])
    pose = np.eye(4)
    pose[:3, :3] = turn @ _TOOL_DOWN
    pose[:3, 3] = waypoint.x_m, waypoint.y_m, waypoint.z_m
    return pose
