"""The arm of a cell as `cell init` asks for it and reads it; each answer is checked at once."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from embodied_iqa.arm.robot.limits import ArmLimits
from embodied_iqa.arm.robot.ur.connecting import connected
from embodied_iqa.arm.robot.ur.dashboard_model import read_model_number
from embodied_iqa.arm.robot.ur.model_of import model_of, tool_along_z_m
from embodied_iqa.arm.robot.ur.options import UrOptions
from embodied_iqa.arm.robot.ur.rtde_snapshot import RtdeSnapshot
from embodied_iqa.base.clock import MONOTONIC
from embodied_iqa.base.config import Scalar, build
from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.kinematics.models import ArmModel
from embodied_iqa.cli.cell.init_options import check_corners
from embodied_iqa.cli.cell.questions import Questions, ask_corners, model_name, number
from embodied_iqa.runs.cell.cell_check import tool_check
from embodied_iqa.runs.cell.cell_file import CellFile
from embodied_iqa.runs.graph.arm_parameters import ArmParameters
from embodied_iqa.runs.graph.node_table import resolve

KnownModel = tuple[ArmModel | None, str]
"""A model, None where it is not known, and why."""

_PORT_S: Final = 1.0
_TYPED: Final = "as given"
_ELBOW_M: Final = 0.15
_BEYOND: Final = (
    f"{_ELBOW_M:g} m beyond the workspace: the whole arm stays at larger x; set it to a nearer wall"
)
_WITHOUT_BOX: Final = "without the workspace a trial refuses the arm"
_WITHOUT_TABLE: Final = "0 m, the height of the base"
_USUAL: Final = ArmLimits()
_WITHOUT_HEIGHT: Final = f"the tool may come as near as {1e3 * _USUAL.tool_height_m:g} mm to the table"
_WITHOUT_WALL: Final = f"the arm may reach back to x = {_USUAL.wall_x_m:g} m"
_SLOW: Final = {"tool_speed_mps": 0.1, "joint_speed_radps": 0.6, "increment_m": 0.1}
_ROBOT: Final = "arm_node.robot"
_MODEL: Final = "arm_node.model"
_PAYLOAD: Final = "arm_node.ur.payload_kg"
_TOOL: Final = "arm_node.tool_length_m"
_LOWER: Final = "arm_node.limits.workspace_min_m"
_UPPER: Final = "arm_node.limits.workspace_max_m"
_TABLE: Final = "arm_node.limits.table_z_m"
_HEIGHT: Final = "arm_node.limits.tool_height_m"
_WALL_X: Final = "arm_node.limits.wall_x_m"
_ASKED: Final = (
    (_TABLE, "Height of the table top in the base [m]", _WITHOUT_TABLE),
    (_HEIGHT, "Smallest height of the tool above the table [m]", _WITHOUT_HEIGHT),
    (_WALL_X, "Wall behind the base, where no part of the arm may go: its x in the base [m]", _WITHOUT_WALL),
)
"""Parameters that only a person knows, their questions, and what holds where they are left out."""


def check_values(values: Mapping[str, object]) -> None:
    """Check the values as a trial does; a model that is left out is for the person to add.

    Raises:
        UserError: They are wrong.
    """
    filled = dict(values)
    if filled.get(_ROBOT) != "none":
        filled.setdefault(_MODEL, str(ArmModel.UR5))
    resolve((), filled, only_reads=True)


def arm_of(values: Mapping[str, object]) -> ArmParameters:
    """Return the arm of what is known so far of a cell.

    Raises:
        UsageError: A value is wrong, the model reaches no part of the workspace, or the wall cuts it.
    """
    start = "arm_node."
    known = {name.removeprefix(start): value for name, value in values.items() if name.startswith(start)}
    arm = build(ArmParameters, known, "arm_node")
    if {_MODEL, _LOWER, _UPPER} <= values.keys():
        arm.limits.check_workspace(arm.model, arm.tool_length_m)
    if {_WALL_X, _LOWER} <= values.keys():
        arm.limits.check_wall()
    return arm


def in_range(file: CellFile, parameter: str) -> Callable[[str], float]:
    """Return what makes a number of an answer that its parameter takes, with what is known of the arm."""

    def parse(text: str) -> float:
        value = number(text)
        arm_of(file.values() | {parameter: value})
        return value

    return parse


@dataclass(frozen=True, slots=True)
class FoundArm:
    """An arm that answers.

    Attributes:
        address: As given.
        seen: Its state.
        model: The model that its controller reports.
    """

    address: str
    seen: RtdeSnapshot
    model: KnownModel

    @classmethod
    def at(cls, address: str, seen: RtdeSnapshot) -> FoundArm:
        """Ask its controller for the model."""
        return cls(address, seen, model_of(seen, read_model_number(seen.address, _PORT_S)))


def check_options(arguments: argparse.Namespace, arm: FoundArm) -> None:
    """Check the options of an arm that answers, before anything else is asked.

    Raises:
        UsageError: The model is another one, or reaches no part of the workspace.
    """
    named, _ = chosen_model(arguments.model, *arm.model)
    length_m = tool_along_z_m(arm.seen) if arguments.tool_length is None else arguments.tool_length
    given = {
        _ROBOT: "ur5",
        _MODEL: None if named is None else str(named),
        _TOOL: length_m,
        _LOWER: arguments.workspace_min if arguments.workspace_max else None,
        _UPPER: arguments.workspace_max if arguments.workspace_min else None,
        _TABLE: arguments.table_z,
        _HEIGHT: arguments.tool_height,
        _WALL_X: arguments.wall_x,
    }
    arm_of({name: value for name, value in given.items() if value is not None})


def tool_outside(values: Mapping[str, object], q_rad: tuple[float, ...]) -> str:
    """Return that the tool is not in the workspace at joint angles ``(6,)`` (rad); empty where it is."""
    if not {_MODEL, _LOWER, _UPPER} <= values.keys():
        return ""
    found = tool_check(q_rad, arm_of(values))
    return "" if found.is_ok else f"the arm is outside of its workspace, move it into it: {found.measured}"


def box_beyond(values: Mapping[str, object]) -> str:
    """Return that the workspace reaches beyond the arm, which limits nothing; empty where it does not."""
    if not {_MODEL, _LOWER, _UPPER} <= values.keys():
        return ""
    arm = arm_of(values)
    beyond = arm.limits.beyond_reach(arm.model, arm.tool_length_m)
    return f"measure the workspace again: {beyond}" if beyond else ""


def box_below(values: Mapping[str, object]) -> str:
    """Return that the workspace reaches below the table, which limits nothing; empty where it does not."""
    if not {_LOWER, _UPPER} <= values.keys():
        return ""
    below = arm_of(values).limits.below_table()
    return f"look at the lower corner of the workspace: {below}" if below else ""


def _set_limit(file: CellFile, name: str, value: Scalar | None, without: str) -> None:
    if value is None:
        file.left_out.append(f"{name}: {without}")
    else:
        file.set(name, value, _TYPED)


def describe_arm(
    file: CellFile, arm: FoundArm | None, arguments: argparse.Namespace, questions: Questions
) -> None:
    """Set the arm, or that there is none."""
    if arm is None:
        file.set("arm_node.robot", "none", _TYPED)
        return
    seen, (read, why) = arm.seen, arm.model
    given = arguments.model
    if given is None and read is None:
        given = questions.ask("Model on the nameplate of the arm, such as ur5e", model_name)
    named, why = chosen_model(given, read, why)
    file.set("arm_node.robot", "ur5", "a UR arm of any model answers")
    file.set("arm_node.ur.ip", arm.address, _TYPED)
    if named is None:
        file.left_out.append(f"arm_node.model, the model on the nameplate ({why})")
    else:
        file.set(_MODEL, str(named), why)
    stood = ", ".join(f"{angle:.4f}" for angle in seen.q_rad)
    file.remarks.append(f"The arm stood at joint angles [{stood}] rad then.")
    length_m = arguments.tool_length
    origin = _TYPED
    if length_m is None:
        read_m = tool_along_z_m(seen)
        question = "From the flange to the tool centre point [m]"
        fitting = in_range(file, _TOOL)
        length_m = questions.ask(question, fitting, read_m)
        origin = "tool centre point that is active in the controller" if length_m == read_m else _TYPED
    if length_m is None:
        file.left_out.append("arm_node.tool_length_m (default 0.2 m: the controller has no straight tool)")
    else:
        file.set(_TOOL, round(float(length_m), 6), origin)
    if seen.payload_kg:
        file.set(_PAYLOAD, round(seen.payload_kg, 3), "payload that is set at the controller")
    else:
        why = "is set at the controller" if seen.payload_kg == 0.0 else "is reported by the controller"
        file.left_out.append(f"{_PAYLOAD}: the mass of gripper and load (none {why})")
    _describe_gripper(file, seen.address)
    describe_limits(file, arguments, questions)


def chosen_model(given: str | None, read: ArmModel | None, why: str) -> tuple[ArmModel | None, str]:
    """Return the model of the arm, and where it is from.

    Raises:
        UsageError: The controller's arm is another one than ``--model`` names.
    """
    if given is None:
        return read, why if read is None else f"from the controller: {why}"
    if read is not None and given != read:
        raise UsageError("--model is not the arm that answers", expected=f"{read} ({why})", got=given)
    return ArmModel(given), f"from the controller: {why}" if read is not None else f"{_TYPED}: {why}"


def _describe_gripper(file: CellFile, address: str) -> None:
    port = UrOptions().gripper.port
    try:
        connected(address, port, _PORT_S, MONOTONIC).close()
    except OSError:
        file.set("arm_node.gripper", "none", f"nothing answers on port {port} of the controller (URCap)")
    else:
        file.set("arm_node.gripper", "robotiq", f"port {port} of the controller (URCap) answers")


def describe_limits(file: CellFile, arguments: argparse.Namespace, questions: Questions) -> None:
    """Set the limits; of the workspace both corners or none, as the other would be of the simulated cell."""

    def is_box(lower: Sequence[float], upper: Sequence[float]) -> None:
        check_corners(lower, upper)
        arm_of(file.values() | {_LOWER: list(lower), _UPPER: list(upper)} | given)

    answers = {_TABLE: arguments.table_z, _HEIGHT: arguments.tool_height, _WALL_X: arguments.wall_x}
    given = {name: value for name, value in answers.items() if value is not None}
    lower, upper = ask_corners(questions, arguments.workspace_min, arguments.workspace_max, is_box)
    _set_limit(file, _LOWER, lower, _WITHOUT_BOX)
    _set_limit(file, _UPPER, upper, _WITHOUT_BOX)
    for name, question, without in _ASKED:
        value = answers[name]
        if value is None:
            value = questions.ask(question, in_range(file, name))
        if value is None and name == _WALL_X and lower is not None and lower[0] - _ELBOW_M < _USUAL.wall_x_m:
            file.set(_WALL_X, round(lower[0] - _ELBOW_M, 3), _BEYOND)
        else:
            _set_limit(file, name, value, without)
    for parameter, slow in _SLOW.items():
        file.set(f"arm_node.limits.{parameter}", slow, "slow and near to begin with; raise it later")
