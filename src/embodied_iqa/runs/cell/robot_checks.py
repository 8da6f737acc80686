"""Checks of what a controller says of itself: stops, power, remote control, tool and gripper."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from embodied_iqa.arm.robot.ur.messages import safety_stop, why_no_power, words_of_safety
from embodied_iqa.arm.robot.ur.robot_state import RobotState
from embodied_iqa.runs.cell.cell_check import CellCheck, CheckResult

_LONGEST_M: Final = 0.005
"""Largest distance between the tool centre points of the controller and of the parameters."""


def robot_checks(seen: RobotState, tool_length_m: float) -> Iterator[CellCheck]:
    """Yield the checks of a controller, an emergency stop before what follows from it.

    Args:
        seen: What it says of itself.
        tool_length_m: Tool centre point along the flange's axis, `arm_node.tool_length_m`.
    """
    stop, off = safety_stop(seen.safety_bits), why_no_power(seen.robot_mode)
    safety = stop or words_of_safety(seen.safety_bits) or "no safety stop"
    yield CellCheck("arm: safety mode", safety, "no stop", not stop)
    yield CellCheck("arm: power and brakes", off or "running", "running", not off)
    if seen.is_remote is not None:
        where = "on" if seen.is_remote else "off: the pendant has the control"
        yield CellCheck("arm: remote control", where, "on", seen.is_remote)
    yield _tool_check(seen.tool_offset, tool_length_m)
    if seen.gripper_problem is not None:
        is_there = not seen.gripper_problem
        found = "answers" if is_there else "; ".join(filter(None, (stop or off, seen.gripper_problem)))
        yield CellCheck("gripper", found, "answers", is_there)


def _tool_check(offset: tuple[float, ...] | None, tool_length_m: float) -> CellCheck:
    name = "arm: tool centre point"
    limit = f"(0.000, 0.000, {tool_length_m:.3f}) m (arm_node.tool_length_m) within {1e3 * _LONGEST_M:.0f} mm"
    if offset is None or not np.any(offset[:3]):
        found = "not set at the controller" if offset is not None else "not reported by the controller"
        return CellCheck(name, found, limit, is_ok=False, otherwise=CheckResult.MISSING)
    words = ", ".join(f"{value:.3f}" for value in offset[:3])
    away_m = float(np.linalg.norm(np.subtract(offset[:3], (0.0, 0.0, tool_length_m))))
    return CellCheck(name, f"({words}) m, as set at the controller", limit, away_m <= _LONGEST_M)
