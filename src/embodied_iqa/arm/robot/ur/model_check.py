"""Whether the arm behind a controller is of the model whose kinematics the limits are computed with.

With the table of a UR5, the flange of a UR5e is computed about 7 cm too low: every limit of the workspace and
the height of the table would be wrong. So the pose that the controller reports is compared with ours before
anything connects that could arm the arm.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.robot.ur.messages import Refusal
from embodied_iqa.arm.robot.ur.rtde_snapshot import RtdeSnapshot
from embodied_iqa.base.errors import InputError
from embodied_iqa.base.kinematics.models import (
    UR_MODELS,
    ArmModel,
    PoseDeviation,
    flange_pose,
    nearest_model,
)
from embodied_iqa.base.kinematics.se3 import invert, pose_to_transform, transform_to_pose

LARGEST_DISTANCE_M: Final = 0.005
LARGEST_ANGLE_RAD: Final = math.radians(0.5)
"""A delivered arm deviates from the standard geometry by up to a few millimetres: its factory calibration."""

_CB3: Final = 3
_E_SERIES: Final = 5
_SERIES: Final = {False: "a CB3", True: "an e-Series"}
_POWERED: Final = 5
"""From this robot_mode on (idle) the joints are powered and measured."""


class RefusedArmError(InputError):
    """A controller answers, but its arm is not accepted.

    Args:
        message: What is wrong, without a full stop.
        refusal: The check that it has not passed.
        details: Expected, received and available values, see `InputError`.
    """

    def __init__(self, message: str, refusal: Refusal, **details: Any) -> None:
        super().__init__(message, **details)
        self.refusal = refusal


def check_model(seen: RtdeSnapshot, tool_pose: tuple[float, ...], model: ArmModel) -> str:
    """Check that a controller is that of an arm of a model.

    Args:
        seen: State of the controller.
        tool_pose: Tool centre point in the flange's frame (m, rad) that the pendant must have where the
            controller does not report its own.
        model: The model whose kinematics the limits are computed with.

    Returns:
        A sentence for the log: the version and how far the arm deviates from the standard geometry.

    Raises:
        RefusedArmError: It is another arm, or the state does not say.
    """
    version = ".".join(str(number) for number in seen.version)
    T_base_flange = reported_flange(seen, tool_pose)
    T_expected = flange_pose(model.geometry, seen.q_rad)
    deviation = PoseDeviation.between(T_expected, T_base_flange)
    series = _series_of(seen.version[0])
    if series != _SERIES[model.is_e_series]:
        named = f"{_SERIES[model.is_e_series]}, as of the {model.geometry.name} of arm_node.model"
        software = "5 or later" if model.is_e_series else "3.x"
        raise RefusedArmError(
            f"the controller is that of {series or 'no known series'}; {_best_fit(seen, T_base_flange)}",
            Refusal.ANOTHER_ARM,
            expected=f"{named} (software {software})",
            got=f"software {version}",
        )
    if deviation.distance_m > LARGEST_DISTANCE_M or deviation.angle_rad > LARGEST_ANGLE_RAD:
        raise RefusedArmError(_refusal(seen, model, T_expected, T_base_flange), Refusal.GEOMETRY)
    name = model.geometry.name
    return f"{name}, software {version}: its flange deviates from the standard geometry by {deviation}"


def _series_of(major: int) -> str:
    if major == _CB3:
        return _SERIES[False]
    return _SERIES[True] if major >= _E_SERIES else ""


def reported_flange(seen: RtdeSnapshot, tool_pose: tuple[float, ...]) -> NDArray[np.float64]:
    """Return ``T_base_flange`` ``(4, 4)`` (m): the pose of the active tool centre point without that tool.

    Args:
        seen: State of the controller.
        tool_pose: That point in the flange's frame where the controller does not report it.

    Raises:
        RefusedArmError: The state has no pose.
    """
    offset = tool_pose if seen.tool_offset is None else seen.tool_offset
    numbers = np.array([seen.q_rad, seen.tool_pose, offset], dtype=np.float64)
    if not np.isfinite(numbers).all() or not np.any(numbers[1]):
        raise RefusedArmError(
            "the controller does not report where the arm is, so its model cannot be checked",
            Refusal.NO_POSE,
            expected="six joint angles, the pose of the tool and its offset, finite",
            got=numbers.tolist(),
        )
    T_base_flange: NDArray[np.float64] = pose_to_transform(numbers[1]) @ invert(pose_to_transform(numbers[2]))
    return T_base_flange


def _refusal(
    seen: RtdeSnapshot, model: ArmModel, T_expected: NDArray[np.float64], T_base_flange: NDArray[np.float64]
) -> str:
    deviation = PoseDeviation.between(T_expected, T_base_flange)
    limits = PoseDeviation(LARGEST_DISTANCE_M, LARGEST_ANGLE_RAD)
    parts = [
        f"the arm is not where the kinematics of a {model.geometry.name} have it",
        f"flange expected at {_pose_text(T_expected)}",
        f"reported at {_pose_text(T_base_flange)}",
        f"deviation {deviation}, at most {limits}",
        _best_fit(seen, T_base_flange),
    ]
    if seen.tool_offset is None:
        parts.append(
            "the controller does not report its tool centre point: set it at the pendant to that of "
            "arm_node.tool_length_m"
        )
    if seen.robot_mode < _POWERED:
        parts.append(f"the joints are not powered (robot mode {seen.robot_mode}): power on and try again")
    return "; ".join(parts)


def _best_fit(seen: RtdeSnapshot, T_base_flange: NDArray[np.float64]) -> str:
    model, deviation = nearest_model(seen.q_rad, T_base_flange)
    if deviation.distance_m > LARGEST_DISTANCE_M or deviation.angle_rad > LARGEST_ANGLE_RAD:
        return f"none of {', '.join(UR_MODELS)} fits, nearest is {model.name} ({deviation})"
    return f"the standard geometry that fits best is that of a {model.name} ({deviation})"


def _pose_text(T: NDArray[np.float64]) -> str:
    pose = transform_to_pose(T)
    metres, radians = (", ".join(f"{value:.4f}" for value in part) for part in (pose[:3], pose[3:]))
    return f"({metres}) m, ({radians}) rad"
