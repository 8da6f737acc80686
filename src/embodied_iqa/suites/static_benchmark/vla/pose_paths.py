"""Poses of the tool over time: between two of them, along a chunk, and as rows of seven numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.kinematics import (
    chain_increments,
    invert,
    pose_to_transform,
    rotation_to_rotvec,
    transform_to_pose,
)
from embodied_iqa.models.subjects.actions.rotations import euler_xyz_to_rotation, rotation_to_euler_xyz
from embodied_iqa.world.simulation.rollout import RolloutOptions, motion_time, trapezoid_way

Array = NDArray[np.float64]

_BETWEEN_S = 0.032
"""Rest of the arm between two increments, as in a rollout."""
_STROKES_PER_S = 1.0


def pose_rows(T_base_tool: Array, gripper: Array) -> Array:
    """Return ``(n, 7)`` of ``(n, 4, 4)`` poses and ``(n,)`` gripper states: x, y, z, roll, pitch, yaw, s."""
    angles = rotation_to_euler_xyz(T_base_tool[:, :3, :3])
    return np.concatenate([T_base_tool[:, :3, 3], angles, gripper[:, None]], axis=1)


def row_poses(rows: Array) -> Array:
    """Return the ``(n, 4, 4)`` poses of ``(n, 7)`` rows; inverts `pose_rows`."""
    poses = np.tile(np.eye(4), (len(rows), 1, 1))
    poses[:, :3, :3] = euler_xyz_to_rotation(rows[:, 3:6])
    poses[:, :3, 3] = rows[:, :3]
    return poses


def poses_at(known_s: Array, poses: Array, at_s: Array) -> Array:
    """Return poses between known ones: straight lines, turns about one axis at a constant rate.

    Args:
        known_s: ``(n,)``, increasing; n of 1 or more.
        poses: ``(n, 4, 4)``.
        at_s: ``(m,)``; before the first and after the last known time, the pose is that one.
    """
    last = np.clip(np.searchsorted(known_s, at_s), 1, max(1, len(known_s) - 1))
    first = np.minimum(last - 1, len(known_s) - 1)
    last = np.minimum(last, len(known_s) - 1)
    span_s = np.maximum(known_s[last] - known_s[first], np.finfo(np.float64).tiny)
    return between(poses[first], poses[last], np.clip((at_s - known_s[first]) / span_s, 0.0, 1.0))


def between(first: Array, last: Array, part: Array) -> Array:
    """Return the poses at ``(m,)`` parts in [0, 1] of the ways from ``(m, 4, 4)`` to ``(m, 4, 4)``."""
    poses = first.copy()
    shift = last[:, :3, 3] - first[:, :3, 3]
    poses[:, :3, 3] += part[:, None] * shift
    turn = rotation_to_rotvec(np.swapaxes(first[:, :3, :3], -1, -2) @ last[:, :3, :3])
    steps = pose_to_transform(np.concatenate([np.zeros_like(turn), part[:, None] * turn], axis=1))
    poses[:, :3, :3] = first[:, :3, :3] @ steps[:, :3, :3]
    return poses


def arm_poses(
    T_base_tool: Array, gripper: float, increments: Array, at_s: Array, options: RolloutOptions | None = None
) -> tuple[Array, Array]:
    """Return where the arm is at times after the begin of a chunk, if it follows as in `rollout`.

    Each increment is a straight line from rest to rest at the limits of ``options``; the gripper moves with
    the increment that changes it, at one stroke a second. There is no physics: nothing delays the arm.

    Args:
        T_base_tool: ``(4, 4)``, at the begin.
        gripper: At the begin, in [0, 1].
        increments: ``(K, 7)`` as in `ActionChunk`; K of 1 or more.
        at_s: ``(m,)``; after the last increment the arm rests.
        options: Speed limits.

    Returns:
        ``(m, 4, 4)`` poses, and the ``(m,)`` commanded gripper states.
    """
    options = options or RolloutOptions()
    starts = np.concatenate([T_base_tool[None], chain_increments(T_base_tool, increments)])
    states = np.concatenate([[gripper], np.clip(increments[:, 6], 0.0, 1.0)])
    moves = transform_to_pose(invert(starts[:-1]) @ starts[1:])
    lengths = zip(*_lengths(moves), strict=True)
    times = [motion_time(float(shift_m), float(turn_rad), options) for shift_m, turn_rad in lengths]
    motion_s, ramps = np.array(times).T
    whole_s = np.maximum(motion_s, np.abs(np.diff(states)) / _STROKES_PER_S) + _BETWEEN_S
    ends_s = np.cumsum(whole_s)
    index = np.minimum(np.searchsorted(ends_s, at_s), len(increments) - 1)
    elapsed_s = at_s - (ends_s - whole_s)[index]
    part = np.clip(elapsed_s / np.maximum(motion_s[index], 1e-9), 0.0, 1.0)
    way = np.array(
        [trapezoid_way(one, ramp) if ramp else one for one, ramp in zip(part, ramps[index], strict=True)]
    )
    return between(starts[index], starts[index + 1], way), states[index + 1]


def _lengths(moves: Array) -> tuple[Array, Array]:
    return np.linalg.norm(moves[:, :3], axis=1), np.linalg.norm(moves[:, 3:6], axis=1)
