"""Joint angles along a path: each check of the whole path, on made-up solutions of the inverse."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from arm_bench import HOME

from embodied_iqa.arm.robot import path as path_module
from embodied_iqa.arm.robot.controller import make_controller
from embodied_iqa.arm.robot.limits import ArmLimits, LimitKind, Violation
from embodied_iqa.arm.robot.path import PathOptions, ToolPath, joints_along, tool_path
from embodied_iqa.base.kinematics import Reach

PLANNER = make_controller().planner
LIMITS = ArmLimits()


class Solutions:
    """Kinematics whose inverse is known beforehand, ``(N, 8, 6)``: the arm stands still."""

    def __init__(self, count: int) -> None:
        self.q_rad = np.tile(HOME, (count, 8, 1)) + np.arange(8)[None, :, None]
        self.valid = np.ones((count, 8), bool)
        self.status = np.full(count, int(Reach.OK))

    def inverse_batch(self, T: np.ndarray, _q6_rad: float) -> Any:
        assert len(T) == len(self.status)
        reason = "sample {} is out of reach".format
        return SimpleNamespace(q_rad=self.q_rad, valid=self.valid, status=self.status, reason=reason)

    def smallest_margins(self, q_rad: np.ndarray) -> Any:
        return PLANNER.kinematics.smallest_margins(q_rad)


class Collisions:
    """Notes what is asked about."""

    asked: np.ndarray

    def first_collision(self, q_rad: np.ndarray) -> None:
        self.asked = q_rad


def _joints(solutions: Solutions, collisions: Any = None) -> np.ndarray | Violation:
    count = len(solutions.status)
    T = np.tile(PLANNER.kinematics.forward(HOME), (count, 1, 1))
    path = ToolPath(np.linspace(0.0, 0.1, count), T, np.array([0.1]))
    return joints_along(path, HOME, solutions, LIMITS, collisions or Collisions())


@pytest.mark.parametrize("lost", [0, 7, 19])
def test_the_first_sample_out_of_reach_is_named(lost: int):
    solutions = Solutions(20)
    solutions.status[[lost, 19]] = int(Reach.TOO_FAR)
    assert _joints(solutions) == Violation(LimitKind.UNREACHABLE, f"sample {lost} is out of reach")


@pytest.mark.parametrize("gone", [1, 10, 19])
def test_the_branch_of_the_start_has_to_last(gone: int):
    solutions = Solutions(20)
    solutions.valid[gone, 1:] = False
    assert not isinstance(_joints(solutions), Violation)
    solutions.valid[gone, 0] = False
    assert _joints(solutions) == Violation(LimitKind.SINGULARITY, "the path crosses a singularity")


def test_a_branch_that_is_gone_at_the_start_is_not_taken():
    solutions = Solutions(20)
    solutions.valid[0, 0] = False
    assert _joints(solutions) == Violation(LimitKind.SINGULARITY, "the arm is too close to a singularity")


@pytest.mark.parametrize(("apart_rad", "accepted"), [(0.9e-4, True), (1.5e-4, False)])
def test_the_path_begins_where_the_arm_is(apart_rad: float, *, accepted: bool):
    solutions = Solutions(20)
    solutions.q_rad[:, :, 3] += apart_rad
    assert isinstance(_joints(solutions), Violation) != accepted


@pytest.mark.parametrize(("step_rad", "accepted"), [(0.099, True), (0.101, False), (-0.101, False)])
def test_a_joint_may_turn_a_tenth_of_a_radian_from_sample_to_sample(step_rad: float, *, accepted: bool):
    solutions = Solutions(20)
    solutions.q_rad[12:, :, 0] += step_rad
    found = _joints(solutions)
    if accepted:
        np.testing.assert_allclose(found, solutions.q_rad[:, 0])
    else:
        assert found == Violation(LimitKind.SINGULARITY, "a joint would have to jump")


@pytest.mark.parametrize(("count", "samples"), [(20, [0, 4, 8, 12, 16, 19]), (9, [0, 4, 8])])
def test_every_fourth_sample_and_the_last_are_checked_for_collisions(count: int, samples: list[int]):
    solutions, collisions = Solutions(count), Collisions()
    solutions.q_rad[:, :, 5] += 0.01 * np.arange(count)[:, None]
    found = _joints(solutions, collisions)
    assert not isinstance(found, Violation)
    np.testing.assert_array_equal(collisions.asked, found[samples])


def _poses(*points_m: tuple[float, float, float]) -> np.ndarray:
    poses = np.tile(np.eye(4), (len(points_m), 1, 1))
    poses[:, :3, 3] = points_m
    return poses


def test_a_corner_near_the_end_is_rounded_as_one_near_the_start():
    points = [(0.0, 0.0, 0.0), (0.05, 0.0, 0.0), (0.05, 0.005, 0.0)]
    there, back = (tool_path(_poses(*way), LIMITS, PathOptions()) for way in (points, points[::-1]))
    assert there is not None
    assert back is not None
    np.testing.assert_allclose(there.T_base_tool[:, :3, 3], back.T_base_tool[::-1, :3, 3], atol=1e-12)


@pytest.mark.parametrize(("length_m", "count"), [(0.1, 101), (0.1002, 102), (0.0005, 9), (1e-7, 9)])
def test_samples_are_a_millimetre_apart_at_most(length_m: float, count: int):
    path = tool_path(_poses((0.0, 0.0, 0.0), (length_m, 0.0, 0.0)), LIMITS, PathOptions())
    assert path is not None
    assert len(path.s_m) == count


def test_quaternions_of_one_turn_keep_their_side():
    """Two quaternions stand for each orientation; an average of both kinds would be none."""
    angles = np.linspace(0.0, 9.0, 40)
    quaternions = np.stack([np.sin(angles / 2), 0 * angles, 0 * angles, np.cos(angles / 2)], axis=1)
    flipped = quaternions * np.where(np.arange(40) % 3 == 1, -1.0, 1.0)[:, None]
    np.testing.assert_allclose(path_module.continuous_quaternions(flipped), quaternions, atol=1e-15)


def test_a_faster_turn_counts_as_a_shorter_way():
    poses = _poses((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    poses[1, :2, :2] = [[np.cos(0.5), -np.sin(0.5)], [np.sin(0.5), np.cos(0.5)]]
    path = tool_path(poses, ArmLimits(tool_turn_radps=2.0), PathOptions())
    assert path is not None
    assert path.s_m[-1] == pytest.approx(0.5 * 0.25 / 2.0)
