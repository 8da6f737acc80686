"""What a UR controller and its gripper say of themselves, read without commanding anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from embodied_iqa.arm.robot.ur.dashboard_model import ask_dashboard
from embodied_iqa.arm.robot.ur.options import UrOptions
from embodied_iqa.arm.robot.ur.robotiq_connection import RobotiqConnection
from embodied_iqa.arm.robot.ur.rtde_snapshot import read_snapshot
from embodied_iqa.base.errors import InputError

_REMOTE: Final = {"true": True, "false": False}
_NORMAL: Final = 1


@dataclass(frozen=True, slots=True)
class RobotState:
    """State of a controller.

    Attributes:
        safety_bits: RTDE's safety_status_bits.
        robot_mode: RTDE's robot_mode; 7 is running.
        tool_offset: ``(6,)``, its tool centre point in the flange's frame (m, rotation vector in rad); None
            where it is not reported.
        is_remote: Whether it is in remote control; None where its dashboard does not say, as on a CB3.
        payload_kg: Mass of tool and load that is set (kg); None where it is not reported.
        gripper_problem: Why the gripper does not answer; empty where it does, None where it was not asked.
    """

    safety_bits: int = _NORMAL
    robot_mode: int = 7
    tool_offset: tuple[float, ...] | None = None
    payload_kg: float | None = None
    is_remote: bool | None = None
    gripper_problem: str | None = None


def read_robot_state(options: UrOptions, deadline_s: float, *, has_gripper: bool) -> RobotState:
    """Read the state of a controller; its gripper is asked for its status and not activated.

    Args:
        options: Addresses and deadlines.
        deadline_s: For the state, and for the dashboard.
        has_gripper: Whether the gripper is asked.

    Raises:
        InputError: The controller sends no state.
    """
    seen = read_snapshot(options.ip, deadline_s)
    remote = ask_dashboard(seen.address, "is in remote control", deadline_s)
    return RobotState(
        safety_bits=seen.safety_bits,
        robot_mode=seen.robot_mode,
        tool_offset=seen.tool_offset,
        payload_kg=seen.payload_kg,
        is_remote=_REMOTE.get(remote.lower()),
        gripper_problem=_gripper_problem(options) if has_gripper else None,
    )


def _gripper_problem(options: UrOptions) -> str:
    try:
        connection = RobotiqConnection(options.ip, options.gripper.port, options.gripper.reply_s)
        try:
            connection.get("STA")
        finally:
            connection.close()
    except InputError as error:
        return str(error)
    return ""
