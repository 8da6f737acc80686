"""The compiled curves of joining beside SciPy's splines and rotations."""

from __future__ import annotations

import numpy as np
import pytest
from arm_bench import HOME
from scipy.interpolate import BPoly, BSpline, CubicSpline
from scipy.spatial.transform import Rotation

from embodied_iqa.arm.robot import joining_kernels as kernels
from embodied_iqa.arm.robot.controller import make_controller
from embodied_iqa.arm.robot.timing import acceleration_left, is_surely_too_fast
from embodied_iqa.base.kinematics import chain_increments

PLANNER = make_controller().planner
NOT_A_KNOT = np.empty(0)


def samples(seed: int, count: int, columns: int = 6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return np.cumsum(rng.uniform(0.005, 0.03, count)), rng.normal(0, 1, (count, columns))


@pytest.mark.parametrize("count", [4, 9, 200])
@pytest.mark.parametrize("clamped", [False, True])
def test_a_spline_is_that_of_scipy(count: int, clamped: bool) -> None:
    x, y = samples(count, count)
    start = np.arange(6.0)
    ends = ((1, start), "not-a-knot") if clamped else "not-a-knot"
    theirs = CubicSpline(x, y, bc_type=ends)
    ours = kernels.spline(x, y, start if clamped else NOT_A_KNOT)
    np.testing.assert_allclose(ours, theirs.c, rtol=1e-9, atol=1e-9 * np.abs(theirs.c).max())
    at = np.linspace(x[0], x[-1], 501)
    np.testing.assert_allclose(CubicSpline.construct_fast(ours, x)(at), theirs(at), atol=1e-9)


@pytest.mark.parametrize("size_rad", [0.0, 1e-5, 0.02, 0.8])
def test_increments_are_chained_as_everywhere(size_rad: float) -> None:
    increments = np.random.default_rng(1).normal(0, 1, (12, 7)) * ([0.01] * 3 + [size_rad] * 3 + [1])
    T = PLANNER.kinematics.forward(HOME)
    chained = kernels.chained(T, increments)
    np.testing.assert_array_equal(chained[0], T)
    np.testing.assert_allclose(chained[1:], chain_increments(T, increments), atol=1e-14)


@pytest.mark.parametrize("seed", range(12))
def test_a_curve_is_scipys_spline_of_positions_and_quaternions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    turns = Rotation.from_rotvec(rng.normal(0, 2, 3)) * Rotation.from_rotvec(rng.normal(0, 0.2, (7, 3)))
    poses = np.tile(np.eye(4), (7, 1, 1))
    poses[:, :3, :3], poses[:, :3, 3] = turns.as_matrix(), rng.normal(0, 1, (7, 3))
    at = np.linspace(0.0, 6.0, 50)
    ours = kernels.curve(poses, at)
    quaternions = turns.as_quat()
    for k in range(1, 7):
        quaternions[k] *= 1.0 if quaternions[k] @ quaternions[k - 1] >= 0.0 else -1.0
    points = np.hstack([poses[:, :3, 3], quaternions])
    points = np.concatenate([2 * points[:1] - points[1:2], points, 2 * points[-1:] - points[-2:-1]])
    smooth = BSpline(np.arange(13.0) - 3.0, points, 3)(at)
    np.testing.assert_allclose(ours[:, :3, 3], smooth[:, :3], atol=1e-12)
    np.testing.assert_allclose(ours[:, :3, :3], Rotation.from_quat(smooth[:, 3:]).as_matrix(), atol=1e-12)
    np.testing.assert_array_equal(ours[:, 3], np.tile([0.0, 0.0, 0.0, 1.0], (50, 1)))
    np.testing.assert_allclose(ours[[0, -1]], poses[[0, -1]], atol=1e-12)


def test_a_blend_begins_with_value_and_derivatives_and_ends_at_rest() -> None:
    offset = np.random.default_rng(2).normal(0, 1, (3, 6))
    u = np.linspace(0.0, 0.3, 3001)
    theirs = BPoly.from_derivatives([0.0, 0.2], [offset, np.zeros((3, 6))])
    faded = kernels.faded(offset, u, 0.2)
    np.testing.assert_allclose(faded, np.where(u[:, None] < 0.2, theirs(u), 0.0), atol=1e-12)


def left(scale: float, seed: int = 3) -> float:
    """What a smooth random motion about home leaves, in a second times ``scale``."""
    rng = np.random.default_rng(seed)
    coarse = np.concatenate([HOME[None], HOME + rng.normal(0, 0.05, (4, 6))])
    u = np.linspace(0.0, scale, 61)
    c = kernels.spline(u, CubicSpline(np.linspace(0.0, scale, 5), coarse)(u), NOT_A_KNOT)
    return acceleration_left(u, c, PLANNER.kinematics, PLANNER.limits, PLANNER.timing)


@pytest.mark.parametrize("seed", range(8))
def test_the_acceleration_left_keeps_all_limits_at_every_path_speed(seed: int) -> None:
    needed = 1.0 / (PLANNER.timing.brake_s - PLANNER.timing.jerk_s)
    scales = np.geomspace(0.3, 12.0, 30)
    found = np.array([left(scale, seed) for scale in scales])
    feasible = np.flatnonzero(found > 0.0)
    assert 0 < feasible.size < len(scales)
    assert (np.diff(feasible) == 1).all(), "what keeps the limits keeps them when it is slower"
    assert feasible[-1] == len(scales) - 1
    assert found[feasible].min() >= needed


def test_what_is_left_is_what_finite_differences_say() -> None:
    limits, scale = PLANNER.limits, 8.0
    most = left(scale)
    rng = np.random.default_rng(3)
    coarse = np.concatenate([HOME[None], HOME + rng.normal(0, 0.05, (4, 6))])
    u = np.linspace(0.0, scale, 40_001)
    q = CubicSpline(np.linspace(0.0, scale, 5), coarse)(u)
    p = PLANNER.kinematics.forward(q)[:, :3, 3]
    step = u[1]
    speeds = np.abs(np.diff(q, axis=0)).max(axis=1) / step, np.linalg.norm(np.diff(p, axis=0), axis=1) / step
    bends = np.abs(np.diff(q, 2, axis=0)).max(axis=1), np.linalg.norm(np.diff(p, 2, axis=0), axis=1)
    for speed, bend, limit in zip(
        speeds, bends, (limits.joint_acceleration_radps2, limits.tool_acceleration_mps2), strict=True
    ):
        assert (bend / step**2 + most * speed[1:]).max() <= limit
    assert speeds[1].max() <= limits.tool_speed_mps
    assert most > 0.0


def test_what_is_surely_too_fast_has_no_spline_that_is_not() -> None:
    rng, limits, timing = np.random.default_rng(4), PLANNER.limits, PLANNER.timing
    found = {True: 0, False: 0}
    for _ in range(400):
        u = np.linspace(0.0, float(rng.uniform(0.2, 2.0)), int(rng.integers(9, 60)))
        coarse = CubicSpline(np.linspace(0.0, u[-1], 5), rng.normal(0, rng.choice([0.02, 0.2]), (5, 6)))
        q = coarse(u) + rng.choice([0.0, 1e-4, 1e-3]) * rng.normal(0, 1, (len(u), 6))
        is_refused = is_surely_too_fast(u, q, limits, timing)
        c = kernels.spline(u, q, coarse(0.0, 1))
        allowed = acceleration_left(u, c, PLANNER.kinematics, limits, timing) > 0.0
        assert not (is_refused and allowed)
        found[is_refused] += 1
    assert min(found.values()) > 50, found
    line = np.linspace(0.0, 1.0, 11)[:, None] * np.ones(6)
    most_radps = 0.97 * limits.joint_speed_radps
    for speed_radps, is_refused in ((0.999 * most_radps, False), (1.001 * most_radps, True)):
        assert is_surely_too_fast(np.linspace(0.0, 1.0, 11) / speed_radps, line, limits, timing) is is_refused
