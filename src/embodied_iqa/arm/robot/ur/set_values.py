"""Whether tool and load that are set at a controller are those of the parameters.

The limits hold for the tool centre point of the parameters. A person who set another one at the pendant
mounted another tool, or measured it better: it is never overwritten. Only what is not set is set when the arm
is armed.
"""

from __future__ import annotations

import math
from enum import Enum, auto
from typing import Final

import numpy as np

from embodied_iqa.arm.robot.ur.messages import Refusal
from embodied_iqa.arm.robot.ur.model_check import LARGEST_ANGLE_RAD, LARGEST_DISTANCE_M, RefusedArmError
from embodied_iqa.arm.robot.ur.options import SessionOptions
from embodied_iqa.arm.robot.ur.rtde_snapshot import RtdeSnapshot
from embodied_iqa.base.kinematics.models import PoseDeviation
from embodied_iqa.base.kinematics.se3 import pose_to_transform

_LARGEST_LOAD_KG: Final = 0.05
_WRONG_LENGTH: Final = "if the tool has another length, every limit is wrong"


class SetValue(Enum):
    """What a controller has where the parameters have a value."""

    UNKNOWN = auto()
    """It does not report it."""
    UNSET = auto()
    SAME = auto()
    ANOTHER = auto()


def tool_set(offset: tuple[float, ...] | None, tool_pose: tuple[float, ...]) -> SetValue:
    """Compare the active tool centre point with that of the parameters: 5 mm and 0.5 degrees may be between.

    Args:
        offset: ``(6,)`` in the flange's frame (m, rotation vector in rad); None where it is not reported.
        tool_pose: The same of the parameters.
    """
    if offset is None:
        return SetValue.UNKNOWN
    away = PoseDeviation.between(pose_to_transform(tool_pose), pose_to_transform(offset))
    if away.distance_m <= LARGEST_DISTANCE_M and away.angle_rad <= LARGEST_ANGLE_RAD:
        return SetValue.SAME
    return SetValue.ANOTHER if np.any(offset) else SetValue.UNSET


def tool_words(offset: tuple[float, ...]) -> str:
    """Return a tool centre point in words, such as ``(0.000, 0.000, 0.200) m``."""
    turn_rad = math.hypot(*offset[3:])
    turn = f", turned by {math.degrees(turn_rad):.1f} degrees" if turn_rad > LARGEST_ANGLE_RAD else ""
    return f"({', '.join(f'{value:.3f}' for value in offset[:3])}) m{turn}"


def why_another_tool(offset: tuple[float, ...] | None, tool_pose: tuple[float, ...]) -> str:
    """Return that the active tool centre point is not that of the parameters; empty where it is, or unset."""
    if offset is None or tool_set(offset, tool_pose) is not SetValue.ANOTHER:
        return ""
    return (
        f"the controller's tool centre point is {tool_words(offset)}, "
        f"arm_node.tool_length_m says {tool_pose[2]:.3f}: correct one of them"
    )


def unset_tool(tool_pose: tuple[float, ...]) -> str:
    """Return what follows where the controller has no tool centre point."""
    return f"a trial sets {tool_words(tool_pose)}, and {_WRONG_LENGTH}"


def check_set_values(seen: RtdeSnapshot, options: SessionOptions) -> str:
    """Check that arming the arm would overwrite nothing that a person set at the pendant.

    Args:
        seen: State of the controller.
        options: Have the values that arming sets.

    Returns:
        For the log, that the controller has no tool centre point; empty where it has.

    Raises:
        RefusedArmError: The controller has another tool centre point or payload.
    """
    if problem := why_another_tool(seen.tool_offset, options.tool_pose):
        raise RefusedArmError(problem, Refusal.SET_VALUES)
    if problem := why_another_load(seen.payload_kg, options.arm.payload_kg):
        raise RefusedArmError(problem, Refusal.SET_VALUES)
    if tool_set(seen.tool_offset, options.tool_pose) is not SetValue.UNSET:
        return ""
    return f"no tool centre point is set at the controller: {unset_tool(options.tool_pose)}"


def why_another_load(payload_kg: float | None, wanted_kg: float) -> str:
    """Return that the controller has another payload than the parameters; empty where it has not.

    Args:
        payload_kg: That of the controller (kg), 0 where it is not set; None where it is not reported.
        wanted_kg: `ur.payload_kg`; 0 keeps that of the controller.
    """
    if not payload_kg or not wanted_kg or abs(payload_kg - wanted_kg) <= _LARGEST_LOAD_KG:
        return ""
    return (
        f"the controller's payload is {payload_kg:.2f} kg, "
        f"arm_node.ur.payload_kg says {wanted_kg:.2f}: correct one of them"
    )
