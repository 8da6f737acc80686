"""Which model a controller says it is: the dashboard's number and the series decide, then the pose."""

from __future__ import annotations

import numpy as np
import pytest

from embodied_iqa.arm.robot.ur.model_of import model_of, tool_along_z_m
from embodied_iqa.arm.robot.ur.rtde_snapshot import RtdeSnapshot
from embodied_iqa.base.kinematics import home_q_rad, tool_along_z, transform_to_pose
from embodied_iqa.base.kinematics.models import NAMED_MODELS, ArmModel, flange_pose

OFFSET = (0.0, 0.0, 0.2, 0.0, 0.0, 0.0)


def snapshot(model: ArmModel, offset: tuple[float, ...] | None = OFFSET) -> RtdeSnapshot:
    q_rad = home_q_rad(model.geometry)
    pose = transform_to_pose(flange_pose(model.geometry, q_rad) @ tool_along_z(0.2))
    version = (5, 15, 0, 1) if model.is_e_series else (3, 15, 0, 1)
    return RtdeSnapshot(
        version, tuple(np.asarray(q_rad).tolist()), tuple(pose.tolist()), offset, 7, "127.0.0.2"
    )


@pytest.mark.parametrize("model", NAMED_MODELS)
def test_each_model_is_found_with_and_without_its_dashboard(model: ArmModel) -> None:
    assert model_of(snapshot(model), model.number)[0] is model
    found, why = model_of(snapshot(model), None)
    assert found is model
    assert "0.0 mm" in why


def test_what_does_not_agree_is_not_guessed() -> None:
    found, why = model_of(snapshot(ArmModel.UR5E), 10)
    assert found is None
    assert "dashboard: UR10" in why
    assert "pose: ur5e" in why
    assert model_of(snapshot(ArmModel.UR5E, (0.0, 0.0, 0.3, 0.0, 0.0, 0.0)), 5)[0] is None


@pytest.mark.parametrize(
    ("offset", "length_m"),
    [
        (OFFSET, 0.2),
        (None, None),
        ((0.0,) * 6, None),
        ((0.01, 0.0, 0.2, 0.0, 0.0, 0.0), None),
        ((0.0, 0.0, 0.2, 0.1, 0.0, 0.0), None),
    ],
)
def test_only_a_straight_tool_has_a_length(offset: tuple[float, ...] | None, length_m: float | None) -> None:
    assert tool_along_z_m(snapshot(ArmModel.UR5E, offset)) == length_m
