"""Planning of a whole goal, with all limits checked, before anything moves."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.robot.limits import (
    ArmLimits,
    LimitKind,
    Violation,
    check_configurations,
    check_increments,
    check_positions,
)
from embodied_iqa.arm.robot.path import PathOptions, joint_path, joints_along, tool_path
from embodied_iqa.arm.robot.timing import TimedPath, TimingOptions, timed
from embodied_iqa.base.kinematics import CollisionModel, Kinematics, chain_increments

Array = NDArray[np.float64]


_SHARP_COSINE = -0.5
"""The arm stops at corners of more than 120 degrees instead of rounding them."""
LARGEST_TURN_RAD = 0.5
"""Of a joint in one step of a policy that commands joints."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A motion from rest to rest, followed by a gripper motion.

    Attributes:
        motion: None if only the gripper moves.
        gripper: Gripper target after the motion; None if it stays.
        first_step: Number of increments before this segment.
        last_step: Number of increments after it.
    """

    motion: TimedPath | None
    gripper: float | None
    first_step: int
    last_step: int


@dataclass(frozen=True, slots=True, eq=False)
class Planner:
    """Arm, limits and options for planning.

    Attributes:
        kinematics: The arm with its tool.
        limits: Limits that every plan keeps.
        collisions: Collision model.
        path: Sampling and corners of the path.
        timing: Braking and jerk.
        gripper_change: Gripper positions closer than this count as equal.
    """

    kinematics: Kinematics
    limits: ArmLimits
    collisions: CollisionModel
    path: PathOptions = field(default_factory=PathOptions)
    timing: TimingOptions = field(default_factory=TimingOptions)
    gripper_change: float = 0.01


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The plan of a goal, of which all segments or only the first ones are there.

    Attributes:
        waypoints: ``(K + 1, 4, 4)`` poses of the tool, or ``(K + 1, 6)`` joint angles; first the start.
        groups: First waypoint, last one, and gripper target of each segment.
        q_start_rad: ``(6,)``, joint angles at the start.
        q_rad: ``(6,)``, joint angles after the last segment that is there.
        segments: Those that are there.
    """

    waypoints: Array
    groups: tuple[tuple[int, int, float | None], ...]
    q_start_rad: Array
    q_rad: Array
    segments: tuple[Segment, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether all segments are there."""
        return len(self.segments) == len(self.groups)


def plan_goal(
    planner: Planner, increments: Array, q_start_rad: Array, gripper_now: float
) -> tuple[Segment, ...] | Violation:
    """Plan increments as a whole, see `begin_plan`.

    Returns:
        The segments in order, or the first limit that would be exceeded.
    """
    plan = begin_plan(planner, increments, q_start_rad, gripper_now)
    plan = plan if isinstance(plan, Violation) else extended(planner, plan)
    return plan if isinstance(plan, Violation) else plan.segments


def begin_plan(
    planner: Planner, increments: Array, q_start_rad: Array, gripper_now: float
) -> Plan | Violation:
    """Check increments ``(K, 7)`` from the present configuration, and divide them into segments.

    Args:
        planner: Arm, limits and options.
        increments: As in `ArmGoal`.
        q_start_rad: ``(6,)``, present joint angles.
        gripper_now: Present target of the gripper in [0, 1].

    Returns:
        A plan without segments, or the first limit that would be exceeded.
    """
    violation = check_increments(increments, planner.limits)
    if violation is not None:
        return violation
    if len(increments) == 0:
        return Plan(np.empty((0, 4, 4)), (), q_start_rad, q_start_rad)
    T_0 = planner.kinematics.forward(q_start_rad)
    poses = chain_increments(T_0, increments)
    violation = check_positions(poses[:, :3, 3], planner.limits)
    if violation is not None:
        return violation
    waypoints = np.concatenate([T_0[None], poses])
    sharp = _sharp_corners(waypoints[:, :3, 3])
    groups = _groups(increments[:, 6], gripper_now, planner.gripper_change, sharp)
    return Plan(waypoints, groups, q_start_rad, q_start_rad)


def begin_joint_plan(
    planner: Planner, joints_rad: Array, grip: Array, q_start_rad: Array, gripper_now: float
) -> Plan | Violation:
    """Check joint angles ``(K, 6)`` from the present ones; the tool goes where they lead it.

    Unlike a motion of the tool it may pass a singularity. All other limits are checked along the whole path.

    Args:
        planner: Arm, limits and options.
        joints_rad: ``(K, 6)``, after each step.
        grip: ``(K,)``, gripper after each step in [0, 1].
        q_start_rad: ``(6,)``, present joint angles.
        gripper_now: Present target of the gripper in [0, 1].

    Returns:
        A plan without segments, or the first limit that would be exceeded.
    """
    waypoints = np.concatenate([q_start_rad[None], joints_rad])
    violation = check_configurations(joints_rad, planner.limits) or check_turns(waypoints)
    if violation is not None:
        return violation
    groups = _groups(grip, gripper_now, planner.gripper_change, _sharp_corners(waypoints))
    return Plan(waypoints, groups, q_start_rad, q_start_rad)


def extended(planner: Planner, plan: Plan, most: int | None = None) -> Plan | Violation:
    """Return a plan with its next segments, at most so many; or the first limit that would be exceeded."""
    segments, q = list(plan.segments), plan.q_rad
    for first, last, gripper in plan.groups[len(segments) :][:most]:
        waypoints = plan.waypoints[first : last + 1]
        joints = waypoints.ndim == 2
        motion = _plan_joint_motion(planner, waypoints) if joints else _plan_motion(planner, waypoints, q)
        if isinstance(motion, Violation):
            return motion
        if motion is not None:
            q = np.ascontiguousarray(motion.q_of_u(motion.end_s))
        segments.append(Segment(motion, gripper, first, last))
    return replace(plan, q_rad=q, segments=tuple(segments))


def check_turns(q_rad: Array) -> Violation | None:
    """Check the steps between joint angles ``(N, 6)`` that a policy commands."""
    furthest = float(np.abs(np.diff(q_rad, axis=0)).max(initial=0.0))
    if furthest <= LARGEST_TURN_RAD:
        return None
    reason = f"a step of the chunk turns a joint by {furthest:.2f} rad, at most {LARGEST_TURN_RAD} rad"
    return Violation(LimitKind.UNJOINED, reason)


def _plan_joint_motion(planner: Planner, waypoints: Array) -> TimedPath | Violation | None:
    found = joint_path(waypoints, planner.kinematics, planner.limits, planner.path)
    if found is None:
        return None
    path, q = found
    violation = check_positions(path.T_base_tool[:, :3, 3], planner.limits)
    violation = violation or check_configurations(q, planner.limits)
    if violation is not None:
        return violation
    hit = planner.collisions.first_collision(q)
    if hit is not None:
        return Violation(LimitKind.COLLISION, str(hit[1]))
    return timed(path, q, planner.limits, planner.timing)


def _sharp_corners(p: Array) -> frozenset[int]:
    """Return the steps between ``(N, D)`` places of tool or joints after which they reverse or nearly so.

    Such a waypoint is a goal in itself, as the bottom of a button press: the arm must reach it.
    """
    steps = np.diff(p, axis=0)
    lengths = np.linalg.norm(steps, axis=1)
    along = np.einsum("ni,ni->n", steps[1:], steps[:-1])
    return frozenset(np.flatnonzero(along < _SHARP_COSINE * lengths[1:] * lengths[:-1]).tolist())


def _groups(
    grip: Array, gripper_now: float, change: float, sharp: frozenset[int]
) -> tuple[tuple[int, int, float | None], ...]:
    """Split increments at gripper changes and sharp corners: ``(first, last, gripper after)``.

    ``last`` is exclusive; the gripper is None if it stays.
    """
    groups: list[tuple[int, int, float | None]] = []
    first = 0
    for index, wanted in enumerate(grip.tolist()):
        changes = abs(wanted - gripper_now) > change
        if changes or index in sharp or index == len(grip) - 1:
            groups.append((first, index + 1, wanted if changes else None))
            gripper_now = wanted if changes else gripper_now
            first = index + 1
    return tuple(groups)


def _plan_motion(planner: Planner, waypoints: Array, q_start_rad: Array) -> TimedPath | Violation | None:
    path = tool_path(waypoints, planner.limits, planner.path)
    if path is None:
        return None
    q = joints_along(path, q_start_rad, planner.kinematics, planner.limits, planner.collisions)
    if isinstance(q, Violation):
        return q
    return timed(path, q, planner.limits, planner.timing)
