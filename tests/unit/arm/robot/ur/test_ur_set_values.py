"""What a person set at the pendant is compared with the parameters, and never overwritten."""

from __future__ import annotations

import numpy as np
import pytest

from embodied_iqa.arm.robot.ur.messages import Refusal
from embodied_iqa.arm.robot.ur.model_check import RefusedArmError
from embodied_iqa.arm.robot.ur.options import SessionOptions, UrOptions
from embodied_iqa.arm.robot.ur.rtde_snapshot import RtdeSnapshot
from embodied_iqa.arm.robot.ur.set_values import SetValue, check_set_values, tool_set

SIX = (0.0,) * 6
TOOL = (0.0, 0.0, 0.2, 0.0, 0.0, 0.0)


def _check(
    offset: tuple[float, ...] | None, payload_kg: float | None = None, *, wanted_kg: float = 0.0
) -> str:
    seen = RtdeSnapshot((5, 15, 0, 1), SIX, SIX, offset, 7, "192.0.2.1", payload_kg=payload_kg)
    return check_set_values(seen, SessionOptions(UrOptions(payload_kg=wanted_kg), tool_pose=TOOL))


@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        (None, SetValue.UNKNOWN),
        (SIX, SetValue.UNSET),
        (TOOL, SetValue.SAME),
        ((0.003, 0.0, 0.203, 0.0, 0.0, 0.0), SetValue.SAME),
        ((0.004, 0.0, 0.204, 0.0, 0.0, 0.0), SetValue.ANOTHER),
        ((0.0, 0.0, 0.2, 0.0, 0.0, np.radians(0.4)), SetValue.SAME),
        ((0.0, 0.0, 0.2, 0.0, 0.0, np.radians(0.6)), SetValue.ANOTHER),
        ((0.0, 0.0, 0.0, 0.0, 0.0, 0.1), SetValue.ANOTHER),
    ],
)
def test_limits(offset: tuple[float, ...] | None, expected: SetValue) -> None:
    assert tool_set(offset, TOOL) is expected


def test_no_tool_is_that_of_an_arm_without_one() -> None:
    assert tool_set(SIX, SIX) is SetValue.SAME


def test_another_tool_is_refused_until_one_of_both_is_corrected() -> None:
    with pytest.raises(RefusedArmError) as error:
        _check((0.0, 0.0, 0.35, 0.0, 0.0, 0.0))
    assert str(error.value) == (
        "the controller's tool centre point is (0.000, 0.000, 0.350) m, arm_node.tool_length_m says 0.200: "
        "correct one of them"
    )
    assert error.value.refusal is Refusal.SET_VALUES
    assert error.value.refusal.may_pass
    with pytest.raises(RefusedArmError, match=r"0\.200\) m, turned by 90\.0 degrees, arm_node"):
        _check((0.0, 0.0, 0.2, 0.0, 0.0, np.pi / 2.0))


def test_only_an_unset_tool_is_noted() -> None:
    assert _check(TOOL) == ""
    assert _check(None) == "", "the pose that it reports has been compared"
    assert _check(SIX).startswith(
        "no tool centre point is set at the controller: a trial sets (0.000, 0.000,"
    )


@pytest.mark.parametrize(
    ("payload_kg", "wanted_kg", "is_refused"),
    [
        (1.5, 0.9, True),
        (0.92, 0.9, False),
        (1.5, 0.0, False),  # that of the controller is kept
        (0.0, 0.9, False),  # not set there
        (None, 0.9, False),
    ],
)
def test_another_load_is_refused(payload_kg: float | None, wanted_kg: float, is_refused: bool) -> None:
    if not is_refused:
        assert _check(TOOL, payload_kg, wanted_kg=wanted_kg) == ""
        return
    with pytest.raises(RefusedArmError) as error:
        _check(TOOL, payload_kg, wanted_kg=wanted_kg)
    assert str(error.value) == (
        "the controller's payload is 1.50 kg, arm_node.ur.payload_kg says 0.90: correct one of them"
    )
    assert error.value.refusal.may_pass
