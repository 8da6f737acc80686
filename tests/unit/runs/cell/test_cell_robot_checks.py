"""What a controller says of itself fails the check of a cell before a trial does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from embodied_iqa.arm.robot.ur.options import UrOptions
from embodied_iqa.arm.robot.ur.robot_state import RobotState
from embodied_iqa.arm.robot.ur.set_values import unset_tool
from embodied_iqa.runs.cell.cell_check import CheckResult
from embodied_iqa.runs.cell.robot_checks import robot_checks
from embodied_iqa.runs.graph.arm_parameters import ArmParameters

TOOL = (0.0, 0.0, 0.2, 0.0, 0.0, 0.0)
ARM = ArmParameters(tool_length_m=0.2, ur=UrOptions(payload_kg=1.2))
GOOD = RobotState(tool_offset=TOOL, payload_kg=1.2, is_remote=True, gripper_problem="")
EMERGENCY = (1 << 6) | (1 << 7)
LOST = "the gripper at 192.0.2.1:63352 answered '?' to GET STA"


def rows(seen: RobotState) -> dict[str, tuple[str, CheckResult]]:
    return {check.name: (check.measured, check.result) for check in robot_checks(seen, ARM)}


def test_a_robot_that_is_ready_fails_nothing() -> None:
    found = rows(GOOD)
    assert list(found) == [
        "arm: safety mode", "arm: power and brakes", "arm: remote control", "arm: tool centre point",
        "arm: payload", "gripper",
    ]  # fmt: skip
    assert {result for _, result in found.values()} == {CheckResult.OK}
    assert found["arm: safety mode"][0] == "normal mode"


@pytest.mark.parametrize(
    ("changes", "row", "words"),
    [
        (
            {"safety_bits": EMERGENCY},
            "arm: safety mode",
            "the robot made an emergency stop (robot emergency stopped",
        ),
        ({"safety_bits": 1 << 4}, "arm: safety mode", "protective stop (safeguard stopped)"),
        ({"robot_mode": 3}, "arm: power and brakes", "power off"),
        ({"robot_mode": 5}, "arm: power and brakes", "brakes on"),
        ({"is_remote": False}, "arm: remote control", "the pendant has the control"),
        ({"tool_offset": (0.0, 0.0, 0.174, 0.0, 0.0, 0.0)}, "arm: tool centre point", "0.174"),
        ({"tool_offset": (0.0, 0.0, 0.2, 0.0, 0.0, 0.1)}, "arm: tool centre point", "turned by 5.7 degrees"),
        ({"payload_kg": 2.0}, "arm: payload", "2.00 kg, as set at the controller"),
        ({"gripper_problem": LOST}, "gripper", LOST),
    ],
)
def test_each_fault_of_a_robot_fails_its_row(changes: dict[str, object], row: str, words: str) -> None:
    found = rows(replace(GOOD, **changes))  # type: ignore[arg-type]
    measured, result = found.pop(row)
    assert result is CheckResult.FAILED
    assert words in measured
    assert {other for _, other in found.values()} == {CheckResult.OK}


def test_a_lost_gripper_says_the_emergency_stop_first() -> None:
    measured, _ = rows(replace(GOOD, safety_bits=EMERGENCY, gripper_problem=LOST))["gripper"]
    assert measured.startswith("the robot made an emergency stop")
    assert measured.endswith(LOST)


@pytest.mark.parametrize(
    ("offset", "words"),
    [
        (None, "not reported by the controller"),
        (
            (0.0,) * 6,
            f"not set at the controller: {unset_tool(TOOL)}",
        ),
    ],
)
def test_of_a_tool_that_the_controller_does_not_know_is_warned(
    offset: tuple[float, ...] | None, words: str
) -> None:
    found = rows(replace(GOOD, tool_offset=offset))
    assert found["arm: tool centre point"] == (words, CheckResult.WARNING)


def test_a_load_that_is_not_set_is_set_by_a_trial() -> None:
    found = rows(replace(GOOD, payload_kg=0.0))
    assert found["arm: payload"] == ("not set: a trial sets it", CheckResult.OK)


def test_what_is_not_known_or_not_there_has_no_row() -> None:
    found = rows(replace(GOOD, is_remote=None, gripper_problem=None))
    assert not {"arm: remote control", "gripper"} & set(found)
