"""Return to the start pose: exact, within every limit, above all objects."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embodied_iqa.arm.robot.controller import make_controller
from embodied_iqa.arm.robot.homing import (
    StartPose,
    distance_to_start,
    start_in_words,
    transfer_height,
    way_back,
    way_in_words,
)
from embodied_iqa.arm.robot.limits import ArmLimits, Violation, check_increments
from embodied_iqa.arm.robot.planning import plan_goal
from embodied_iqa.base.kinematics import chain_increments, rotation_to_rotvec, rotvec_to_rotation

LIMITS = ArmLimits()
DOWN = np.diag([1.0, -1.0, -1.0])
x_m = st.floats(-0.65, -0.35)
y_m = st.floats(-0.25, 0.25)
z_m = st.floats(0.05, 0.6)
yaw_rad = st.floats(-1.0, 1.0)


def pose(x: float, y: float, z: float, yaw: float) -> np.ndarray:
    T = np.eye(4)
    T[:3, :3] = rotvec_to_rotation(np.array([0.0, 0.0, yaw])) @ DOWN
    T[:3, 3] = x, y, z
    return T


poses = st.builds(pose, x_m, y_m, z_m, yaw_rad)


def first_way(start: StartPose, here: np.ndarray, limits: ArmLimits) -> np.ndarray:
    return way_back(start, here, limits, transfer_height(start, here, limits)).increments


@settings(max_examples=200, deadline=None)
@given(start=poses, here=poses, gripper=st.floats(0.0, 1.0))
def test_it_ends_at_the_start_and_breaks_no_step_limit(
    start: np.ndarray, here: np.ndarray, gripper: float
) -> None:
    way = first_way(StartPose(start, gripper), here, LIMITS)
    assert check_increments(way, LIMITS) is None
    passed = chain_increments(here, way)
    assert np.allclose(passed[-1], start, atol=1e-9)
    assert (way[:, 6] == gripper).all()
    assert np.array_equal(way[0, :6], np.zeros(6)), "the gripper opens before anything moves"


@settings(max_examples=200, deadline=None)
@given(start=poses, here=poses)
def test_it_goes_over_and_never_below_its_ends(start: np.ndarray, here: np.ndarray) -> None:
    passed = chain_increments(here, first_way(StartPose(start, 0.0), here, LIMITS))
    low = min(start[2, 3], here[2, 3])
    assert passed[:, 2, 3].min() >= low - 1e-9
    assert passed[:, 2, 3].max() <= LIMITS.workspace_max_m[2] + 1e-9
    moved = np.linalg.norm(np.diff(passed[:, :2, 3], axis=0), axis=1) > 1e-6
    over = passed[1:, 2, 3][moved]
    assert (over >= max(start[2, 3], here[2, 3]) - 1e-9).all()


def test_its_legs_are_named_by_where_the_tool_goes() -> None:
    start, here = StartPose(pose(-0.5, 0.0, 0.2, 0.0), 0.0), pose(-0.4, 0.1, 0.3, 0.5)
    way = way_back(start, here, LIMITS, transfer_height(start, here, LIMITS))
    passed = np.concatenate([here[None], chain_increments(here, way.increments)])
    moved = np.diff(passed[:, :3, 3], axis=0)
    assert way.leg(0) == "", "the gripper goes first"
    for done, (x, y, z) in enumerate(moved[1:], start=1):
        expected = "over" if np.hypot(x, y) > 1e-6 else "up" if z > 0.0 else "down"
        assert way.leg(done) == expected
    assert way.leg(len(moved)) == "down"


@pytest.mark.parametrize(("at_m", "legs"), [(0.0, {"up", "down"}), (0.1, {"over", "down"})])
def test_a_leg_that_is_not_needed_is_not_named(at_m: float, legs: set[str]) -> None:
    """Above the start nothing goes over; at the height of the way nothing goes up."""
    start, here = StartPose(pose(-0.5, 0.0, 0.2, 0.0), 0.0), pose(-0.5 + at_m, 0.0, 0.3, 0.0)
    way = way_back(start, here, LIMITS, 0.3 if at_m else 0.35)
    assert {way.leg(done) for done in range(1, len(way.increments))} == legs


def test_the_arms_planner_takes_it() -> None:
    controller = make_controller(LIMITS)
    q_rad = np.array([-0.3, -1.76, 1.43, -1.24, -1.57, -0.3])
    here = controller.planner.kinematics.forward(q_rad)
    start = here.copy()
    start[:3, 3] += (0.1, 0.15, -0.1)
    plan = plan_goal(controller.planner, first_way(StartPose(start, 0.0), here, LIMITS), q_rad, 1.0)
    assert not isinstance(plan, Violation)
    assert plan[0].motion is None
    assert plan[0].gripper == 0.0


@pytest.mark.parametrize(
    ("shift_m", "turn_rad", "gripper", "words"),
    [
        (0.0, 0.0, 0.0, ""),
        (0.0029, 0.0, 0.04, ""),
        (0.02, 0.0, 0.0, "20 mm"),
        (0.0, 0.1, 0.0, "5.7 degrees"),
        (0.0, 0.0099, 0.0, ""),
        (0.0, 0.0101, 0.0, "0 mm and 0.6 degrees"),
        (0.0031, 0.0, 0.0, "3 mm and 0.0 degrees"),
        (0.0, 0.0, 0.051, "the gripper is at 0.05, not at 0.00"),
        (0.0, 0.0, 0.5, "gripper"),
    ],
)
def test_near_is_near_and_far_is_said(shift_m: float, turn_rad: float, gripper: float, words: str) -> None:
    start = StartPose(pose(-0.5, 0.0, 0.3, 0.0), 0.0)
    here = pose(-0.5 + shift_m, 0.0, 0.3, turn_rad)
    found = distance_to_start(start, here, gripper)
    assert words in found
    assert bool(found) == bool(words)
    assert np.isclose(
        np.linalg.norm(rotation_to_rotvec(here[:3, :3] @ start.T_base_tool[:3, :3].T)), turn_rad
    )


def test_a_gripper_that_was_closed_at_the_start_has_to_be_closed() -> None:
    start = StartPose(pose(-0.5, 0.0, 0.3, 0.0), 1.0)
    assert distance_to_start(start, start.T_base_tool, 0.96) == ""
    expected = "the gripper is at 0.00, not at 1.00 as at the start"
    assert distance_to_start(start, start.T_base_tool, 0.0) == expected


@pytest.mark.parametrize("apart_m", [0.0, 1e-11, 1e-9, 1e-7, 1e-5])
def test_poses_next_to_each_other_are_led_back_too(apart_m: float) -> None:
    start, here = pose(-0.5, 0.1, 0.3, 0.2), pose(-0.5 + apart_m, 0.1, 0.3, 0.2)
    way = first_way(StartPose(start, 0.0), here, LIMITS)
    assert check_increments(way, LIMITS) is None
    np.testing.assert_allclose(chain_increments(here, way)[-1], start, atol=1e-9)


def test_the_way_is_up_over_and_down_in_as_many_steps_as_the_limits_need() -> None:
    """5 cm up, 10 cm over, 25 cm down, at 15 cm a step less a margin of 5 %."""
    here, start = pose(-0.5, 0.0, 0.3, 0.0), pose(-0.5, 0.1, 0.1, 0.0)
    way = first_way(StartPose(start, 0.3), here, LIMITS)
    np.testing.assert_allclose(np.linalg.norm(way[:, :3], axis=1), [0.0, 0.05, 0.1, 0.125, 0.125], atol=1e-12)
    np.testing.assert_allclose(
        chain_increments(here, way)[:, 2, 3], [0.3, 0.35, 0.35, 0.225, 0.1], atol=1e-12
    )
    limit = ArmLimits(workspace_max_m=(-0.2, 0.45, 0.32))
    low = chain_increments(here, first_way(StartPose(start, 0.3), here, limit))
    assert low[:, 2, 3].max() == pytest.approx(0.32)


@given(start=poses, here=poses, stops=st.lists(st.floats(0.0, 1.0), max_size=6))
def test_attempts_that_are_cut_short_do_not_climb(
    start: np.ndarray, here: np.ndarray, stops: list[float]
) -> None:
    """Each goes on over the height of the first one."""
    goal = StartPose(start, 0.0)
    over_m = transfer_height(goal, here, LIMITS)
    highest_m = max(over_m, here[2, 3])
    for share in stops:
        passed = chain_increments(here, way_back(goal, here, LIMITS, over_m).increments)
        assert passed[:, 2, 3].max() <= highest_m + 1e-9
        here = passed[round(share * (len(passed) - 1))]
    end = chain_increments(here, way_back(goal, here, LIMITS, over_m).increments)[-1]
    np.testing.assert_allclose(end, start, atol=1e-9)


def test_the_first_question_names_the_place_and_the_way_back_its_height() -> None:
    start, here = StartPose(pose(-0.5, 0.1, 0.2, 0.0), 0.3), pose(-0.45, 0.1, 0.2, 0.0)
    first = start_in_words(None, here, 0.0)
    assert first.endswith("now the tool at x -0.450, y 0.100, z 0.200 m in base, the gripper at 0.00.")
    later = start_in_words(start, here, 0.3)
    assert "x -0.500, y 0.100, z 0.200 m in base, the gripper at 0.30" in later
    assert "Now the tool is 50 mm and 0.0 degrees from the start: before it moves" in later
    assert "Now" not in start_in_words(start, start.T_base_tool, 0.3)
    assert way_in_words(start, 0.25).startswith(
        "The way back: up to z 0.250 m, over, and down to the tool at"
    )
