"""Checks of what a controller says of itself: stops, power, remote control, tool and gripper."""

from __future__ import annotations

from collections.abc import Iterator

from embodied_iqa.arm.robot.ur.messages import safety_stop, why_no_power, words_of_safety
from embodied_iqa.arm.robot.ur.model_check import LARGEST_ANGLE_RAD, LARGEST_DISTANCE_M
from embodied_iqa.arm.robot.ur.robot_state import RobotState
from embodied_iqa.arm.robot.ur.set_values import (
    SetValue,
    tool_set,
    tool_words,
    unset_tool,
    why_another_load,
)
from embodied_iqa.base.kinematics import tool_along_z, transform_to_pose
from embodied_iqa.base.kinematics.models import PoseDeviation
from embodied_iqa.runs.cell.cell_check import CellCheck, CheckResult
from embodied_iqa.runs.graph.arm_parameters import ArmParameters


def robot_checks(seen: RobotState, config: ArmParameters) -> Iterator[CellCheck]:
    """Yield the checks of a controller, an emergency stop before what follows from it.

    Args:
        seen: What it says of itself.
        config: Have the tool centre point and the payload that the controller should have.
    """
    stop, off = safety_stop(seen.safety_bits), why_no_power(seen.robot_mode)
    safety = stop or words_of_safety(seen.safety_bits) or "no safety stop"
    yield CellCheck("arm: safety mode", safety, "no stop", not stop)
    yield CellCheck("arm: power and brakes", off or "running", "running", not off)
    if seen.is_remote is not None:
        where = "on" if seen.is_remote else "off: the pendant has the control"
        yield CellCheck("arm: remote control", where, "on", seen.is_remote)
    yield _tool_check(seen.tool_offset, config.tool_length_m)
    if seen.payload_kg is not None and config.ur.payload_kg:
        yield _load_check(seen.payload_kg, config.ur.payload_kg)
    if seen.gripper_problem is not None:
        is_there = not seen.gripper_problem
        found = "answers" if is_there else "; ".join(filter(None, (stop or off, seen.gripper_problem)))
        yield CellCheck("gripper", found, "answers", is_there)


def _tool_check(offset: tuple[float, ...] | None, tool_length_m: float) -> CellCheck:
    tool_pose = tuple(transform_to_pose(tool_along_z(tool_length_m)).tolist())
    limits = PoseDeviation(LARGEST_DISTANCE_M, LARGEST_ANGLE_RAD)
    needed = f"{tool_words(tool_pose)} (arm_node.tool_length_m) within {limits}"
    is_set, otherwise = tool_set(offset, tool_pose), CheckResult.WARNING
    if offset is None:
        found = "not reported by the controller"
    elif is_set is SetValue.UNSET:
        found = f"not set at the controller: {unset_tool(tool_pose)}"
    else:
        found, otherwise = f"{tool_words(offset)}, as set at the controller", CheckResult.FAILED
    return CellCheck("arm: tool centre point", found, needed, is_set is SetValue.SAME, otherwise)


def _load_check(payload_kg: float, wanted_kg: float) -> CellCheck:
    found = f"{payload_kg:.2f} kg, as set at the controller" if payload_kg else "not set: a trial sets it"
    needed = f"{wanted_kg:.2f} kg (arm_node.ur.payload_kg)"
    return CellCheck("arm: payload", found, needed, not why_another_load(payload_kg, wanted_kg))
