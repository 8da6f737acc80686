"""The emulated program's motions: they respect their limits and end at their targets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embodied_iqa.arm.emulator.motions import MotionImpossibleError, Trapezoid, brake, move_joints, move_line
from embodied_iqa.base.kinematics import HOME_Q_RAD, Kinematics, rotation_to_rotvec

TICK_S = 0.008
HOME = np.array(HOME_Q_RAD)
positive = st.floats(0.01, 10.0)


@given(distance=positive, speed=positive, acceleration=positive)
def test_trapezoid_keeps_its_limits_and_covers_the_whole_way(
    distance: float, speed: float, acceleration: float
) -> None:
    profile = Trapezoid.plan(distance, speed, acceleration)
    times = np.linspace(0.0, profile.duration_s, 401)
    way = np.array([profile.fraction(time) for time in times]) * distance
    step_s = times[1]
    speeds = np.diff(way) / step_s
    assert way[0] == 0.0
    assert way[-1] == pytest.approx(distance)
    assert speeds.min() >= -1e-9
    assert speeds.max() <= speed * (1 + 1e-6)
    assert np.abs(np.diff(speeds)).max() <= acceleration * step_s * (1 + 1e-6) + 1e-9


@given(distance=positive, speed=positive, acceleration=positive)
def test_trapezoid_is_the_fastest_within_its_limits(
    distance: float, speed: float, acceleration: float
) -> None:
    reached = min(speed, np.sqrt(distance * acceleration))
    least_s = distance / reached + reached / acceleration
    assert Trapezoid.plan(distance, speed, acceleration).duration_s == pytest.approx(least_s)


def test_no_way_takes_no_time() -> None:
    assert list(move_joints(HOME, HOME, 1.0, 1.0, lambda: TICK_S)) == []


def test_joints_arrive_exactly_and_together() -> None:
    target = HOME + np.array([0.3, -0.2, 0.1, 0.0, 0.25, -0.4])
    path = np.array(list(move_joints(HOME, target, 1.0, 2.0, lambda: TICK_S)))
    assert np.array_equal(path[-1], target)
    share = (path - HOME)[:, [0, 1, 5]] / (target - HOME)[[0, 1, 5]]
    assert np.ptp(share, axis=1).max() < 1e-12


def test_half_speed_takes_twice_as_long() -> None:
    target = HOME + 0.4
    full = sum(1 for _ in move_joints(HOME, target, 1.0, 2.0, lambda: TICK_S))
    half = sum(1 for _ in move_joints(HOME, target, 1.0, 2.0, lambda: TICK_S / 2))
    assert half == pytest.approx(2 * full, abs=1)


def test_line_is_straight_and_turns_about_one_axis() -> None:
    arm = Kinematics()
    T_from, T_to = arm.forward(HOME), arm.forward(HOME + np.array([0.1, 0.05, -0.05, 0.1, 0.05, 0.2]))
    path = np.array(
        list(move_line(arm, HOME, T_to, lambda way: Trapezoid.plan(way, 0.25, 1.2), lambda: TICK_S))
    )
    poses = arm.forward(path)
    way = T_to[:3, 3] - T_from[:3, 3]
    aside = np.cross(poses[:, :3, 3] - T_from[:3, 3], way / np.linalg.norm(way))
    assert np.linalg.norm(aside, axis=1).max() < 1e-9
    assert np.abs(poses[-1] - T_to).max() < 1e-9
    axis = rotation_to_rotvec(T_from[:3, :3].T @ T_to[:3, :3])
    turns = rotation_to_rotvec(T_from[:3, :3].T @ poses[:, :3, :3])
    assert np.abs(np.cross(turns, axis)).max() < 1e-7


def test_line_out_of_reach_is_impossible() -> None:
    arm = Kinematics()
    T_to = arm.forward(HOME)
    T_to[:3, 3] += [-3.0, 0.0, 0.0]
    with pytest.raises(MotionImpossibleError):
        list(move_line(arm, HOME, T_to, lambda way: Trapezoid.plan(way, 1.0, 5.0), lambda: TICK_S))


def test_braking_ends_at_rest_after_half_the_way_of_full_speed() -> None:
    qd = np.array([1.0, -0.5, 0.0, 0.2, 0.0, 0.1])
    path = np.array(list(brake(HOME, qd, 0.4, lambda: TICK_S)))
    assert path[-1] == pytest.approx(HOME + qd * 0.2)
    steps = np.diff(path[:, 0])
    assert np.all(np.diff(steps) < 0.0)
    assert list(brake(HOME, np.zeros(6), 0.4, lambda: TICK_S)) == []
