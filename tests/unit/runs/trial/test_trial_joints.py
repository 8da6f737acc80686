"""Joint angles in decisions: only subjects that declare them see and give them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.imaging.images.frame import View, image_frame
from embodied_iqa.models.subjects.backends.alternatives import Alternatives
from embodied_iqa.runs.trial.deciding import DecisionRequest, decide
from embodied_iqa.world.protocols import ActionChunk, ChunkStatus, SubjectInfo, VlaObservation

Q_RAD = np.arange(6.0)
REQUEST = DecisionRequest(5, Source.DISTORTED, 1, 0, "turn", np.eye(4), 0.0, Q_RAD)
FRAMES = {View.TOP: image_frame(np.zeros((4, 4, 3), np.uint8), View.TOP)}


class Turning:
    def __init__(self, joints_of: str, joints_rad: np.ndarray) -> None:
        self.info = SubjectInfo("turning", "1", "turns joints", (View.TOP,), joints_of=joints_of)
        self.joints_rad = joints_rad
        self.saw: np.ndarray | None = None

    def act(self, observation: VlaObservation) -> ActionChunk:
        self.saw = observation.q_rad
        return ActionChunk(ChunkStatus.ACT, np.zeros((2, 7)), "turns", joints_rad=self.joints_rad)


def test_a_subject_that_declares_its_arm_sees_and_commands_joints() -> None:
    vla = Turning("ur5", np.ones((2, 6)))
    record = decide(vla, REQUEST, FRAMES)
    assert record.status is ChunkStatus.ACT
    assert vla.saw is Q_RAD
    assert record.q_rad is Q_RAD
    assert np.array_equal(record.joints_rad, np.ones((2, 6)))


def test_a_subject_that_does_not_declare_it_is_refused_by_name() -> None:
    vla = Turning("", np.ones((2, 6)))
    record = decide(vla, REQUEST, FRAMES)
    assert vla.saw is None
    assert (record.status, record.q_rad, record.joints_rad) == (None, None, None)
    assert "turning gives joint angles and does not declare whose" in record.reason


@pytest.mark.parametrize("joints_rad", [np.ones((3, 6)), np.ones((2, 7)), np.full((2, 6), np.inf)])
def test_malformed_joints_are_a_failed_decision(joints_rad: np.ndarray) -> None:
    record = decide(Turning("ur5", joints_rad), REQUEST, FRAMES)
    assert record.status is None
    assert "expected (2, 6) finite numbers" in record.reason


def test_without_known_joints_a_policy_for_our_arm_is_refused_by_name_before_it_is_asked() -> None:
    unknown = replace(REQUEST, q_rad=None)
    vla = Turning("ur5", np.ones((2, 6)))
    record = decide(vla, unknown, FRAMES)
    assert (record.status, record.joints_rad) == (None, None)
    assert "turning commands the joints of a UR5, and those in its images are not known" in record.reason
    panda = decide(Turning("panda", None), unknown, FRAMES)
    assert panda.status is ChunkStatus.ACT, "it is shown the joints of its own arm"


def test_joints_of_another_arm_are_refused_by_name() -> None:
    record = decide(Turning("panda", np.ones((2, 6))), REQUEST, FRAMES)
    assert record.status is None
    assert "turning gives joint angles of another arm; expected ur5; got 'panda'" in record.reason


def test_of_policies_that_take_turns_the_one_that_decides_sees_and_commands_joints() -> None:
    first, second = Turning("", None), Turning("ur5", np.ones((2, 6)))
    second.info = replace(second.info, views=(View.SIDE,))
    both = Alternatives("either", [first, second])
    record = decide(both, REQUEST, {View.SIDE: FRAMES[View.TOP]}, turn=1)
    assert second.saw is Q_RAD
    assert np.array_equal(record.joints_rad, np.ones((2, 6)))
