"""Joints of our arm through a policy's convention: seen as measured, commanded as they were meant."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.kinematics import (
    HOME_Q_RAD,
    TOOL_2F140_M,
    Kinematics,
    increments_between,
    tool_along_z,
)
from embodied_iqa.base.kinematics.models import ArmModel
from embodied_iqa.imaging.images.frame import View, image_frame
from embodied_iqa.models.subjects.actions.adapter import arm_joints, joint_targets, joints_seen
from embodied_iqa.models.subjects.actions.convention import Motion
from embodied_iqa.models.subjects.actions.real_arm import check_joints
from embodied_iqa.models.subjects.actions.table import convention_of
from embodied_iqa.models.subjects.backends.policies import chunk_from_rows
from embodied_iqa.models.subjects.catalogue import Role
from embodied_iqa.models.subjects.reference import parse_vla
from embodied_iqa.models.subjects.registry import make_vla
from embodied_iqa.models.subjects.serving.questions import chunk_to_map, observation_from
from embodied_iqa.models.subjects.serving.served import ServedSubject
from embodied_iqa.world.protocols import ActionChunk, ChunkStatus, SubjectInfo, VlaObservation
from wire_servers import reference_server, serving

KINEMATICS = Kinematics(tool_along_z(TOOL_2F140_M))
Q_RAD = np.array(HOME_Q_RAD) + np.array([0.0, 0.0, 0.0, 0.0, 0.0, 2 * np.pi])
"""A turn of the last joint away from where the inverse kinematics would have it."""
ROWS = np.hstack([np.random.default_rng(0).normal(0, 0.01, (5, 6)), np.zeros((5, 1))])


def seen(q_rad: np.ndarray | None = Q_RAD) -> VlaObservation:
    return VlaObservation({}, "turn", KINEMATICS.forward(Q_RAD), 0.0, 0, q_rad)


def test_a_policy_for_our_arm_sees_the_measured_joints_and_others_those_of_their_own() -> None:
    ours, panda = convention_of("pi0-base"), convention_of("pi0-droid")
    assert joints_seen(ours, seen()) is Q_RAD
    np.testing.assert_array_equal(joints_seen(ours, seen(None)), arm_joints(ours, KINEMATICS.forward(Q_RAD)))
    assert joints_seen(panda, seen()).shape == (7,)
    assert joints_seen(convention_of("pi0-libero"), seen()) is None


@pytest.mark.parametrize("motion", Motion)
def test_the_joints_after_each_row_are_those_that_the_policy_meant(motion: Motion) -> None:
    convention = dataclasses.replace(convention_of("pi0-base"), motion=motion)
    meant = Q_RAD + {Motion.DELTA: np.cumsum(ROWS[:, :6], axis=0)}.get(motion, ROWS[:, :6])
    rows = np.hstack([meant, ROWS[:, 6:]]) if motion is Motion.ABSOLUTE else ROWS
    chunk = chunk_from_rows(rows, convention, seen(), q_rad=joints_seen(convention, seen()))
    np.testing.assert_allclose(chunk.joints_rad, meant, atol=1e-12)
    ours = increments_between(KINEMATICS.forward(np.concatenate([Q_RAD[None], meant])))
    np.testing.assert_allclose(chunk.increments[:, :6], ours, atol=1e-9, err_msg="as arm_node checks it")


def test_without_measured_joints_and_for_other_arms_there_are_no_joint_targets() -> None:
    assert joint_targets(ROWS, convention_of("pi0-base"), seen(None)) is None
    assert joint_targets(np.zeros((2, 8)), convention_of("pi0-droid"), seen()) is None
    assert joint_targets(ROWS, convention_of("pi0-libero"), seen()) is None


FRAME = image_frame(np.full((48, 64, 3), 90, np.uint8), View.TOP)


def shown(q_rad: np.ndarray | None = Q_RAD) -> VlaObservation:
    return dataclasses.replace(seen(q_rad), frames={View.TOP: FRAME, View.WRIST: FRAME})


def served(answer: object) -> ServedSubject:
    """A subject behind our own server that commands the joints of a UR5."""
    info = SubjectInfo("turning", "1", "Turns.", (View.TOP,), rate_hz=20.0, joints_of="ur5")
    return ServedSubject(
        info,
        Role.VLA,
        "",
        lambda message: observation_from(message, info.views),
        lambda questions: [answer(question) for question in questions],
        batches=False,
    )


def turning(observation: VlaObservation) -> dict:
    """Turns the joints that it was shown; without any it moves the tool."""
    rows = np.hstack([ROWS[:, :6] + Q_RAD, ROWS[:, 6:]])
    convention = convention_of("pi0-base")
    return chunk_to_map(
        chunk_from_rows(rows, convention, observation, None, joints_seen(convention, observation))
    )


def test_joints_go_to_a_subject_behind_our_own_server_and_its_targets_come_back() -> None:
    with serving(served(turning)) as port:
        vla = make_vla(parse_vla(f"openpi://127.0.0.1:{port}"))
        chunk, unknown = vla.act(shown()), vla.act(shown(None))
        vla.close()
    assert vla.info.joints_of == "ur5"
    np.testing.assert_array_equal(chunk.joints_rad, ROWS[:, :6] + Q_RAD)
    ours = increments_between(KINEMATICS.forward(np.concatenate([Q_RAD[None], chunk.joints_rad])))
    np.testing.assert_allclose(chunk.increments[:, :6], ours, atol=1e-9, err_msg="as arm_node checks it")
    assert unknown.joints_rad is None


@pytest.mark.parametrize(
    ("joints", "words"),
    [
        (np.zeros((4, 6)), r"wrong joints_rad; expected \(5, 6\) finite numbers; got .*4, 6"),
        (np.full((5, 6), np.nan), r"expected \(5, 6\) finite numbers"),
        ([[0.0] * 6] * 5, "got .*list"),
    ],
)
def test_wrong_joints_of_a_server_never_become_motion(joints: object, words: str) -> None:
    chunk = chunk_to_map(ActionChunk(ChunkStatus.ACT, np.zeros((5, 7)), "turns"))
    with serving(served(lambda _: chunk | {"joints_rad": joints})) as port:
        vla = make_vla(parse_vla(f"openpi://127.0.0.1:{port}"))
        with pytest.raises(InputError, match=words):
            vla.act(shown())
        vla.close()


def test_joints_of_a_ur5_are_for_that_arm_and_tool_alone_simulated_or_real() -> None:
    info = SubjectInfo("turning", "1", "Turns.", (View.TOP,), joints_of="ur5")
    check_joints(info, ArmModel.UR5, TOOL_2F140_M)
    check_joints(dataclasses.replace(info, joints_of="panda"), ArmModel.UR5E, TOOL_2F140_M)
    either = dataclasses.replace(info, joints_of="", parts=(info,))
    for one, model, tool_m in ((info, ArmModel.UR5E, 0.2), (either, ArmModel.UR5, 0.17)):
        with pytest.raises(UsageError, match="turning commands the joints of a UR5 with a tool"):
            check_joints(one, model, tool_m)


@pytest.mark.parametrize("q_rad", [np.zeros(7), np.full(6, np.inf), [0.0] * 6])
def test_wrong_joints_of_a_client_are_refused(q_rad: object) -> None:
    message = {"prompt": "turn", "frames": {}, "T_base_tool": np.eye(4), "q_rad": q_rad}
    with pytest.raises(InputError, match=r"q_rad is wrong; expected \(6,\) finite numbers"):
        observation_from(message, ())


def test_the_recipe_of_a_ur5_on_the_server_of_openpi_is_asked_and_answers_in_joints() -> None:
    """examples/ur5 of openpi: base and wrist image, six joints, gripper; fifty absolute rows of seven."""
    asked, targets = [], np.linspace(Q_RAD, Q_RAD + 0.1, 51)[1:]

    def policy(message: dict) -> dict:
        asked.append(message)
        return {"actions": np.hstack([targets, np.linspace(0.0, 1.0, 50)[:, None]])}

    with reference_server({}, policy) as port:
        vla = make_vla(parse_vla(f"pi0-ur5=openpi://127.0.0.1:{port}"))
        chunk = vla.act(shown())
        vla.close()
    assert (vla.info.joints_of, vla.info.rate_hz, vla.info.views) == ("ur5", 20.0, (View.TOP, View.WRIST))
    assert set(asked[0]) == {"base_rgb", "wrist_rgb", "joints", "gripper", "prompt"}
    np.testing.assert_allclose(asked[0]["joints"], Q_RAD, atol=1e-6)
    np.testing.assert_allclose(chunk.joints_rad, targets, atol=1e-12)
    assert (chunk.increments[0, 6], chunk.increments[-1, 6]) == (0.0, 1.0)
