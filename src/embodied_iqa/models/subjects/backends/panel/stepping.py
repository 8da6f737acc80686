"""Steps of a policy that looks while it acts: from the tool's pose along the rest of a plan, at a fixed rate.

A plan is a row of waypoints, and the policy says which one comes next. From there on everything follows from
the pose and the gripper that are measured: nothing is remembered between two decisions.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.world.manipulation.waypoints import chunk_through, waypoints_from_array

Array = NDArray[np.float64]

STEP_RATE_HZ: Final = 10.0
"""Rate of the steps."""
STEPS: Final = 12
"""Steps of a chunk."""
EXECUTE_STEPS: Final = 4
"""Steps until the next decision: it decides every 0.4 s."""
_SPEED_MPS: Final = 0.22
_TURN_RADPS: Final = 0.9
_BRAKING_S: Final = 0.3
"""Within this time of a waypoint, at full speed, the tool slows down."""
_SLOWEST: Final = 0.2
"""Of the full speed."""
_GRIP_STEPS: Final = 5
"""Steps that the fingers get where only they move."""
_ONE_PLACE_S: Final = 0.04
"""Waypoints so near each other (9 mm at full speed) are one place: a learned plan repeats none exactly."""
_ARRIVED_S: Final = 1e-3


def tool_fields(T_base_tool: Array, gripper: float) -> Array:
    """Return ``(6,)``, a tool's pose and its gripper, columns as in `WAYPOINT_FIELDS`.

    Args:
        T_base_tool: ``(4, 4)``; the part of its turn that no waypoint has is left out.
        gripper: 0 open to 1 closed.
    """
    turn = T_base_tool[:3, :3] @ np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
    yaw_rad, tilt_rad = np.arctan2(-turn[0, 1], turn[1, 1]), np.arctan2(-turn[2, 0], turn[2, 2])
    return np.array([*T_base_tool[:3, 3], yaw_rad, tilt_rad, gripper], dtype=np.float64)


def travel_s(start: Array, end: Array) -> float:
    """Return the time from one waypoint to another at full speed, without the gripper."""
    off = np.asarray(end, np.float64) - start
    return float(max(np.linalg.norm(off[:3]) / _SPEED_MPS, np.abs(off[3:5]).max() / _TURN_RADPS))


def next_steps(plan: Array, following: int, T_base_tool: Array, gripper: float) -> Array:
    """Return the ``(STEPS, 7)`` increments that come next, one a period, as in `ActionChunk`.

    The gripper takes its state along the way between two waypoints, and at once where the tool stands.

    Args:
        plan: ``(K, 6)`` waypoints of the whole task.
        following: Index of the waypoint to go to, below ``K``.
        T_base_tool: ``(4, 4)``, the tool's pose.
        gripper: 0 open to 1 closed, as measured.
    """
    here = tool_fields(T_base_tool, gripper)
    rows: list[Array] = []
    for index in range(following, len(plan)):
        whole = travel_s(plan[index - 1], plan[index]) if index else travel_s(here, plan[0])
        before = plan[index - 1, 5] if index else here[5]
        rows += _towards(here, plan[index], before, whole)
        here = plan[index]
        if len(rows) >= STEPS:
            break
    rows += [rows[-1]] * (STEPS - len(rows))
    return chunk_through(waypoints_from_array(np.array(rows[:STEPS])), T_base_tool)


def _towards(here: Array, end: Array, gripper: float, whole_s: float) -> list[Array]:
    """Return a row for each step to a waypoint, at least one.

    Args:
        here: ``(6,)`` where the tool is.
        end: ``(6,)`` the waypoint.
        gripper: State at the waypoint before.
        whole_s: Time from the waypoint before, at full speed.
    """
    left_s = all_s = travel_s(here, end)
    if whole_s <= _ONE_PLACE_S:  # only the fingers move
        return [end] * _GRIP_STEPS
    rows = []
    while left_s > _ARRIVED_S:
        speed = max(_SLOWEST, min(1.0, (left_s / _BRAKING_S) ** 0.5))
        left_s = max(0.0, left_s - speed / STEP_RATE_HZ)
        row = end + (here - end) * (left_s / all_s)
        row[5] = end[5] + (gripper - end[5]) * min(1.0, left_s / whole_s)
        rows.append(row)
    return rows or [end]
