"""Plans a whole goal before anything moves: every waypoint, every sample, every limit."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.kinematics import CollisionModel, Kinematics, chain_increments
from embodied_iqa.robot.limits import ArmLimits, Violation, check_increments, check_positions
from embodied_iqa.robot.path import PathOptions, joints_along, tool_path
from embodied_iqa.robot.timing import TimedPath, TimingOptions, timed

__all__ = ["Planner", "Stage", "plan_goal"]

Array = NDArray[np.float64]


_SHARP_COSINE = -0.5
"""Corners of more than 120 degrees are not rounded."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A motion from rest to rest, and what the gripper does after it.

    Attributes:
        motion: None where only the gripper moves.
        gripper: Where the gripper goes after the motion; None where it stays.
        first_step: Increments that are done before this stage.
        last_step: Increments that are done after it.
    """

    motion: TimedPath | None
    gripper: float | None
    first_step: int
    last_step: int


@dataclass(frozen=True, slots=True, eq=False)
class Planner:
    """What planning needs.

    Attributes:
        gripper_change: Gripper positions closer than this are the same.
    """

    kinematics: Kinematics
    limits: ArmLimits
    collisions: CollisionModel
    path: PathOptions = field(default_factory=PathOptions)
    timing: TimingOptions = field(default_factory=TimingOptions)
    gripper_change: float = 0.01


def plan_goal(
    planner: Planner, increments: Array, q_start_rad: Array, gripper_now: float
) -> tuple[Stage, ...] | Violation:
    """Plan increments ``(K, 7)`` from where the arm stands; cheap checks come first.

    Args:
        planner: Arm, limits and options.
        increments: As in `ArmGoal`.
        q_start_rad: ``(6,)``, the joints now; the tool's pose there is ``T_0``.
        gripper_now: The gripper's present target in [0, 1].

    Returns:
        The stages in order, or the first limit that would be broken.
    """
    violation = check_increments(increments, planner.limits)
    if violation is not None or len(increments) == 0:
        return violation or ()
    T_0 = planner.kinematics.forward(q_start_rad)
    poses = chain_increments(T_0, increments)
    violation = check_positions(poses[:, :3, 3], planner.limits)
    if violation is not None:
        return violation
    waypoints = np.concatenate([T_0[None], poses])
    stages: list[Stage] = []
    q = q_start_rad
    sharp = _sharp_corners(waypoints[:, :3, 3])
    for first, last, gripper in _groups(increments[:, 6], gripper_now, planner.gripper_change, sharp):
        motion = _plan_motion(planner, waypoints[first : last + 1], q)
        if isinstance(motion, Violation):
            return motion
        if motion is not None:
            q = np.ascontiguousarray(motion.q_of_u(motion.end_s))
        stages.append(Stage(motion, gripper, first, last))
    return tuple(stages)


def _sharp_corners(p: Array) -> frozenset[int]:
    """Return the increments after which the tool turns back or nearly so.

    Such a waypoint is what the motion is for (a button at the bottom of a press): the arm stops there
    instead of rounding the corner.
    """
    ways = np.diff(p, axis=0)
    lengths = np.linalg.norm(ways, axis=1)
    along = np.einsum("ni,ni->n", ways[1:], ways[:-1])
    return frozenset(np.flatnonzero(along < _SHARP_COSINE * lengths[1:] * lengths[:-1]).tolist())


def _groups(
    grip: Array, gripper_now: float, change: float, sharp: frozenset[int]
) -> list[tuple[int, int, float | None]]:
    """Split increments where the gripper changes or the way turns back: ``(first, last, gripper after)``.

    The last increment is excluded; the gripper is None where it stays.
    """
    groups: list[tuple[int, int, float | None]] = []
    first = 0
    for index, wanted in enumerate(grip):
        if abs(wanted - gripper_now) > change:
            gripper_now = float(wanted)
            groups.append((first, index + 1, gripper_now))
            first = index + 1
        elif index in sharp:
            groups.append((first, index + 1, None))
            first = index + 1
    if first < len(grip):
        groups.append((first, len(grip), None))
    return groups


def _plan_motion(planner: Planner, waypoints: Array, q_start_rad: Array) -> TimedPath | Violation | None:
    path = tool_path(waypoints, planner.limits, planner.path)
    if path is None:
        return None
    q = joints_along(path, q_start_rad, planner.kinematics, planner.limits, planner.collisions)
    if isinstance(q, Violation):
        return q
    return timed(path, q, planner.limits, planner.timing)
