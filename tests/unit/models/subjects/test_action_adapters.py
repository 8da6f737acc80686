"""A known motion in a policy's convention becomes the known pose in ours, against SciPy and MuJoCo."""

from __future__ import annotations

import dataclasses
from functools import partial

import mujoco
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.kinematics import HOME_Q_RAD, TOOL_2F140_M, Kinematics, chain_increments, tool_along_z
from embodied_iqa.models.subjects.actions.adapter import arm_joints, to_increments
from embodied_iqa.models.subjects.actions.arms import ARMS, arm_of
from embodied_iqa.models.subjects.actions.convention import (
    ActionConvention,
    ActionFrame,
    ActionKind,
    GripperForm,
    Motion,
    ObservationForm,
    RotationForm,
)
from embodied_iqa.models.subjects.actions.rotations import rotations_of
from embodied_iqa.models.subjects.actions.table import CONVENTIONS, OWN, convention_of
from embodied_iqa.models.subjects.catalogue import entries

HALF_TURN = np.diag([-1.0, -1.0, 1.0, 1.0])
CARTESIAN = [item for item in CONVENTIONS.values() if item.kind is ActionKind.CARTESIAN]
JOINTS = [item for item in CONVENTIONS.values() if item.kind is ActionKind.JOINTS]
HOME = Kinematics(tool_along_z(TOOL_2F140_M)).forward(np.array(HOME_Q_RAD))

small = st.floats(-0.3, 0.3)
steps = st.lists(
    st.tuples(*[small] * 3, *[st.floats(-1.2, 1.2)] * 3, st.floats(0, 1)), min_size=1, max_size=5
)


def pose(position: object, rotvec: object):
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = Rotation.from_rotvec(rotvec).as_matrix(), position
    return T


def written(R: np.ndarray, form: RotationForm):
    rotation = Rotation.from_matrix(R)
    return {
        RotationForm.EULER_XYZ: partial(rotation.as_euler, "xyz"),
        RotationForm.ROTVEC: rotation.as_rotvec,
        RotationForm.QUATERNION_XYZW: rotation.as_quat,
        RotationForm.ROT6D: rotation.as_matrix()[:, :2].T.ravel,
    }[form]()


def in_their_words(poses: np.ndarray, states: np.ndarray, convention: ActionConvention):
    """Write tool poses in a policy's convention, from its definition alone."""
    rows = []
    for before, after, state in zip(poses[:-1], poses[1:], states, strict=True):
        T = np.eye(4) if convention.frame is ActionFrame.OWN_BASE else HALF_TURN
        A, B = T @ before, T @ after
        if convention.motion is Motion.ABSOLUTE:
            p, R = B[:3, 3], B[:3, :3]
        elif convention.frame is not ActionFrame.TOOL:
            p, R = B[:3, 3] - A[:3, 3], B[:3, :3] @ A[:3, :3].T
        else:
            step = np.linalg.inv(before) @ after
            p, R = step[:3, 3], step[:3, :3]
        turn = written(R, convention.rotation)
        if len(turn) == 3:
            turn = turn / convention.rotation_scale_rad
        form = convention.gripper
        grip = form.open_at + state * (form.closed_at - form.open_at)
        rows.append([*(p / convention.position_scale_m), *turn, grip])
    return np.array(rows)


def known_motion(start: object, motion: list):
    poses = [start]
    for row in motion:
        poses.append(poses[-1] @ pose(row[:3], row[3:6]))
    return np.array(poses), np.array([row[6] for row in motion])


VARIANTS = [
    dataclasses.replace(OWN, name=f"{motion}-{frame}-{form}", motion=motion, frame=frame, rotation=form)
    for motion in (Motion.DELTA, Motion.ABSOLUTE)
    for frame in ActionFrame
    for form in RotationForm
]


@pytest.mark.parametrize("convention", [*CARTESIAN, *VARIANTS], ids=lambda item: item.name)
@given(motion=steps, start=st.tuples(*[small] * 3, *[st.floats(-1.5, 1.5)] * 3))
@settings(max_examples=25, deadline=None)
def test_a_known_motion_becomes_the_known_pose(convention: ActionConvention, motion: list, start: object):
    poses, states = known_motion(pose(start[:3], start[3:]), motion)
    rows = in_their_words(poses, states, convention)
    increments = to_increments(rows, convention, poses[0], 0.0)
    assert np.allclose(chain_increments(poses[0], increments), poses[1:], atol=1e-9)
    if convention.gripper.keeps_within is None:
        assert np.allclose(increments[:, 6], states, atol=1e-12)


@pytest.mark.parametrize("convention", JOINTS, ids=lambda item: item.name)
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_known_joints_become_the_known_pose(convention: ActionConvention, data: st.DataObject):
    """FK by MuJoCo of the published chain; our tool stands where the policy's does."""
    arm = arm_of(convention.arm)
    offsets = data.draw(
        st.lists(
            st.lists(st.floats(-0.05, 0.05), min_size=convention.joints, max_size=convention.joints),
            min_size=2,
            max_size=4,
        )
    )
    q0 = arm.q_home_rad
    targets = q0 + np.cumsum(offsets, axis=0)
    start = HALF_TURN @ arm.forward(q0)
    rows = targets
    if convention.motion is Motion.DELTA:
        rows = np.diff(np.vstack([q0, targets]), axis=0)
    elif convention.motion is Motion.FROM_START:
        rows = targets - q0
    rows = rows / convention.joint_scale_rad
    rows = np.hstack([rows, np.full((len(rows), 1), convention.gripper.closed_at)])
    if convention.arms == 2:
        still = np.hstack([np.tile(q0, (len(rows), 1)), np.full((len(rows), 1), convention.gripper.open_at)])
        rows = np.hstack([still, rows]) if data.draw(st.booleans()) else np.hstack([rows, still])
        assume(np.abs(np.asarray(offsets)).max() > 1e-3)
    increments = to_increments(rows, convention, start, 0.0, q0)
    expected = HALF_TURN @ np.array([mujoco_pose(convention.arm, q) for q in targets])
    assert np.allclose(chain_increments(start, increments), expected, atol=1e-6)
    assert np.allclose(increments[:, 6], 1.0)


# The chains as published model files give them: the panda in robosuite's MJCF (bodies link1 to link7), the
# vx300s in gym-aloha's; position, quaternion (w, x, y, z) and axis of each joint, then the tool.
S = 0.5**0.5
PUBLISHED = {
    "panda": (
        [
            ("0 0 0.333", "1 0 0 0", "0 0 1"),
            ("0 0 0", f"{S} {-S} 0 0", "0 0 1"),
            ("0 -0.316 0", f"{S} {S} 0 0", "0 0 1"),
            ("0.0825 0 0", f"{S} {S} 0 0", "0 0 1"),
            ("-0.0825 0.384 0", f"{S} {-S} 0 0", "0 0 1"),
            ("0 0 0", f"{S} {S} 0 0", "0 0 1"),
            ("0.088 0 0", f"{S} {S} 0 0", "0 0 1"),
        ],
        ("0 0 0.257", f"{S} 0 0 {S}"),
    ),
    "vx300s": (
        [
            ("0 0 0.079", "1 0 0 0", "0 0 1"),
            ("0 0 0.04805", "1 0 0 0", "0 1 0"),
            ("0.05955 0 0.3", "1 0 0 0", "0 1 0"),
            ("0.2 0 0", "1 0 0 0", "1 0 0"),
            ("0.1 0 0", "1 0 0 0", "0 1 0"),
            ("0.069744 0 0", "1 0 0 0", "1 0 0"),
        ],
        ("0.1072 0 0", "0.5 -0.5 0.5 -0.5"),
    ),
}


def mujoco_model(name: str):
    links, (end, turn) = PUBLISHED[name]
    xml = f'<body pos="{end}" quat="{turn}" name="tool"><geom size=".01"/></body>'
    for position, quaternion, axis in reversed(links):
        xml = (
            f'<body pos="{position}" quat="{quaternion}"><joint axis="{axis}"/>'
            f'<geom size=".01" mass="1"/>{xml}</body>'
        )
    return mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{xml}</worldbody></mujoco>")


def mujoco_pose(name: str, q: np.ndarray):
    if name == "ur5":
        return HALF_TURN @ Kinematics(tool_along_z(TOOL_2F140_M)).forward(q)
    model = mujoco_model(name)
    data = mujoco.MjData(model)
    data.qpos[:] = q
    mujoco.mj_kinematics(model, data)
    T = np.eye(4)
    body = data.body("tool")
    T[:3, :3], T[:3, 3] = body.xmat.reshape(3, 3), body.xpos
    return T


@pytest.mark.parametrize("name", ARMS)
def test_forward_kinematics_are_those_of_the_published_chain(name: str):
    arm, random = arm_of(name), np.random.default_rng(1)
    for q in random.uniform(arm.q_min_rad, arm.q_max_rad, (20, len(arm.axes))):
        assert np.allclose(arm.forward(q), mujoco_pose(name, q), atol=1e-6)


@pytest.mark.parametrize("name", ARMS)
def test_inverse_kinematics_undo_forward(name: str):
    arm, random = arm_of(name), np.random.default_rng(2)
    for _ in range(15):
        q = np.clip(arm.q_home_rad + random.uniform(-0.5, 0.5, len(arm.axes)), arm.q_min_rad, arm.q_max_rad)
        found = arm.inverse(arm.forward(q))
        assert np.allclose(arm.forward(found), arm.forward(q), atol=1e-6)
        assert (found >= arm.q_min_rad).all()
        assert (found <= arm.q_max_rad).all()
        assert np.array_equal(found, arm.inverse(arm.forward(q)))


@pytest.mark.parametrize("name", ARMS)
def test_a_pose_out_of_reach_is_refused(name: str):
    far = np.eye(4)
    far[:3, 3] = 3.0, 0.0, 0.0
    with pytest.raises(InputError, match="is out of reach"):
        arm_of(name).inverse(far)


@pytest.mark.parametrize("convention", JOINTS, ids=lambda item: item.name)
def test_the_arm_stands_with_its_tool_where_ours_is(convention: ActionConvention):
    q = arm_joints(convention, HOME)
    assert np.allclose(HALF_TURN @ arm_of(convention.arm).forward(q), HOME, atol=1e-6)


def test_forward_in_their_base_is_away_from_the_robot_in_ours():
    rows = np.array([[0.1, 0, 0, 0, 0, 0, 1.0]])
    after = chain_increments(HOME, to_increments(rows, convention_of("openvla-bridge"), HOME, 0.0))[0]
    assert np.allclose(after[:3, 3] - HOME[:3, 3], [-0.1, 0, 0])
    assert np.linalg.norm(after[:2, 3]) > np.linalg.norm(HOME[:2, 3])


def test_of_two_arms_the_one_that_moves_more_counts():
    convention = dataclasses.replace(OWN, name="two", arms=2)
    rows = np.zeros((2, 14))
    rows[:, 0], rows[:, 7:10], rows[:, 13] = 0.05, [0.04, 0.04, 0.04], 1.0
    increments = to_increments(rows, convention, HOME, 0.0)
    assert np.allclose(increments[:, :3], 0.04)
    assert np.allclose(increments[:, 6], 1.0)


def test_numbers_behind_the_gripper_are_dropped():
    rows = np.hstack([np.full((3, 7), 0.01), np.full((3, 25), np.nan)])
    assert to_increments(rows, OWN, HOME, 0.0).shape == (3, 7)


def test_a_gripper_that_commands_changes_keeps_its_state_in_between():
    rows = np.zeros((5, 7))
    rows[:, 6] = [0.0, 1.0, 0.05, -1.0, 0.0]
    increments = to_increments(rows, convention_of("rt-1-x"), HOME, 0.3)
    assert increments[:, 6].tolist() == [0.3, 1.0, 1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("name", "value", "state"),
    [
        ("openvla-bridge", 1.0, 0.0),
        ("openvla-bridge", 0.0, 1.0),
        ("pi0-libero", -1.0, 0.0),
        ("pi0-libero", 1.0, 1.0),
        ("pi0-libero", 9.0, 1.0),
        ("increments", 0.25, 0.25),
    ],
)
def test_grippers_open_and_close_as_each_convention_says(name: str, value: object, state: float):
    rows = np.zeros((1, 7))
    rows[0, 6] = value
    assert to_increments(rows, convention_of(name), HOME, 0.5)[0, 6] == state


@pytest.mark.parametrize(
    "rows",
    [
        np.zeros((2, 6)),
        np.zeros((0, 7)),
        np.zeros((1, 0, 7)),
        [],
        np.zeros((2, 2, 7)),
        np.zeros((1001, 7)),
        np.full((1, 7), np.nan),
        np.full((1, 7), np.inf),
        np.array([["a"] * 7]),
        np.full((1, 7), 100.0),
        np.zeros((1, 7), dtype=bool),
    ],
)
def test_actions_that_cannot_be_meant_are_refused(rows: np.ndarray):
    with pytest.raises(InputError):
        to_increments(rows, OWN, HOME, 0.0)


def test_a_single_row_may_come_flat_or_in_a_batch_of_one():
    flat = np.arange(7) / 100
    for rows in (flat, flat[None], flat[None, None]):
        assert np.allclose(to_increments(rows, OWN, HOME, 0.0)[0, :6], flat[:6])


def test_rotations_without_direction_are_refused():
    for form, width in ((RotationForm.QUATERNION_XYZW, 4), (RotationForm.ROT6D, 6)):
        with pytest.raises(InputError):
            rotations_of(np.zeros((1, width)), form)


def test_every_subject_of_the_catalogue_has_a_known_convention():
    for entry in entries():
        if entry.convention:
            assert isinstance(convention_of(entry.convention), ActionConvention)
    with pytest.raises(UsageError, match="pi0-libero"):
        convention_of("nonsense")


def test_two_grippers_at_one_value_are_our_bug():
    with pytest.raises(Exception, match="the same"):
        dataclasses.replace(OWN, gripper=GripperForm(1.0, 1.0), observation=ObservationForm.OWN)
