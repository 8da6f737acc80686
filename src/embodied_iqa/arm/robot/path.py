"""Path of the tool or of the joints: straight lines with rounded corners between waypoints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation, Slerp

from embodied_iqa.arm.robot.limits import (
    ArmLimits,
    LimitKind,
    Violation,
    check_configurations,
    check_positions,
)
from embodied_iqa.base.kinematics import CollisionModel, Kinematics, Reach, nearest_turns

Array = NDArray[np.float64]

_FEWEST = 9
_LARGEST_JOINT_STEP_RAD = 0.1
_STILL_M = 1e-7
_SAME_RAD = 1e-4
_COLLISION_EVERY = 4
"""Samples per collision check; the capsules are coarse."""


@dataclass(frozen=True, slots=True)
class PathOptions:
    """Sampling and corner rounding.

    Attributes:
        sample_m: Distance between samples.
        blend_m: Length over which a corner is rounded; a right angle is cut by about a quarter of it.
    """

    sample_m: float = 0.001
    blend_m: float = 0.012


@dataclass(frozen=True, slots=True, eq=False)
class ToolPath:
    """Samples along a path.

    Attributes:
        s_m: ``(N,)``, path length from 0. A step of s is at least the tool's translation in m and its
            rotation in rad times ``tool_speed / tool_turn``, so that one speed along s keeps both limits.
        T_base_tool: ``(N, 4, 4)``, poses of the tool.
        waypoint_s_m: ``(K,)``, path lengths of the waypoints.
    """

    s_m: Array
    T_base_tool: Array
    waypoint_s_m: Array


def tool_path(waypoints: Array, limits: ArmLimits, options: PathOptions) -> ToolPath | None:
    """Return a path through waypoints ``(K + 1, 4, 4)``, the first being the start; None if nothing moves.

    Between waypoints the tool moves along a straight line and turns about a fixed axis. Corners are rounded
    by averaging twice over a window that shrinks to zero at both ends.
    """
    p, turns = waypoints[:, :3, 3], Rotation.from_matrix(waypoints[:, :3, :3])
    lengths = np.linalg.norm(np.diff(p, axis=0), axis=1)
    angles = (turns[:-1].inv() * turns[1:]).magnitude()
    at = np.concatenate(
        [[0.0], np.maximum(lengths, angles * limits.tool_speed_mps / limits.tool_turn_radps).cumsum()]
    )
    if at[-1] < _STILL_M:
        return None
    keep = np.concatenate([[True], np.diff(at) > 0.0])
    count = max(_FEWEST, int(np.ceil(at[-1] / options.sample_m)) + 1)
    s = np.linspace(0.0, at[-1], count)
    half = round(0.5 * options.blend_m / (s[1] - s[0]))
    positions = np.stack([np.interp(s, at[keep], p[keep, axis]) for axis in range(3)], axis=1)
    quaternions = continuous_quaternions(Slerp(at[keep], turns[keep])(s).as_quat())
    smooth = _average(_average(np.hstack([positions, quaternions]), half), half)
    T = np.tile(np.eye(4), (count, 1, 1))
    T[:, :3, :3] = Rotation.from_quat(smooth[:, 3:]).as_matrix()
    T[:, :3, 3] = smooth[:, :3]
    return ToolPath(s, T, at[1:])


def joint_path(
    q_rad: Array, kinematics: Kinematics, limits: ArmLimits, options: PathOptions
) -> tuple[ToolPath, Array] | None:
    """Return a path through joint angles ``(K + 1, 6)``, the first being the start; None if nothing moves.

    Between waypoints all joints move evenly; corners are rounded as those of `tool_path`.

    Returns:
        The path of the tool and the joint angles ``(N, 6)`` along it. A step of its length is also at least
        the largest turn of a joint times ``tool_speed / joint_speed``, so that it never stands still.
    """
    m_per_rad = limits.tool_speed_mps / limits.joint_speed_radps
    at = np.concatenate([[0.0], np.abs(np.diff(q_rad, axis=0)).max(axis=1).cumsum() * m_per_rad])
    if at[-1] < _STILL_M:
        return None
    count = max(_FEWEST, int(np.ceil(at[-1] / options.sample_m)) + 1)
    even = np.linspace(0.0, at[-1], count)
    half = round(0.5 * options.blend_m / (even[1] - even[0]))
    q = np.stack([np.interp(even, at, column) for column in q_rad.T], axis=1)
    q = _average(_average(q, half), half)
    T = kinematics.forward(q)
    turns = Rotation.from_matrix(T[:, :3, :3])
    angles = (turns[:-1].inv() * turns[1:]).magnitude()
    longest = np.maximum(
        np.linalg.norm(np.diff(T[:, :3, 3], axis=0), axis=1),
        angles * limits.tool_speed_mps / limits.tool_turn_radps,
    )
    longest = np.maximum(longest, np.abs(np.diff(q, axis=0)).max(axis=1) * m_per_rad)
    s = np.concatenate([[0.0], np.maximum(longest, _STILL_M * options.sample_m).cumsum()])
    return ToolPath(s, T, np.interp(at[1:], even, s)), q


def continuous_quaternions(quaternions: Array) -> Array:
    """Return quaternions ``(N, 4)`` with signs such that neighbours are near each other."""
    signs = np.where(np.einsum("ni,ni->n", quaternions[1:], quaternions[:-1]) < 0.0, -1.0, 1.0)
    return np.concatenate([quaternions[:1], quaternions[1:] * np.cumprod(signs)[:, None]])


def _average(rows: Array, half: int) -> Array:
    """Average each row with its neighbours up to ``half`` rows away, fewer near the ends."""
    count = len(rows)
    index = np.arange(count)
    reach = np.minimum(half, np.minimum(index, count - 1 - index))
    total = np.concatenate([np.zeros((1, rows.shape[1])), rows.cumsum(axis=0)])
    averaged: Array = (total[index + reach + 1] - total[index - reach]) / (2 * reach + 1)[:, None]
    return averaged


def joints_along(
    path: ToolPath, q_start_rad: Array, kinematics: Kinematics, limits: ArmLimits, collisions: CollisionModel
) -> Array | Violation:
    """Return joint angles ``(N, 6)`` along a path in the present branch of the inverse, from ``q_start_rad``.

    The whole path is checked: reach, a single branch without jumps, joint limits, singularities, table, wall,
    workspace, collisions.
    """
    q = joints_in_branch(path.T_base_tool, q_start_rad, kinematics, limits)
    return q if isinstance(q, Violation) else check_joints(q, kinematics, limits, collisions) or q


def joints_in_branch(
    T_base_tool: Array,
    q_start_rad: Array,
    kinematics: Kinematics,
    limits: ArmLimits,
    nearest_rad: float = _SAME_RAD,
) -> Array | Violation:
    """Return joint angles ``(N, 6)`` along poses ``(N, 4, 4)`` in the branch of the inverse near the start.

    Args:
        T_base_tool: The poses (m).
        q_start_rad: ``(6,)``, the start; the first angles are at most ``nearest_rad`` from it.
        kinematics: The arm.
        limits: Of positions and joints.
        nearest_rad: See ``q_start_rad``.
    """
    outside = check_positions(T_base_tool[:, :3, 3], limits)
    if outside is not None:
        return outside
    result = kinematics.inverse_batch(T_base_tool, float(q_start_rad[5]))
    lost = np.flatnonzero(result.status != Reach.OK)
    if lost.size:
        return Violation(LimitKind.UNREACHABLE, result.reason(int(lost[0])))
    low, high = np.array(limits.q_min_rad), np.array(limits.q_max_rad)
    first, _ = nearest_turns(result.q_rad[0], q_start_rad, low, high)
    apart = np.where(result.valid[0], np.abs(first - q_start_rad).max(axis=1), np.inf)
    branch = int(np.argmin(apart))
    if apart[branch] > nearest_rad:
        return Violation(LimitKind.SINGULARITY, "the arm is too close to a singularity")
    if not result.valid[:, branch].all():
        return Violation(LimitKind.SINGULARITY, "the path crosses a singularity")
    q: Array = np.unwrap(result.q_rad[:, branch], axis=0)
    q += first[branch] - q[0]
    return q


def check_joints(
    q: Array,
    kinematics: Kinematics,
    limits: ArmLimits,
    collisions: CollisionModel,
    collision_every: int = _COLLISION_EVERY,
) -> Violation | None:
    """Check joint angles ``(N, 6)`` along a path: joint limits, singularities, jumps, collisions.

    The last are checked at every sample, or at one of ``collision_every``.
    """
    violation = check_configurations(q, limits)
    if violation is not None:
        return violation
    margin = kinematics.smallest_margins(q)
    close = margin.within(limits.shoulder_margin_m, limits.singularity_margin_rad)
    if close is not None:
        return Violation(LimitKind.SINGULARITY, f"the path comes too close to the {close} singularity")
    if np.abs(np.diff(q, axis=0)).max() > _LARGEST_JOINT_STEP_RAD:
        return Violation(LimitKind.SINGULARITY, "a joint would have to jump")
    thinned = np.concatenate([q[:-1:collision_every], q[-1:]])
    hit = collisions.first_collision(thinned)
    return None if hit is None else Violation(LimitKind.COLLISION, str(hit[1]))
