"""Trajectories for a controller: they reach their target, and brake within the limit if none follows."""

from __future__ import annotations

import numpy as np
import pytest

from embodied_iqa.arm.robot.foreign.commands import BrakingStream, TrajectoryPoint

PERIOD_S, LEAD_S, BRAKING = 0.01, 0.03, 4.0
MS = 1_000_000
VELOCITY = np.array([1.0, -0.5, 0.25, 0.0, 0.0, -1.0])
START = np.array([0.0, -1.57, 1.57, -1.57, -1.57, 0.0])


def moved(steps: int) -> tuple[BrakingStream, tuple[TrajectoryPoint, ...]]:
    """A stream after so many targets at a constant velocity, and its last trajectory."""
    stream = BrakingStream(PERIOD_S, LEAD_S, BRAKING)
    points: tuple[TrajectoryPoint, ...] = ()
    for step in range(steps):
        points = stream.to(START + step * PERIOD_S * VELOCITY, step * 10 * MS)
    return stream, points


def test_an_arm_at_rest_is_held() -> None:
    _stream, (point,) = moved(1)
    assert np.array_equal(point.q_rad, START)
    assert not point.qd_radps.any()
    assert point.after_s == LEAD_S


def test_a_trajectory_passes_its_target_and_brakes_within_the_limit() -> None:
    _stream, (target, end) = moved(3)
    assert np.allclose(target.q_rad, START + 2 * PERIOD_S * VELOCITY)
    assert np.allclose(target.qd_radps, VELOCITY)
    assert target.after_s == LEAD_S
    braking_s = end.after_s - target.after_s
    assert not end.qd_radps.any()
    assert np.allclose(np.abs(VELOCITY).max() / braking_s, BRAKING)
    assert np.allclose(end.q_rad - target.q_rad, 0.5 * braking_s * VELOCITY), "constant deceleration"


def test_targets_that_come_late_are_not_approached_faster() -> None:
    stream, _points = moved(3)
    target, _end = stream.to(START + 3 * PERIOD_S * VELOCITY, 60 * MS)
    assert np.allclose(target.qd_radps, 0.25 * VELOCITY)
    stream, _points = moved(3)
    soon, _end = stream.to(START + 3 * PERIOD_S * VELOCITY, 21 * MS)
    assert np.allclose(soon.qd_radps, VELOCITY), "those that come too soon, not faster than planned"


@pytest.mark.parametrize(("elapsed_ms", "points"), [(0, 2), (10, 2), (29, 2), (30, 1), (100, 1), (5000, 1)])
def test_braking_continues_the_last_trajectory(elapsed_ms: int, points: int) -> None:
    """It never goes back to a target that the arm has passed."""
    stream, last = moved(3)
    braking = stream.brake((20 + elapsed_ms) * MS)
    assert len(braking) == points
    assert np.allclose(braking[-1].q_rad, last[-1].q_rad)
    assert not braking[-1].qd_radps.any()
    left_s = max(last[-1].after_s - elapsed_ms / 1000, LEAD_S if points == 1 else 0.0)
    assert braking[-1].after_s == pytest.approx(left_s)
    assert all(point.after_s > 0.0 for point in braking)


def test_an_arm_that_has_got_no_target_has_nothing_to_brake() -> None:
    stream, _points = moved(3)
    stream.restart()
    assert stream.brake(30 * MS) == ()
    stream, _points = moved(3)
    stream.brake(30 * MS)
    assert stream.brake(30 * MS) == ()
