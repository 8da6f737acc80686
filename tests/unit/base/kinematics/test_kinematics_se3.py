"""Rigid transforms against scipy, and the algebra of chained increments."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.kinematics import (
    T_BASE_LINK_BASE,
    chain_increments,
    increments_between,
    invert,
    pose_to_transform,
    rotation_to_rotvec,
    rotations_along,
    rotvec_to_rotation,
    transform_to_pose,
)
from embodied_iqa.base.kinematics.se3 import matrix_to_quaternion, quaternion_to_matrix

angles = st.floats(0.0, np.pi - 1e-9)
directions = st.tuples(*[st.floats(-1, 1)] * 3).filter(lambda v: np.linalg.norm(v) > 1e-3)


def _random_increments(rng: np.random.Generator, count: int) -> np.ndarray:
    return np.hstack(
        [rng.normal(0, 0.05, (count, 3)), rng.normal(0, 0.4, (count, 3)), rng.random((count, 1))]
    )


def test_rotations_agree_with_scipy():
    rotvec = np.random.default_rng(0).normal(0, 2, (5000, 3))
    expected = Rotation.from_rotvec(rotvec)
    np.testing.assert_allclose(rotvec_to_rotation(rotvec), expected.as_matrix(), atol=1e-14)
    np.testing.assert_allclose(rotation_to_rotvec(expected.as_matrix()), expected.as_rotvec(), atol=1e-12)


def test_rotations_along_a_turn_have_the_bits_of_each_alone():
    """A recorded motion is repeated by them: squares of an array and of a number differ in 1 of 6,000."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        turn, parts = rng.normal(size=3) * 10.0 ** rng.uniform(-6, 0.5), rng.uniform(0, 1, 100)
        alone = np.stack([rotvec_to_rotation(part * turn) for part in parts])
        np.testing.assert_array_equal(rotations_along(turn, parts), alone)


@settings(max_examples=300, deadline=None)
@given(
    direction=directions, angle=st.one_of(angles, st.floats(0, 1e-3), st.floats(np.pi - 1e-5, np.pi - 1e-9))
)
def test_rotation_vectors_round_trip_near_zero_and_near_pi(
    direction: tuple[float, float, float], angle: float
):
    rotvec = np.array(direction) / np.linalg.norm(direction) * angle
    np.testing.assert_allclose(rotation_to_rotvec(rotvec_to_rotation(rotvec)), rotvec, atol=1e-12)


@pytest.mark.parametrize("axis", np.eye(3))
def test_half_turns_keep_their_length(axis: np.ndarray):
    found = rotation_to_rotvec(rotvec_to_rotation(np.pi * axis))
    np.testing.assert_allclose(np.abs(found), np.pi * axis, atol=1e-9)


def _rotations() -> Iterator[np.ndarray]:
    """Draw rotations of each kind: any, near half a turn, small, of quarter turns."""
    rng = np.random.default_rng(3)
    for _ in range(300):
        axis = rng.normal(size=3)
        yield Rotation.from_quat(rng.normal(size=4)).as_matrix()
        yield rotvec_to_rotation((np.pi - 10 ** rng.uniform(-12, -1)) * axis / np.linalg.norm(axis))
        yield rotvec_to_rotation(10 ** rng.uniform(-12, 0) * axis)
        yield rotvec_to_rotation(rng.choice([0.0, np.pi / 2, np.pi, -np.pi / 2], 3))


def test_quaternions_are_those_of_scipy_bit_for_bit():
    for R in _rotations():
        quaternion = Rotation.from_matrix(R).as_quat()
        assert matrix_to_quaternion(R) == tuple(quaternion.tolist())
        scaled = (3.7 * quaternion).tolist()
        assert np.array_equal(quaternion_to_matrix(scaled), Rotation.from_quat(scaled).as_matrix())


def test_many_quaternions_are_converted_like_each_of_them():
    quaternions = np.random.default_rng(5).normal(size=(3, 4, 4))
    single = [[quaternion_to_matrix(one) for one in row] for row in quaternions]
    assert np.array_equal(quaternion_to_matrix(quaternions), single)


def test_a_quaternion_of_zeros_is_refused():
    with pytest.raises(UsageError, match="has no direction"):
        quaternion_to_matrix([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])


def test_poses_round_trip_and_invert():
    pose = np.random.default_rng(1).normal(0, 0.8, (7, 3, 6))
    T = pose_to_transform(pose)
    np.testing.assert_allclose(transform_to_pose(T), pose, atol=1e-12)
    np.testing.assert_allclose(invert(T) @ T, np.broadcast_to(np.eye(4), T.shape), atol=1e-14)


def test_a_chain_is_the_product_of_its_steps_in_the_tool_frame():
    rng = np.random.default_rng(2)
    T_0, increments = pose_to_transform(rng.normal(0, 0.5, 6)), _random_increments(rng, 9)
    poses = chain_increments(T_0, increments)
    before = np.concatenate([T_0[None], poses[:-1]])
    moved = np.einsum("kji,kj->ki", before[:, :3, :3], poses[:, :3, 3] - before[:, :3, 3])
    np.testing.assert_allclose(moved, increments[:, :3], atol=1e-12)
    turned = before[:, :3, :3] @ Rotation.from_rotvec(increments[:, 3:6]).as_matrix()
    np.testing.assert_allclose(poses[:, :3, :3], turned, atol=1e-12)
    np.testing.assert_allclose(
        increments_between(np.concatenate([T_0[None], poses])), increments[:, :6], atol=1e-12
    )


def test_chaining_is_associative_and_starts_anywhere():
    rng = np.random.default_rng(3)
    T_0, increments = pose_to_transform(rng.normal(0, 0.5, 6)), _random_increments(rng, 6)
    poses = chain_increments(T_0, increments)
    np.testing.assert_allclose(chain_increments(poses[2], increments[3:]), poses[3:], atol=1e-12)
    assert chain_increments(T_0, np.zeros((0, 7))).shape == (0, 4, 4)


def test_rotvec_is_the_exponential_of_its_cross_matrix():
    x, y, z = rotvec = np.array([0.3, -1.1, 0.7])
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    np.testing.assert_allclose(rotvec_to_rotation(rotvec), expm(K), atol=1e-14)


def test_base_link_is_base_turned_by_half_a_turn():
    np.testing.assert_allclose(T_BASE_LINK_BASE, pose_to_transform([0, 0, 0, 0, 0, np.pi]), atol=1e-15)


def test_wrong_shapes_are_usage_errors():
    with pytest.raises(UsageError, match="increments"):
        chain_increments(np.eye(4), np.zeros((3, 5)))
    with pytest.raises(UsageError, match="transform"):
        invert(np.eye(3))
