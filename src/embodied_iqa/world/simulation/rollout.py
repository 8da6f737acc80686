"""Rollouts without ROS: a chunk of increments, or an episode of a VLA, in the simulated world."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embodied_iqa.base.kinematics import (
    chain_increments,
    choose,
    rotation_to_rotvec,
    rotations_along,
)
from embodied_iqa.base.kinematics.models import ArmModel
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.imaging.images.frame import Frame
from embodied_iqa.world.protocols import ChunkStatus, Vla, VlaObservation
from embodied_iqa.world.scenes.dimensions import cell_kinematics
from embodied_iqa.world.scenes.snapshot import WorldSnapshot
from embodied_iqa.world.simulation.renderer import SceneRenderer
from embodied_iqa.world.simulation.success import task_success
from embodied_iqa.world.simulation.world import World
from embodied_iqa.world.tasks.instruction import Instruction

Delivery: TypeAlias = Callable[[Frame, int], Frame]
"""A camera: from a rendered frame and the seed of its scene to the frame that it delivers."""

Array = NDArray[np.float64]

PERIOD_NS: Final = 8_000_000
"""125 Hz, the UR5's servo rate."""
KINEMATICS: Final = cell_kinematics(ArmModel.UR5)
"""The arm with its tool."""


@dataclass(frozen=True, slots=True)
class RolloutOptions:
    """Speed limits and waiting times.

    Attributes:
        tool_speed_mps: Maximum speed of the tool centre point.
        tool_acceleration_mps2: Maximum acceleration of the tool centre point.
        turn_speed_radps: Maximum rate of turn of the tool.
        grip_timeout_s: Maximum wait for the fingers after an increment that moves them.
        settle_s: Rest at the end.
    """

    tool_speed_mps: float = 0.25
    tool_acceleration_mps2: float = 1.2
    turn_speed_radps: float = 1.0
    grip_timeout_s: float = 1.5
    settle_s: float = 0.3


@dataclass(frozen=True, slots=True, eq=False)
class RolloutResult:
    """Result of one chunk.

    Attributes:
        end: The world's state at the end.
        executed: Number of completed increments.
        stopped: Why it ended early (an emergency stop or an unreachable pose), or None.
    """

    end: WorldSnapshot
    executed: int
    stopped: str | None


@dataclass(frozen=True, slots=True)
class EpisodeResult:
    """Result of one episode.

    Attributes:
        success: Whether the task is done, by physics.
        chunks: Number of executed chunks.
        status: The VLA's last status; ACT if it did not finish.
        reason: Its reason, or why the arm stopped.
    """

    success: bool
    chunks: int
    status: ChunkStatus
    reason: str


def rollout(world: World, increments: ArrayLike, options: RolloutOptions | None = None) -> RolloutResult:
    """Move the tool along the increments, chained onto its current pose, each from rest to rest.

    Args:
        world: The world, which is advanced by the duration of the motion.
        increments: ``(K, 7)`` as in `ActionChunk`; the gripper moves with the increment that changes it.
        options: Speed limits.
    """
    options = options or RolloutOptions()
    steps = np.asarray(increments, dtype=np.float64).reshape(-1, 7)
    poses = chain_increments(world.T_base_tool, steps) if len(steps) else np.empty((0, 4, 4))
    pose, q_rad = world.T_base_tool, world.q_rad
    stopped: str | None = None
    executed = 0
    for target, gripper in zip(poses, steps[:, 6], strict=True):
        world.set_gripper_target(float(np.clip(gripper, 0.0, 1.0)))
        q_rad, stopped = _move(world, pose, target, q_rad, options)
        if stopped is not None:
            break
        await_gripper(world, options.grip_timeout_s)
        pose = target
        executed += 1
    world.advance(round(options.settle_s * SECOND_NS / PERIOD_NS) * PERIOD_NS)
    return RolloutResult(world.snapshot(), executed, stopped or world.contact_violation)


def follow(world: World, increments: ArrayLike, period_s: float) -> str | None:
    """Move the tool along increments at a fixed rate, without a stop between them or at their end.

    Args:
        world: The world, which is advanced by the duration of the motion.
        increments: ``(K, 7)`` as in `ActionChunk`, a period each; the gripper takes each state at once.
        period_s: Time of an increment.

    Returns:
        Why it ended early, or None.
    """
    steps = np.asarray(increments, dtype=np.float64).reshape(-1, 7)
    poses = np.concatenate([world.T_base_tool[None], chain_increments(world.T_base_tool, steps)])
    ticks = np.round(np.arange(len(poses)) * period_s * SECOND_NS / PERIOD_NS).astype(int)
    q_rad = world.q_rad
    for index, gripper in enumerate(steps[:, 6]):
        world.set_gripper_target(float(np.clip(gripper, 0.0, 1.0)))
        for pose in _evenly(poses[index], poses[index + 1], int(ticks[index + 1] - ticks[index])):
            q_rad, stopped = _command(world, pose, q_rad)
            if stopped is not None:
                return stopped
    return None


def observe(
    vla: Vla,
    world: World,
    renderer: SceneRenderer,
    task: str,
    step: int,
    *,
    delivered: Delivery | None = None,
) -> VlaObservation:
    """Return what a VLA observes: images of its views, as its cameras deliver them, and the arm's state.

    Args:
        vla: The policy.
        world: The world.
        renderer: Of its scene.
        task: The task.
        step: Number of chunks before.
        delivered: The cameras; None for ideal ones.
    """
    snapshot = world.snapshot()
    frames = {view: renderer.frame(view, snapshot) for view in vla.info.views}
    if delivered is not None:
        frames = {view: delivered(frame, renderer.scene.seed) for view, frame in frames.items()}
    q_rad = world.q_rad if vla.info.joints_of and world.scene.arm is ArmModel.UR5 else None
    return VlaObservation(frames, task, world.T_base_tool, world.gripper, step, q_rad)


def run_episode(
    vla: Vla,
    world: World,
    renderer: SceneRenderer,
    instruction: Instruction,
    *,
    max_chunks: int = 3,
    options: RolloutOptions | None = None,
) -> EpisodeResult:
    """Query the VLA and execute its chunks until it ends, the arm stops, or ``max_chunks`` were executed."""
    start = world.snapshot()
    chunks, status, reason = 0, ChunkStatus.ACT, ""
    for step in range(max_chunks + 1):
        chunk = vla.act(observe(vla, world, renderer, str(instruction), step))
        status, reason = chunk.status, chunk.reason
        if status is not ChunkStatus.ACT or step == max_chunks:
            break
        result = rollout(world, chunk.increments, options)
        chunks += 1
        if result.stopped is not None:
            reason = result.stopped
            break
    success = task_success(world.scene, instruction, start, world.snapshot())
    return EpisodeResult(success and world.contact_violation is None, chunks, status, reason)


def _move(
    world: World, start: Array, target: Array, q_rad: Array, options: RolloutOptions
) -> tuple[Array, str | None]:
    for pose in straight_poses(start, target, options):
        q_rad, stopped = _command(world, pose, q_rad)
        if stopped is not None:
            return q_rad, stopped
    world.set_arm_target(q_rad, np.zeros(6))
    world.advance(4 * PERIOD_NS)
    return q_rad, None


def _command(world: World, pose: Array, q_rad: Array) -> tuple[Array, str | None]:
    """Move the tool to a pose nearby within a period; return its joints, or why it stopped."""
    choice = choose(cell_kinematics(world.scene.arm), pose, q_rad)
    if choice.q_rad is None:
        return q_rad, f"pose out of reach: {choice.reason}"
    world.set_arm_target(choice.q_rad)
    world.advance(PERIOD_NS)
    if world.contact_violation is not None:
        world.set_arm_target(world.q_rad)
        return choice.q_rad, world.contact_violation
    return choice.q_rad, None


def _evenly(start: Array, target: Array, count: int) -> Iterator[Array]:
    """Yield ``count`` poses along a straight line at constant speed."""
    yield from _along(start, target, np.arange(1, count + 1) / count)


def straight_poses(start: Array, target: Array, options: RolloutOptions) -> Iterator[Array]:
    """Yield poses at the servo rate along a straight line with a trapezoidal speed."""
    shift = target[:3, 3] - start[:3, 3]
    turn = rotation_to_rotvec(start[:3, :3].T @ target[:3, :3])
    duration_s, ramp = motion_time(float(np.linalg.norm(shift)), float(np.linalg.norm(turn)), options)
    count = int(np.ceil(duration_s * SECOND_NS / PERIOD_NS))
    yield from _along(start, target, _trapezoid(count, ramp)) if count else ()


def _along(start: Array, target: Array, way: Array) -> Iterator[Array]:
    """Yield poses along a straight line at the given parts of the way."""
    shift = target[:3, 3] - start[:3, 3]
    turn = rotation_to_rotvec(start[:3, :3].T @ target[:3, :3])
    poses = np.zeros((len(way), 4, 4))
    poses[:, :3, :3] = start[:3, :3] @ rotations_along(turn, way)
    poses[:, :3, 3] = start[:3, 3] + way[:, None] * shift
    poses[:, 3, 3] = 1.0
    yield from poses


def motion_time(distance_m: float, angle_rad: float, options: RolloutOptions) -> tuple[float, float]:
    """Return the duration (s) of a straight motion from rest to rest, and the part with rising speed."""
    if distance_m < 1e-6 and angle_rad < 1e-6:
        return 0.0, 0.0
    ramp_s = options.tool_speed_mps / options.tool_acceleration_mps2
    cruise_s = max(distance_m / options.tool_speed_mps, angle_rad / options.turn_speed_radps)
    return cruise_s + ramp_s, ramp_s / (cruise_s + ramp_s)


def _trapezoid(count: int, ramp: float) -> Array:
    """Return the way in (0, 1] at ``count`` equal times; the speed rises and falls in ``ramp`` of them."""
    return trapezoid_way(np.arange(1, count + 1) / count, ramp)


def trapezoid_way(time: Array, ramp: float) -> Array:
    """Return the way in [0, 1] at times in [0, 1] of a motion from rest to rest.

    Args:
        time: ``(n,)``, as a part of the motion's duration.
        ramp: Part of the duration in which the speed rises, and in which it falls.
    """
    ramp = min(ramp, 0.5)
    rise = time**2 / (2 * ramp)
    fall = (1 - ramp) - (1 - time) ** 2 / (2 * ramp)
    way = np.where(time < ramp, rise, np.where(time > 1 - ramp, fall, time - ramp / 2))
    return np.asarray(way / (1 - ramp), dtype=np.float64)


def await_gripper(world: World, timeout_s: float) -> None:
    """Advance the world until the fingers are at rest, at most ``timeout_s`` of simulated time."""
    deadline_ns = world.time_ns + round(timeout_s * SECOND_NS)
    while world.gripper_moving and world.time_ns < deadline_ns:
        world.advance(PERIOD_NS)
