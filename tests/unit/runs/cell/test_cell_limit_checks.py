"""Table, tool height and wall are shown, and what cannot be meant is named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from embodied_iqa.arm.robot.limits import ArmLimits
from embodied_iqa.runs.cell.cell_check import CheckResult
from embodied_iqa.runs.cell.limit_checks import limit_checks
from embodied_iqa.runs.graph.arm_parameters import ArmParameters

BOX = ArmLimits(workspace_min_m=(-0.75, -0.4, 0.02), workspace_max_m=(-0.25, 0.4, 0.6))


def rows(limits: ArmLimits) -> dict[str, tuple[str, CheckResult]]:
    return {
        check.name: (check.measured, check.result) for check in limit_checks(ArmParameters(limits=limits))
    }


@pytest.mark.parametrize("limits", [BOX, ArmLimits()])
def test_limits_that_go_with_the_workspace_fail_nothing(limits: ArmLimits) -> None:
    assert {result for _, result in rows(limits).values()} == {CheckResult.OK}


def test_each_limit_has_a_row() -> None:
    assert {name: measured for name, (measured, _) in rows(BOX).items()} == {
        "arm: table": "top at z = 0.000 m, 0.020 m below the lower corner",
        "arm: tool height": "at least 0.005 m above the table",
        "arm: wall": "x = -0.950 m, 0.200 m behind the workspace",
    }


@pytest.mark.parametrize(
    ("changes", "row", "words", "expected"),
    [
        ({"table_z_m": -0.5}, "arm: table", "0.520 m below the lower corner", CheckResult.WARNING),
        ({"table_z_m": 0.1}, "arm: table", "0.080 m above the lower corner", CheckResult.OK),
        ({"table_z_m": 0.6}, "arm: table", "top at z = 0.600 m, above the workspace", CheckResult.FAILED),
        ({"tool_height_m": 0.5}, "arm: tool height", "at least 0.5 m", CheckResult.WARNING),
        ({"wall_x_m": -0.5}, "arm: wall", "got 'wall_x_m -0.5, workspace from -0.75'", CheckResult.FAILED),
    ],
)
def test_a_limit_that_cannot_be_meant_is_named(
    changes: dict[str, float], row: str, words: str, expected: CheckResult
) -> None:
    found = rows(replace(BOX, **changes))
    measured, result = found.pop(row)
    assert words in measured
    assert result is expected
    assert {other for _, other in found.values()} == {CheckResult.OK}
