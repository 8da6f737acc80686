"""Which poses are held against which steps: rows, rates, the arm's own speed."""

from __future__ import annotations

import numpy as np
import pytest

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.kinematics import chain_increments, increments_between
from embodied_iqa.models.subjects.actions.rotations import euler_xyz_to_rotation, rotation_to_euler_xyz
from embodied_iqa.suites.static_benchmark.vla.making import record_expert
from embodied_iqa.suites.static_benchmark.vla.pose_paths import (
    arm_poses,
    between,
    pose_rows,
    poses_at,
    row_poses,
)
from embodied_iqa.suites.static_benchmark.vla.timing import Timing, held_steps
from embodied_iqa.world.scenes.scene import draw_instruction, make_scene
from embodied_iqa.world.simulation.expert import expert_chunk
from embodied_iqa.world.simulation.rollout import RolloutOptions, motion_time
from embodied_iqa.world.simulation.world import World
from embodied_iqa.world.tasks.vocabulary import Verb
from static_trajectories import START, made_trajectory

RNG = np.random.default_rng(11)


def _chunk(rows: np.ndarray) -> np.ndarray:
    steps = increments_between(np.concatenate([START[None], row_poses(rows)]))
    return np.concatenate([steps, rows[:, 6:]], axis=1)


def test_rows_and_poses_are_inverse_and_angles_too() -> None:
    angles = RNG.uniform(-np.pi, np.pi, (200, 3)) * [1.0, 0.49, 1.0]
    assert rotation_to_euler_xyz(euler_xyz_to_rotation(angles)) == pytest.approx(angles)
    locked = euler_xyz_to_rotation(np.array([[0.3, np.pi / 2, 0.5], [0.3, -np.pi / 2, 0.5]]))
    assert euler_xyz_to_rotation(rotation_to_euler_xyz(locked)) == pytest.approx(locked, abs=1e-7)
    rows = made_trajectory(3).rows
    assert row_poses(pose_rows(row_poses(rows), rows[:, 6])) == pytest.approx(row_poses(rows))


@pytest.mark.parametrize("length", [1, 4, 50, 80])
def test_row_k_is_held_against_step_k_as_many_as_both_have(length: int) -> None:
    trajectory = made_trajectory(1)
    rows = np.concatenate([trajectory.rows, np.repeat(trajectory.rows[-1:], 30, axis=0)])[:length]
    held = held_steps(_chunk(rows), trajectory, Timing.STEPS)
    assert len(held.poses) == min(length, 50)
    assert held.errors.position_m.max() < 1e-12
    assert held.errors.wrapped_rad.max() < 1e-9
    assert held.errors.gripper.max() == 0.0


@pytest.mark.parametrize("rate_hz", [5.0, 12.5, 25.0])
def test_a_chunk_at_another_rate_is_resampled_to_the_experts_times(rate_hz: float) -> None:
    trajectory = made_trajectory(2)
    own_s = np.arange(1, int(4.0 * rate_hz) + 1) / rate_hz
    expert_s = np.concatenate([[0.0], trajectory.times_s])
    poses = poses_at(expert_s, np.concatenate([START[None], row_poses(trajectory.rows)]), own_s)
    chunk = _chunk(pose_rows(poses, (own_s > 2.0).astype(float)))
    held = held_steps(chunk, trajectory, Timing.RATE, rate_hz)
    assert len(held.poses) == 50
    assert held.errors.position_m.max() < 1e-9
    half = held_steps(chunk[: len(chunk) // 2], trajectory, Timing.RATE, rate_hz)
    assert len(half.poses) == 25
    wrong = held_steps(chunk, trajectory, Timing.RATE, 2 * rate_hz)
    assert wrong.errors.position_m.max() > 0.01


def test_a_chunk_shorter_than_a_step_is_held_against_the_expert_at_its_end() -> None:
    trajectory = made_trajectory(2)
    expert_s = np.array([0.0, trajectory.times_s[0]])
    poses = np.stack([START, row_poses(trajectory.rows[:1])[0]])
    (pose,) = poses_at(expert_s, poses, np.array([0.05]))
    held = held_steps(_chunk(pose_rows(pose[None], np.zeros(1))), trajectory, Timing.RATE, 20.0)
    assert len(held.poses) == 1
    assert held.errors.position_m.max() < 1e-12


def test_bad_chunks_and_rates_are_refused() -> None:
    trajectory = made_trajectory(0)
    broken = np.zeros((2, 7))
    broken[1, 2] = np.nan
    for chunk, word in ((broken, "not finite"), (np.empty((0, 7)), "no increments"), (np.zeros(7), "no inc")):
        for timing in Timing:
            with pytest.raises(InputError, match=word):
                held_steps(chunk, trajectory, timing, 5.0)
    for rate_hz in (None, 0.0, -1.0, np.inf, np.nan):
        with pytest.raises(InputError, match="no rate"):
            held_steps(np.zeros((2, 7)), trajectory, Timing.RATE, rate_hz)


def test_poses_between_two_are_on_the_line_and_turn_at_a_constant_rate() -> None:
    first, last = row_poses(RNG.uniform(-1, 1, (2, 7)))[:, None]
    parts = np.linspace(0.0, 1.0, 6)
    way = between(np.repeat(first, 6, axis=0), np.repeat(last, 6, axis=0), parts)
    assert way[0] == pytest.approx(first[0])
    assert way[-1] == pytest.approx(last[0])
    moved, turned = np.diff(way[:, :3, 3], axis=0), increments_between(way)[:, 3:]
    assert moved == pytest.approx(np.repeat(moved[:1], 5, axis=0))
    assert turned == pytest.approx(np.repeat(turned[:1], 5, axis=0))


def test_the_arm_reaches_each_waypoint_at_its_speed_limit_and_then_rests() -> None:
    increments = np.array([[0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.05, 0.0, 0.0, 0.0, 0.4, 0.0]])
    options = RolloutOptions()
    ends_s = np.cumsum([motion_time(0.1, 0.0, options)[0], motion_time(0.05, 0.4, options)[0]])
    at_s = np.array([0.0, ends_s[0], ends_s[1] + 0.032, 100.0])
    poses, states = arm_poses(START, 0.0, increments, at_s)
    corners = chain_increments(START, increments)
    assert poses == pytest.approx(np.stack([START, corners[0], corners[1], corners[1]]))
    assert states.tolist() == [0.0] * 4


def test_the_arms_path_is_that_of_the_expert_in_physics() -> None:
    instruction = draw_instruction(Verb.PICK, 5)
    scene = make_scene(5, instruction)
    expert = record_expert(scene, instruction, 50)
    assert expert is not None
    world = World(scene)
    chunk = expert_chunk(scene, world.snapshot(), instruction, world.T_base_tool)
    at_s = np.arange(1, 51) * expert.duration_s / 50
    poses, states = arm_poses(expert.T_base_tool, 0.0, chunk.increments, at_s)
    distance_m = np.linalg.norm(poses[:, :3, 3] - expert.steps[:, :3], axis=1)
    assert np.median(distance_m) < 0.01
    assert np.mean(states == expert.steps[:, 6]) >= 0.9
    assert expert.steps[-1, 2] > 0.1  # raised
