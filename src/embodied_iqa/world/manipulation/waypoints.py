"""Waypoints of the tool, and the chunk of increments through them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.kinematics import increments_between

Array = NDArray[np.float64]

MAX_WAYPOINTS: Final = 10
"""Maximum length of a plan; a learned policy pads its waypoints to this length."""

WAYPOINT_FIELDS: Final = ("x_m", "y_m", "z_m", "yaw_rad", "tilt_rad", "gripper")
"""The columns of a plan as an array."""

_TOOL_DOWN: Final = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])


@dataclass(frozen=True, slots=True)
class Waypoint:
    """A pose of the tool, at rest, and a gripper state.

    Attributes:
        x_m: Tool centre point in the base frame.
        y_m: Tool centre point in the base frame.
        z_m: Tool centre point in the base frame; the table is 0.
        yaw_rad: Turn about the vertical; at 0 the fingers move along the base's y.
        tilt_rad: Turn about the axis along which the fingers move; at 0 the tool points down, at pi / 2 (and
            yaw 0) along the base's -x, away from the robot.
        gripper: State of the gripper in [0, 1] on arrival: 0 open, 1 closed.
    """

    x_m: float
    y_m: float
    z_m: float
    yaw_rad: float = 0.0
    tilt_rad: float = 0.0
    gripper: float = 0.0


def waypoint_pose(waypoint: Waypoint) -> Array:
    """Return the tool's ``(4, 4)`` pose at a waypoint in the base frame."""
    cos_yaw, sin_yaw = np.cos(waypoint.yaw_rad), np.sin(waypoint.yaw_rad)
    cos_tilt, sin_tilt = np.cos(waypoint.tilt_rad), np.sin(waypoint.tilt_rad)
    yaw = np.array([[cos_yaw, -sin_yaw, 0.0], [sin_yaw, cos_yaw, 0.0], [0.0, 0.0, 1.0]])
    tilt = np.array([[cos_tilt, 0.0, sin_tilt], [0.0, 1.0, 0.0], [-sin_tilt, 0.0, cos_tilt]])
    pose = np.eye(4)
    pose[:3, :3] = yaw @ tilt @ _TOOL_DOWN
    pose[:3, 3] = waypoint.x_m, waypoint.y_m, waypoint.z_m
    return pose


def chunk_through(waypoints: Sequence[Waypoint], T_base_tool: Array) -> Array:
    """Return the ``(K, 7)`` increments (as in `ActionChunk`) from a pose through all waypoints.

    Args:
        waypoints: At least one.
        T_base_tool: ``(4, 4)``, the tool's pose.

    Raises:
        UsageError: No waypoints.
    """
    if not waypoints:
        raise UsageError("a plan needs a waypoint", expected="one or more", got=0)
    poses = np.stack([T_base_tool, *(waypoint_pose(waypoint) for waypoint in waypoints)])
    gripper = np.array([[waypoint.gripper] for waypoint in waypoints])
    return np.concatenate([increments_between(poses), gripper], axis=1)


def waypoints_to_array(waypoints: Sequence[Waypoint]) -> Array:
    """Return ``(K, 6)`` float64, a row for each waypoint, columns as in `WAYPOINT_FIELDS`."""
    return np.array([astuple(waypoint) for waypoint in waypoints], dtype=np.float64).reshape(-1, 6)


def waypoints_from_array(rows: Array) -> tuple[Waypoint, ...]:
    """Return the waypoints of ``(K, 6)``; the gripper's state is clipped to [0, 1].

    Raises:
        UsageError: Another shape, or values that are not finite.
    """
    rows = np.asarray(rows, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != len(WAYPOINT_FIELDS) or not np.isfinite(rows).all():
        raise UsageError("wrong waypoints", expected="finite numbers of shape (K, 6)", got=rows.shape)
    return tuple(
        Waypoint(x, y, z, yaw, tilt, min(max(gripper, 0.0), 1.0))
        for x, y, z, yaw, tilt, gripper in rows.tolist()
    )


def tool_yaw_rad(T_base_tool: Array) -> float:
    """Return the turn about the vertical of a tool that points down, as in `Waypoint`."""
    return float(np.arctan2(-T_base_tool[0, 0], T_base_tool[1, 0]))
