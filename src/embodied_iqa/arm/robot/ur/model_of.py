"""Which model a controller is that of, as far as it says so itself."""

from __future__ import annotations

import numpy as np

from embodied_iqa.arm.robot.ur.dashboard_model import stated
from embodied_iqa.arm.robot.ur.model_check import LARGEST_ANGLE_RAD, LARGEST_DISTANCE_M, reported_flange
from embodied_iqa.arm.robot.ur.rtde_snapshot import RtdeSnapshot
from embodied_iqa.base.kinematics.models import NAMED_MODELS, ArmModel, PoseDeviation, flange_pose

_E_SERIES = 5
"""Major version of the software from which on a controller is that of an e-Series."""
_STRAIGHT = 1e-4


def model_of(seen: RtdeSnapshot, number: int | None) -> tuple[ArmModel | None, str]:
    """Return the model of an arm, and why it is that one or why it is not known.

    The series follows from the software, the number from the dashboard. Where that has none, the pose of the
    flange decides, if only one model of the series fits it.

    Args:
        seen: State of the controller.
        number: That of the dashboard; None where it states none.

    Raises:
        RefusedArmError: The controller does not report where the arm is.
    """
    T_base_flange = reported_flange(seen, (0.0,) * 6)
    fitting = {}
    for model in NAMED_MODELS:
        if model.is_e_series != (seen.version[0] >= _E_SERIES):
            continue
        off = PoseDeviation.between(flange_pose(model.geometry, seen.q_rad), T_base_flange)
        if off.distance_m <= LARGEST_DISTANCE_M and off.angle_rad <= LARGEST_ANGLE_RAD:
            fitting[model] = off
    version = ".".join(map(str, seen.version))
    named = {model: off for model, off in fitting.items() if number in {None, model.number}}
    if len(named) == 1:
        ((model, off),) = named.items()
        states = "its dashboard has no model" if number is None else f"its dashboard says {stated(number)}"
        return model, f"software {version}, {states}, its pose fits within {off}"
    fits = ", ".join(fitting) or "none"
    says = "no number" if number is None else stated(number)
    return None, f"software {version}, dashboard: {says}, geometries that fit its pose: {fits}"


def tool_along_z_m(seen: RtdeSnapshot) -> float | None:
    """Return the length of the active tool if it points along z of the flange (m); None otherwise.

    A controller whose tool centre point is not set, or that does not report it, says nothing.
    """
    if seen.tool_offset is None:
        return None
    offset = np.array(seen.tool_offset)
    is_straight = np.abs(np.delete(offset, 2)).max() < _STRAIGHT
    return float(offset[2]) if is_straight and offset[2] > _STRAIGHT else None
