"""Inverse kinematics: identities with forward, a peer, unreachable poses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.kinematics import (
    InverseBatch,
    Kinematics,
    Reach,
    pose_to_transform,
    rotation_to_rotvec,
    rotvec_to_rotation,
    tool_along_z,
)

ARM = Kinematics()
TAU = 2 * np.pi
Many = tuple[np.ndarray, np.ndarray, InverseBatch]


def _difference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.abs((a - b + np.pi) % TAU - np.pi)


@pytest.fixture(scope="module")
def many():
    q = np.random.default_rng(0).uniform(-TAU, TAU, (100_000, 6))
    T = ARM.forward(q)
    return q, T, ARM.inverse_batch(T)


def test_the_inverse_contains_the_configuration(many: Many):
    q, _, result = many
    distance = _difference(result.q_rad, q[:, None]).max(axis=2)
    distance[~result.valid] = np.inf
    assert distance.min(axis=1).max() < 1e-8
    assert (result.status == Reach.OK).all()


def test_every_solution_maps_back(many: Many):
    _, T, result = many
    back = ARM.forward(result.q_rad[result.valid])
    expected = np.repeat(T, result.valid.sum(axis=1), axis=0)
    assert np.abs(back[:, :3, 3] - expected[:, :3, 3]).max() < 1e-9
    turn = np.swapaxes(back[:, :3, :3], 1, 2) @ expected[:, :3, :3]
    assert np.linalg.norm(rotation_to_rotvec(turn), axis=1).max() < 1e-9


def test_solutions_are_distinct_and_as_many_as_the_peer_finds(many: Many):
    peer = pytest.importorskip("ur_analytic_ik", reason="publishes no wheel for Python 3.12")
    _, T, result = many
    assert result.valid.sum(axis=1).mean() == pytest.approx(7.15, abs=0.05)
    for n in range(1000):
        mine = result.q_rad[n][result.valid[n]]
        theirs = np.array(peer.ur5.inverse_kinematics(T[n])).reshape(-1, 6)
        assert len(mine) == len(theirs)
        gaps = _difference(mine[:, None], theirs[None]).max(axis=2)
        assert gaps.min(axis=0).max() < 1e-6
        between = _difference(mine[:, None], mine[None]).max(axis=2) + 9 * np.eye(len(mine))
        assert between.min() > 1e-8


def test_single_and_batch_agree(many: Many):
    _, T, result = many
    for n in range(100):
        single = ARM.inverse(T[n])
        np.testing.assert_array_equal(single.branches, np.flatnonzero(result.valid[n]))
        np.testing.assert_array_equal(single.q_rad, result.q_rad[n][result.valid[n]])
        assert single.reason == result.reason(n) == ""


TINY = st.tuples(st.floats(-16, -5), st.sampled_from([-1.0, 1.0])).map(lambda item: item[1] * 10 ** item[0])
ANGLE = st.floats(-np.pi, np.pi)


@settings(max_examples=400, deadline=None)
@given(
    free=st.tuples(ANGLE, ANGLE, ANGLE, ANGLE),
    q3=st.one_of(st.just(0.0), TINY),
    q5=st.one_of(st.just(0.0), TINY),
    turned=st.sampled_from([0.0, np.pi]),
    hold=ANGLE,
)
def test_a_stretched_arm_with_a_singular_wrist_is_solved(
    free: tuple[float, float, float, float], q3: float, q5: float, turned: float, hold: float
):
    q = np.array([free[0], free[1], q3, free[2], q5 + turned, free[3]])
    T = ARM.forward(q[None])
    result = ARM.inverse_batch(T, q6_hold_rad=hold)
    assert result.status[0] == Reach.OK
    back = ARM.forward(result.q_rad[result.valid])
    assert np.abs(back[:, :3, 3] - T[:, :3, 3]).max() < 1e-9
    turn = np.swapaxes(back[:, :3, :3], 1, 2) @ T[:, :3, :3]
    assert np.linalg.norm(rotation_to_rotvec(turn), axis=1).max() < 1e-9


@settings(max_examples=200, deadline=None)
@given(
    free=st.tuples(ANGLE, ANGLE, ANGLE, ANGLE),
    q5=st.one_of(st.just(0.0), TINY),
    beyond_m=st.floats(1e-6, 0.5),
    hold=ANGLE,
)
def test_a_pose_beyond_the_stretched_arm_with_a_singular_wrist_stays_out_of_reach(
    free: tuple[float, float, float, float], q5: float, beyond_m: float, hold: float
):
    """The wrist continues the line of the stretched arm, so no turn of it brings the pose nearer."""
    q = np.array([free[0], free[1], 0.0, np.pi / 2, q5, free[3]])
    frames = ARM.link_frames(q)
    outwards = frames[3, :3, 3] - frames[1, :3, 3]
    if outwards @ (frames[5, :3, 3] - frames[4, :3, 3]) < 0.0:
        q[3] = -np.pi / 2
    T = ARM.forward(q[None])
    T[0, :3, 3] += beyond_m * outwards / np.linalg.norm(outwards)
    assert set(ARM.inverse_batch(T, q6_hold_rad=hold).status) == {Reach.TOO_FAR}


@settings(max_examples=100, deadline=None)
@given(column=st.integers(0, 3), error=st.one_of(st.floats(1e-5, 10), st.floats(-10, -1e-5)))
def test_a_pose_with_a_wrong_last_row_is_refused(column: int, error: float):
    T = ARM.forward(np.array([0.3, -1.2, 1.1, -0.7, 0.9, 0.2]))
    assert ARM.inverse(T).reach is Reach.OK
    T[3, column] += error
    assert ARM.inverse(T).reach is Reach.NOT_RIGID
    assert "last row" in ARM.inverse(T).reason
    assert ARM.inverse_batch(T[None]).status[0] == Reach.NOT_RIGID
    T[3, column] = np.nan
    assert ARM.inverse(T).reach is Reach.NOT_FINITE


def test_the_tool_is_taken_off():
    arm = Kinematics(tool_along_z(0.2))
    q = np.array([0.3, -1.2, 1.4, -1.7, -1.5, 0.2])
    gaps = _difference(arm.inverse(arm.forward(q)).q_rad, q).max(axis=1)
    assert gaps.min() < 1e-9


def _pose(x: float, y: float, z: float) -> np.ndarray:
    return pose_to_transform([x, y, z, np.pi, 0, 0])


@pytest.mark.parametrize(
    ("T", "reach"),
    [
        (_pose(10, 0, 0), Reach.TOO_FAR),
        (_pose(1e200, 1e200, 0), Reach.TOO_FAR),
        (_pose(0.01, 0.02, 0.4), Reach.SHOULDER),
        (np.full((4, 4), np.nan), Reach.NOT_FINITE),
        (np.diag([1.0, 1.0, -1.0, 1.0]), Reach.NOT_RIGID),
        (np.diag([1.0, 1.1, 1.0, 1.0]), Reach.NOT_RIGID),
    ],
)
def test_unreachable_is_empty_with_a_reason(T: np.ndarray, reach: Reach):
    result = ARM.inverse(T)
    assert result.q_rad.shape == (0, 6)
    assert result.reach is reach
    assert result.reason
    batch = ARM.inverse_batch(T[None])
    assert not batch.valid.any()
    assert (batch.q_rad == 0).all()
    assert batch.reason(0) == result.reason


def test_a_wrist_in_the_hole_about_the_shoulder_is_left_out():
    frames = ARM.link_frames([0.3, 0.2, 0.4, 0.5, 1.1, 0.7])
    hole_m = 0.425 - 0.39225  # the folded arm comes no closer to the shoulder's axis
    T, shoulder = frames[6].copy(), frames[1]
    for distance_m, fewer in ((0.9 * hole_m, True), (1.1 * hole_m, False)):
        wanted = shoulder[:3, 3] + distance_m * shoulder[:3, 0] + 0.10915 * shoulder[:3, 2]
        T[:3, 3] = frames[6, :3, 3] + wanted - frames[4, :3, 3]
        result = ARM.inverse(T)
        assert (len(result.q_rad) < 8) == fewer
        assert len(result.q_rad) > 0
        back = ARM.forward(result.q_rad)
        np.testing.assert_allclose(back, np.broadcast_to(T, back.shape), atol=1e-9)


@settings(max_examples=200, deadline=None)
@given(values=st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=16, max_size=16))
def test_no_input_gives_nan(values: list[float]):
    result = ARM.inverse(np.array(values).reshape(4, 4))
    assert np.isfinite(result.q_rad).all()
    assert (result.q_rad.shape[0] == 0) == bool(result.reason)


@pytest.mark.parametrize("q5", [0.0, np.pi])
@pytest.mark.parametrize("hold", [0.0, 0.7, -3.0])
def test_the_wrist_singularity_keeps_theta6(q5: float, hold: float):
    q = np.array([0.4, -1.1, 1.3, -0.6, q5, hold])
    T = ARM.forward(q)
    result = ARM.inverse(T, q6_hold_rad=hold)
    gaps = _difference(result.q_rad, q).max(axis=1)
    assert gaps.min() < 1e-8
    matching = result.q_rad[gaps.argmin()]
    assert matching[5] == pytest.approx(hold, abs=1e-12)
    np.testing.assert_allclose(
        ARM.forward(result.q_rad), np.broadcast_to(T, (len(result.q_rad), 4, 4)), atol=1e-9
    )
    assert len(np.unique(result.branches)) == len(result.q_rad)


@pytest.mark.parametrize("q3", [0.0, np.pi])
def test_at_the_elbow_singularity_two_solutions_become_one(q3: float):
    q = np.array([0.4, -1.1, q3, -0.6, 1.0, 0.3])
    T = ARM.forward(q)
    result = ARM.inverse(T)
    assert _difference(result.q_rad, q).max(axis=1).min() < 1e-6
    np.testing.assert_allclose(
        ARM.forward(result.q_rad), np.broadcast_to(T, (len(result.q_rad), 4, 4)), atol=1e-9
    )
    between = _difference(result.q_rad[:, None], result.q_rad[None]).max(axis=2) + 9 * np.eye(
        len(result.q_rad)
    )
    assert between.min() > 1e-8


def test_at_the_shoulder_singularity_the_pose_is_still_solved():
    d4, d6 = 0.10915, 0.0823
    T = np.eye(4)
    T[:3, :3] = rotvec_to_rotation([0.3, 2.0, -0.4])
    wrist = np.array([d4 * np.cos(0.6), d4 * np.sin(0.6), 0.5])
    T[:3, 3] = wrist + d6 * T[:3, 2]
    result = ARM.inverse(T)
    assert result.reach is Reach.OK
    np.testing.assert_allclose(
        ARM.forward(result.q_rad), np.broadcast_to(T, (len(result.q_rad), 4, 4)), atol=1e-9
    )


def test_branches_are_continuous_along_a_path():
    start = ARM.forward([0.3, -1.2, 1.4, -1.7, -1.5, 0.2])
    poses = np.repeat(start[None], 200, axis=0)
    poses[:, 0, 3] += np.linspace(0, 0.1, 200)
    result = ARM.inverse_batch(poses)
    for branch in np.flatnonzero(result.valid.all(axis=0)):
        assert _difference(result.q_rad[1:, branch], result.q_rad[:-1, branch]).max() < 0.02


def test_bad_shapes_are_usage_errors():
    with pytest.raises(UsageError, match="pose"):
        ARM.inverse(np.eye(3))
    with pytest.raises(UsageError, match="poses"):
        ARM.inverse_batch(np.eye(4))
    with pytest.raises(UsageError, match="theta6"):
        ARM.inverse(np.eye(4), q6_hold_rad=np.nan)
