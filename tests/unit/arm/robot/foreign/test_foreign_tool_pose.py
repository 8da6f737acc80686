"""An arm behind another driver is of the named model, or it is refused."""

from __future__ import annotations

import numpy as np
import pytest

from embodied_iqa.arm.robot.foreign.tool_pose import ToolPoseCheck
from embodied_iqa.arm.robot.messages import ArmState, GripperState
from embodied_iqa.base.kinematics import tool_along_z
from embodied_iqa.base.kinematics.models import NAMED_MODELS, ArmModel, flange_pose

MS = 1_000_000
Q = np.array([0.3, -1.4, 1.7, -1.9, -1.5, 0.2])
TOOL = tool_along_z(0.2)
HALF_TURN = np.diag([-1.0, -1.0, 1.0, 1.0])


def state(stamp_ns: int = 0, speed_radps: float = 0.0) -> ArmState:
    return ArmState(stamp_ns, Q, np.full(6, speed_radps), GripperState(0.0))


def checked(model: ArmModel, T: np.ndarray, frame: str = "base") -> ToolPoseCheck:
    check = ToolPoseCheck(model, TOOL)
    check.take_pose(frame, T, 10 * MS)
    check.take_state(state(), 12 * MS)
    return check


@pytest.mark.parametrize("model", NAMED_MODELS)
@pytest.mark.parametrize("named", NAMED_MODELS)
def test_each_model_is_told_from_each_other(model: ArmModel, named: ArmModel) -> None:
    check = checked(named, flange_pose(model.geometry, Q) @ TOOL)
    assert check.problem is not None
    if model is named:
        assert check.problem == ""
        assert check.text == "0.0 mm and 0.00 degrees"
    else:
        assert f"not where the kinematics of a {named.geometry.name}" in check.problem
        assert f"fits best is that of a {model.geometry.name}" in check.problem


@pytest.mark.parametrize(("offset_m", "accepted"), [(0.0049, True), (0.0051, False)])
def test_five_millimetres_are_accepted(offset_m: float, accepted: bool) -> None:
    T = flange_pose(ArmModel.UR5E.geometry, Q) @ TOOL
    T[0, 3] += offset_m
    assert (checked(ArmModel.UR5E, T).problem == "") is accepted


def test_base_link_is_turned_by_half_a_turn() -> None:
    T = HALF_TURN @ flange_pose(ArmModel.UR5E.geometry, Q) @ TOOL
    assert checked(ArmModel.UR5E, T, "base_link").problem == ""
    assert checked(ArmModel.UR5E, T, "base").problem
    assert "frame 'world'; available: base, base_link" in str(checked(ArmModel.UR5E, T, "world").problem)


def test_a_pose_of_another_time_or_of_a_moving_arm_decides_nothing() -> None:
    check = ToolPoseCheck(ArmModel.UR5E, TOOL)
    check.take_state(state(), 0)
    check.take_pose("base", flange_pose(ArmModel.UR5E.geometry, Q) @ TOOL, 10 * MS)
    check.take_state(state(), 31 * MS)
    check.take_state(state(speed_radps=0.06), 10 * MS)
    assert check.problem is None
    check.take_state(state(), 30 * MS)
    assert check.problem == ""


def test_an_arm_that_changes_is_noticed_within_a_second() -> None:
    T = flange_pose(ArmModel.UR5E.geometry, Q) @ TOOL
    check = checked(ArmModel.UR5E, T)
    other = flange_pose(ArmModel.UR5.geometry, Q) @ TOOL
    for later_ms in (500, 1013):
        check.take_pose("base", other, later_ms * MS)
        check.take_state(state(), later_ms * MS)
        assert bool(check.problem) is (later_ms > 1000)
    check.restart()
    assert check.problem is None
