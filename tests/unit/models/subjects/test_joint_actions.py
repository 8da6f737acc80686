"""Joints of our arm through a policy's convention: seen as measured, commanded as they were meant."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from embodied_iqa.base.kinematics import (
    HOME_Q_RAD,
    TOOL_2F140_M,
    Kinematics,
    increments_between,
    tool_along_z,
)
from embodied_iqa.models.subjects.actions.adapter import arm_joints, joint_targets, joints_seen
from embodied_iqa.models.subjects.actions.convention import Motion
from embodied_iqa.models.subjects.actions.table import convention_of
from embodied_iqa.models.subjects.backends.policies import chunk_from_rows
from embodied_iqa.world.protocols import VlaObservation

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
