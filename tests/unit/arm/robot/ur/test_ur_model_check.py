"""Only the named model is accepted: by version and pose, with and without the controller's tool offset."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from embodied_iqa.arm.robot.ur.messages import Refusal
from embodied_iqa.arm.robot.ur.model_check import RefusedArmError, check_model
from embodied_iqa.arm.robot.ur.options import UrOptions
from embodied_iqa.arm.robot.ur.rtde_snapshot import RtdeSnapshot
from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.kinematics import UR5, pose_to_transform, transform_to_pose
from embodied_iqa.base.kinematics.models import NAMED_MODELS, UR_MODELS, ArmModel, flange_pose

TOOL = (0.0, 0.0, 0.2, 0.0, 0.0, 0.0)
TILTED = (0.02, -0.03, 0.15, 0.3, -0.2, 0.1)
Q = (0.3, -1.4, 1.9, -2.0, -1.5, 0.7)
FLANGE = (0.0,) * 6


def _seen(
    model: str = "UR5", offset: tuple[float, ...] = FLANGE, change: tuple[float, ...] = FLANGE
) -> RtdeSnapshot:
    """A controller of a model whose flange is displaced by ``change`` in its own axes."""
    T_base_flange = flange_pose(UR_MODELS[model], Q) @ pose_to_transform(change)
    pose = transform_to_pose(T_base_flange @ pose_to_transform(offset))
    return RtdeSnapshot((3, 15, 8, 106339), Q, tuple(pose.tolist()), offset, 7, "192.0.2.1")


@pytest.mark.parametrize("offset", [FLANGE, TOOL, TILTED])
def test_ur5_is_accepted_with_any_tool(offset: tuple[float, ...]) -> None:
    text = check_model(_seen(offset=offset), TOOL, ArmModel.UR5)
    assert text.startswith("UR5, software 3.15.8.106339")
    assert "0.0 mm and 0.00 degrees" in text


@pytest.mark.parametrize("model", [name for name in UR_MODELS if name != "UR5"])
@pytest.mark.parametrize("offset", [FLANGE, TILTED])
def test_another_model_is_refused_by_name(model: str, offset: tuple[float, ...]) -> None:
    seen = _seen(model, offset)
    with pytest.raises(InputError, match=rf"fits best is that of a {model} \(0\.0 mm") as error:
        check_model(seen, TOOL, ArmModel.UR5)
    text = str(error.value)
    away_m = np.linalg.norm((flange_pose(UR5, Q) - flange_pose(UR_MODELS[model], Q))[:3, 3])
    assert f"deviation {1e3 * away_m:.1f} mm and 0.00 degrees, at most 5.0 mm and 0.50 degrees" in text
    for T in (flange_pose(UR5, Q), flange_pose(UR_MODELS[model], Q)):
        assert ", ".join(f"{value:.4f}" for value in T[:3, 3]) in text


@pytest.mark.parametrize(
    ("change", "accepted"),
    [
        ((0.0, 0.0049, 0.0, 0.0, 0.0, 0.0), True),
        ((0.0, 0.0051, 0.0, 0.0, 0.0, 0.0), False),
        ((0.0, 0.0, 0.0, np.radians(0.49), 0.0, 0.0), True),
        ((0.0, 0.0, 0.0, 0.0, 0.0, np.radians(0.51)), False),
    ],
)
def test_limits(change: tuple[float, ...], accepted: bool) -> None:
    for offset in (FLANGE, TILTED):
        if accepted:
            assert "deviates" in check_model(_seen(offset=offset, change=change), TOOL, ArmModel.UR5)
        else:
            with pytest.raises(InputError, match=r"none of UR3, UR5, .* fits, nearest is UR5"):
                check_model(_seen(offset=offset, change=change), TOOL, ArmModel.UR5)


@pytest.mark.parametrize("version", [(5, 15, 0, 126346), (10, 7, 0, 1), (1, 8, 0, 0)])
def test_another_generation_is_refused_by_its_version(version: tuple[int, int, int, int]) -> None:
    text = ".".join(str(number) for number in version)
    with pytest.raises(
        RefusedArmError, match=rf"that of a UR5e.*expected a CB3, as of the UR5.*'software {text}'"
    ) as error:
        check_model(replace(_seen("UR5e"), version=version), TOOL, ArmModel.UR5)
    assert not error.value.refusal.may_pass, "nothing at its pendant makes it a CB3"
    with pytest.raises(InputError, match="expected a CB3, as of the UR5"):
        check_model(replace(_seen("UR5"), version=version), TOOL, ArmModel.UR5)


def test_controller_that_does_not_report_its_tool_must_have_ours() -> None:
    assert check_model(replace(_seen(offset=TOOL), tool_offset=None), TOOL, ArmModel.UR5)
    with pytest.raises(InputError, match=r"pendant to that of arm_node\.tool_length_m"):
        check_model(replace(_seen(offset=FLANGE), tool_offset=None), TOOL, ArmModel.UR5)
    with pytest.raises(InputError, match="that of a UR5e"):
        check_model(replace(_seen("UR5e", offset=TOOL), tool_offset=None), TOOL, ArmModel.UR5)


@pytest.mark.parametrize(
    "changes",
    [
        {"tool_pose": (np.nan,) * 6},
        {"tool_pose": (0.0,) * 6},
        {"q_rad": (np.nan, *Q[1:])},
        {"tool_offset": (0.0, 0.0, np.inf, 0.0, 0.0, 0.0)},
    ],
)
def test_state_that_says_nothing_is_refused(changes: dict[str, tuple[float, ...]]) -> None:
    with pytest.raises(RefusedArmError, match="does not report where the arm is") as error:
        check_model(replace(_seen(), **changes), TOOL, ArmModel.UR5)
    assert error.value.refusal is Refusal.NO_POSE


def test_joints_without_power_are_named_as_a_cause() -> None:
    with pytest.raises(RefusedArmError, match=r"not powered \(robot mode 3\)") as error:
        check_model(replace(_seen("UR3"), robot_mode=3), TOOL, ArmModel.UR5)
    assert error.value.refusal is Refusal.GEOMETRY


VERSIONS = {False: (3, 15, 8, 106339), True: (5, 15, 0, 126346)}


@pytest.mark.parametrize("actual", NAMED_MODELS)
@pytest.mark.parametrize("named", NAMED_MODELS)
def test_every_model_is_accepted_by_its_own_name_only(actual: ArmModel, named: ArmModel) -> None:
    name = actual.geometry.name
    seen = replace(_seen(name, TILTED), version=VERSIONS[actual.is_e_series])
    if actual is named:
        assert check_model(seen, TOOL, named).startswith(f"{name}, software {seen.version[0]}.15.")
        return
    with pytest.raises(RefusedArmError, match=rf"that of a {name} \(0\.0 mm and 0\.00 degrees\)") as error:
        check_model(seen, TOOL, named)
    assert named.geometry.name in str(error.value)
    assert error.value.refusal.may_pass == (actual.is_e_series == named.is_e_series)


def test_load_beyond_the_model_is_refused() -> None:
    UrOptions(ip="127.0.0.9", payload_kg=12.5).check(ArmModel.UR10E)
    with pytest.raises(
        UsageError, match=r"a UR3e does not carry ur\.payload_kg; expected at most 3 kg; got 3\.5"
    ):
        UrOptions(ip="127.0.0.9", payload_kg=3.5).check(ArmModel.UR3E)
