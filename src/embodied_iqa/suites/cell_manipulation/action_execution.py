"""Execution of an action: a straight way to the pose, planned whole before it starts, then the gripper."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.robot.limits import ArmLimits, check_positions
from embodied_iqa.base.kinematics import CollisionModel, choose
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.suites.cell_manipulation.actions import OPENING_M, ActionFault, GridAction
from embodied_iqa.world.manipulation.shapes import FINGER_HALF_WIDTH_M, FINGER_TIP_BEYOND_TOOL_M
from embodied_iqa.world.simulation.rollout import (
    KINEMATICS,
    PERIOD_NS,
    RolloutOptions,
    await_gripper,
    straight_poses,
)
from embodied_iqa.world.simulation.world import World

Array = NDArray[np.float64]
Watch = Callable[[], None]

LIMITS: Final = ArmLimits()
"""The workspace is that of the arm's controller."""
_PAD_M: Final = 0.016
"""Thickness of a finger."""
_JUMP_RAD: Final = np.pi * PERIOD_NS / SECOND_NS
"""Largest step of a joint between two targets: the robot's own speed limit of 180 degrees a second."""
_CHECKED_EVERY: Final = 8
"""Targets between two collision checks: 64 ms."""
_AT_REST_NS: Final = 4 * PERIOD_NS
_COLLISIONS: Final = CollisionModel(KINEMATICS)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an action is not valid.

    Attributes:
        fault: The kind of the fault.
        reason: It in words, with the value and the limit.
    """

    fault: ActionFault
    reason: str


def execute(world: World, action: GridAction, options: RolloutOptions, watch: Watch) -> Refusal | None:
    """Move the tool to the action's pose, then set the gripper.

    Collisions with objects do not count, as in the protocol: the objects are pushed. A pose outside of the
    workspace, out of reach or in collision with the arm or the table is refused before anything moves.

    Args:
        world: The world, which is advanced by the duration of the motion.
        action: The action.
        options: Speed limits.
        watch: Called after each period of 8 ms.

    Returns:
        Why the action was refused or ended early; None if it was completed.
    """
    planned = _plan(world, action, options)
    if isinstance(planned, Refusal):
        return planned
    for q_rad in planned:
        world.set_arm_target(q_rad)
        world.advance(PERIOD_NS)
        watch()
        if world.contact_violation is not None:
            return _stop(world, world.contact_violation)
    if len(planned):
        world.set_arm_target(planned[-1], np.zeros(6))
        world.advance(_AT_REST_NS)
    world.set_gripper_target(action.closing)
    await_gripper(world, options.grip_timeout_s)
    watch()
    return None if world.contact_violation is None else _stop(world, world.contact_violation)


def _stop(world: World, reason: str) -> Refusal:
    """Hold the arm where it is; the next action may move it again."""
    world.set_arm_target(world.q_rad, np.zeros(6))
    world.advance(_AT_REST_NS)
    world.clear_contact_violation()
    return Refusal(ActionFault.PRESSED, reason)


def _plan(world: World, action: GridAction, options: RolloutOptions) -> Array | Refusal:
    """Return ``(N, 6)``, the joint targets of the motion, or why there is none."""
    if action.range_fault:
        return Refusal(ActionFault.GRID, action.range_fault)
    start, target = world.T_base_tool, action.to_pose()
    violation = check_positions(target[None, :3, 3], LIMITS)
    if violation is not None:
        return Refusal(ActionFault.WORKSPACE, violation.reason)
    depth_m = _finger_depth_m(target)
    if depth_m > 0.0:
        return Refusal(ActionFault.WORKSPACE, f"the fingers would be {1000 * depth_m:.0f} mm in the table")
    return _joints(start, target, world.q_rad, options)


def _finger_depth_m(pose: Array) -> float:
    """Return how far the lowest corner of the open fingers is below the table top."""
    half = OPENING_M / 2 + _PAD_M
    corners = np.array(
        [
            (x, y, FINGER_TIP_BEYOND_TOOL_M)
            for x in (-half, half)
            for y in (-1, 1) * np.full(2, FINGER_HALF_WIDTH_M)
        ]
    )
    return -float((corners @ pose[2, :3] + pose[2, 3]).min())


def _joints(start: Array, target: Array, q_rad: Array, options: RolloutOptions) -> Array | Refusal:
    way = []
    for count, pose in enumerate(straight_poses(start, target, options)):
        choice = choose(KINEMATICS, pose, q_rad)
        if choice.q_rad is None:
            return Refusal(ActionFault.UNREACHABLE, choice.reason)
        if choice.distance_rad > _JUMP_RAD:
            return Refusal(ActionFault.UNREACHABLE, "a joint would turn faster than 180 degrees a second")
        q_rad = choice.q_rad
        way.append(q_rad)
        hit = _COLLISIONS(q_rad) if count % _CHECKED_EVERY == 0 else None
        if hit is not None:
            return Refusal(ActionFault.COLLISION, hit)
    hit = _COLLISIONS(q_rad)
    return np.array(way).reshape(-1, 6) if hit is None else Refusal(ActionFault.COLLISION, hit)
