"""Checks of the limits around the workspace that only a person knows: table, tool height and wall."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from embodied_iqa.base.errors import UserError
from embodied_iqa.runs.cell.cell_check import CellCheck, CheckResult
from embodied_iqa.runs.graph.arm_parameters import ArmParameters

_FAR_M: Final = 0.3
"""A table further below the workspace, or a tool kept further above it, is rarely meant."""


def limit_checks(config: ArmParameters) -> Iterator[CellCheck]:
    """Yield where table and wall are beside the workspace, and how near the tool may come to the table."""
    limits = config.limits
    yield _table_check(config)
    yield CellCheck(
        "arm: tool height",
        f"at least {limits.tool_height_m:g} m above the table",
        f"at most {_FAR_M:g} m (limits.tool_height_m)",
        limits.tool_height_m <= _FAR_M,
        CheckResult.WARNING,
    )
    needed, back_m = "behind the workspace (limits.wall_x_m)", limits.workspace_min_m[0]
    try:
        limits.check_wall()
    except UserError as error:
        yield CellCheck("arm: wall", str(error), needed, is_ok=False)
        return
    found = f"x = {limits.wall_x_m:.3f} m, {back_m - limits.wall_x_m:.3f} m behind the workspace"
    yield CellCheck("arm: wall", found, needed, is_ok=True)


def _table_check(config: ArmParameters) -> CellCheck:
    table_m, lowest_m = config.limits.table_z_m, config.limits.workspace_min_m[2]
    is_above = table_m >= config.limits.workspace_max_m[2]
    below_m = lowest_m - table_m
    side = "below" if below_m >= 0.0 else "above"
    where = "above the workspace" if is_above else f"{abs(below_m):.3f} m {side} the lower corner"
    return CellCheck(
        "arm: table",
        f"top at z = {table_m:.3f} m, {where}",
        f"at most {_FAR_M:g} m below the workspace (limits.table_z_m)",
        below_m <= _FAR_M and not is_above,
        CheckResult.FAILED if is_above else CheckResult.WARNING,
    )
