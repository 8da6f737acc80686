"""Forward kinematics and Jacobian against independent sources."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.kinematics import UR5, Kinematics, pose_to_transform, rotation_to_rotvec, tool_along_z

ARM = Kinematics()
DH = [
    (0.089159, 0, np.pi / 2),
    (0, -0.425, 0),
    (0, -0.39225, 0),
    (0.10915, 0, np.pi / 2),
    (0.09465, 0, -np.pi / 2),
    (0.0823, 0, 0),
]

URDF = [  # rpy, xyz and axis of the joints from base_link on, as ur_description has them (ur5_robot.urdf)
    ((0, 0, 0), (0, 0, 0.089159), (0, 0, 1)),
    ((0, np.pi / 2, 0), (0, 0.13585, 0), (0, 1, 0)),
    ((0, 0, 0), (0, -0.1197, 0.425), (0, 1, 0)),
    ((0, np.pi / 2, 0), (0, 0, 0.39225), (0, 1, 0)),
    ((0, 0, 0), (0, 0.093, 0), (0, 0, 1)),
    ((0, 0, 0), (0, 0, 0.09465), (0, 1, 0)),
]


def _random_q(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-2 * np.pi, 2 * np.pi, (count, 6))


def _max_angle(A: np.ndarray, B: np.ndarray) -> float:
    return float(np.linalg.norm(rotation_to_rotvec(np.swapaxes(A, -1, -2) @ B), axis=-1).max())


def _mujoco_arm() -> mujoco.MjModel:
    """Build the arm as bodies in bodies: body i+1 sits at Tz(d) Tx(a) Rx(alpha) in body i, hinge about z."""
    inner, tail = "", ""
    offset = 'pos="0 0 0"'
    for d, a, alpha in DH:
        inner += f'<body {offset}><joint axis="0 0 1"/><geom size="0.01"/>'
        tail = "</body>" + tail
        offset = f'pos="{a} 0 {d}" euler="{alpha!r} 0 0"'
    xml = f'<worldbody>{inner}<site name="flange" {offset}/>{tail}</worldbody>'
    return mujoco.MjModel.from_xml_string(f'<mujoco><compiler angle="radian"/>{xml}</mujoco>')


def test_forward_agrees_with_the_peer_on_10000_configurations():
    peer = pytest.importorskip("ur_analytic_ik", reason="publishes no wheel for Python 3.12")
    q = _random_q(10_000)
    expected = np.array([peer.ur5.forward_kinematics(*row) for row in q])
    T = ARM.forward(q)
    assert np.abs(T[:, :3, 3] - expected[:, :3, 3]).max() < 1e-9
    assert _max_angle(T[:, :3, :3], expected[:, :3, :3]) < 1e-9


def test_forward_agrees_with_a_tree_of_bodies_in_mujoco():
    model = _mujoco_arm()
    data = mujoco.MjData(model)
    q = _random_q(500, seed=1)
    T = ARM.forward(q)
    for row, expected in zip(q, T, strict=True):
        data.qpos[:] = row
        mujoco.mj_kinematics(model, data)
        np.testing.assert_allclose(data.site_xpos[0], expected[:3, 3], atol=1e-9)
        np.testing.assert_allclose(data.site_xmat[0].reshape(3, 3), expected[:3, :3], atol=1e-9)


def _urdf_forward(q: np.ndarray) -> np.ndarray:
    T = np.broadcast_to(_placed((0, 0, np.pi), (0, 0, 0)), (len(q), 4, 4))
    for joint, (rpy, xyz, axis) in enumerate(URDF):
        turn = np.tile(np.eye(4), (len(q), 1, 1))
        turn[:, :3, :3] = Rotation.from_rotvec(q[:, joint, None] * np.array(axis)).as_matrix()
        T = T @ _placed(rpy, xyz) @ turn
    flange: np.ndarray = T @ _placed((-np.pi / 2, 0, 0), (0, 0.0823, 0))
    return flange


def _placed(rpy: tuple[float, ...], xyz: tuple[float, ...]) -> np.ndarray:
    T = np.eye(4)
    T[:3, :3] = Rotation.from_euler("xyz", rpy).as_matrix()
    T[:3, 3] = xyz
    return T


def test_forward_agrees_with_the_urdf_on_10000_configurations():
    q = _random_q(10_000, seed=2)
    expected, T = _urdf_forward(q), ARM.forward(q)
    assert np.abs(T[:, :3, 3] - expected[:, :3, 3]).max() < 1e-9
    assert _max_angle(T[:, :3, :3], expected[:, :3, :3]) < 1e-9


def test_single_and_batch_and_frames_agree():
    q = _random_q(50, seed=3)
    frames = ARM.link_frames(q)
    np.testing.assert_array_equal(frames[:, 6], ARM.forward(q))
    np.testing.assert_array_equal(ARM.forward(q[7]), frames[7, 6])
    np.testing.assert_array_equal(ARM.link_frames(q[7]), frames[7])
    np.testing.assert_array_equal(frames[:, 0], np.broadcast_to(np.eye(4), (50, 4, 4)))
    T = np.eye(4)
    for joint, (d, a, alpha) in enumerate(DH):
        A = np.eye(4)
        turn = Rotation.from_rotvec([0, 0, q[7, joint]])
        A[:3, :3] = (turn * Rotation.from_rotvec([alpha, 0, 0])).as_matrix()
        A[:3, 3] = turn.apply([a, 0, d])
        T = T @ A
        np.testing.assert_allclose(frames[7, joint + 1], T, atol=1e-14)


def test_the_tool_is_behind_the_flange():
    T_flange_tool = pose_to_transform([0.01, -0.02, 0.2, 0.1, 0.2, 0.3])
    q = _random_q(20, seed=4)
    np.testing.assert_allclose(
        Kinematics(T_flange_tool).forward(q), ARM.forward(q) @ T_flange_tool, atol=1e-14
    )


def test_jacobian_is_the_derivative_of_forward():
    arm = Kinematics(tool_along_z(0.2))
    q, step = _random_q(50, seed=5), 1e-6
    J = arm.jacobian(q)
    R = arm.forward(q)[:, :3, :3]
    for joint in range(6):
        ahead, behind = q.copy(), q.copy()
        ahead[:, joint] += step
        behind[:, joint] -= step
        A, B = arm.forward(ahead), arm.forward(behind)
        linear = (A[:, :3, 3] - B[:, :3, 3]) / (2 * step)
        spin = (A[:, :3, :3] - B[:, :3, :3]) @ np.swapaxes(R, 1, 2) / (2 * step)
        angular = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=1)
        np.testing.assert_allclose(J[:, :3, joint], linear, atol=1e-8)
        np.testing.assert_allclose(J[:, 3:, joint], angular, atol=1e-8)
    np.testing.assert_array_equal(arm.jacobian(q[0]), J[0])


def test_bad_input_is_a_usage_error():
    with pytest.raises(UsageError, match="configuration"):
        ARM.forward(np.zeros(5))
    with pytest.raises(UsageError, match="finite"):
        ARM.forward([0, 0, np.nan, 0, 0, 0])
    with pytest.raises(UsageError, match="rigid"):
        Kinematics(np.diag([1.0, 1.0, 2.0, 1.0]))
    assert UR5.table.shape == (6, 4)


@pytest.mark.parametrize("wrong", [np.eye(3), np.full((4, 4), np.nan), np.zeros((4, 5))])
def test_a_tool_that_is_no_transform_is_a_usage_error(wrong: np.ndarray):
    with pytest.raises(UsageError, match="wrong tool transform"):
        Kinematics(wrong)


@pytest.mark.parametrize("shape", [(4, 4), (2, 3, 4), (2, 4, 3), (1, 2, 4, 4)])
def test_poses_of_another_shape_are_a_usage_error(shape: tuple[int, ...]):
    with pytest.raises(UsageError, match="wrong shape of poses"):
        Kinematics().inverse_batch(np.zeros(shape))
