"""Whether the arm behind another driver is of the model whose kinematics the limits are computed with."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.robot.messages import ArmState
from embodied_iqa.arm.robot.ur.model_check import LARGEST_ANGLE_RAD, LARGEST_DISTANCE_M
from embodied_iqa.base.kinematics.models import (
    T_BASELINK_BASE,
    ArmModel,
    PoseDeviation,
    flange_pose,
    nearest_model,
)
from embodied_iqa.base.kinematics.se3 import invert
from embodied_iqa.base.units import MILLISECOND_NS, SECOND_NS

Array = NDArray[np.float64]

_APART_NS: Final = 20 * MILLISECOND_NS
STILL_RADPS: Final = 0.05
"""Within 20 ms, an arm that turns slower than this moves its tool by about a millimetre."""
_AGAIN_NS: Final = SECOND_NS


class ToolPoseCheck:
    """Compares the reported pose of the tool with ours whenever the arm is still.

    Args:
        model: The model that the arm has to be.
        T_flange_tool: ``(4, 4)``, the tool centre point that is set at the pendant (m).
        prefix: Before the names of the frames.

    Attributes:
        problem: Why the arm is not of the model; None while that is not known, empty where it is.
        text: The last deviation, for diagnostics.
    """

    def __init__(self, model: ArmModel, T_flange_tool: Array, prefix: str = "") -> None:
        self._model, self._T_flange_tool = model, T_flange_tool
        self._frames = {f"{prefix}base": np.eye(4), f"{prefix}base_link": T_BASELINK_BASE}
        self._pose: tuple[Array, int] | None = None
        self._checked_ns = -_AGAIN_NS
        self.problem: str | None = None
        self.text = "not checked"

    def restart(self) -> None:
        """Forget the result: the next pose decides."""
        self._pose, self.problem, self._checked_ns, self.text = None, None, -_AGAIN_NS, "not checked"

    def take_pose(self, frame: str, T_frame_tool: Array, stamp_ns: int) -> None:
        """Note a reported pose ``(4, 4)`` (m) at a time of measurement."""
        T_base_frame = self._frames.get(frame.lstrip("/"))
        if T_base_frame is None:
            self.problem = (
                f"the model cannot be checked: the tool's pose is in frame {frame!r}; "
                f"available: {', '.join(self._frames)}"
            )
            return
        self._pose = (T_base_frame @ T_frame_tool, stamp_ns)

    def take_state(self, measured: ArmState, stamp_ns: int) -> None:
        """Compare the newest pose with joint angles of the same time, once a second and while it deviates."""
        if self._pose is None or np.abs(measured.qd_radps).max() > STILL_RADPS:
            return
        T_base_tool, pose_ns = self._pose
        is_due = self.problem != "" or stamp_ns - self._checked_ns >= _AGAIN_NS
        if not is_due or abs(pose_ns - stamp_ns) > _APART_NS:
            return
        self._checked_ns = stamp_ns
        self.problem = self._compare(measured.q_rad, T_base_tool)

    def _compare(self, q_rad: Array, T_base_tool: Array) -> str:
        T_base_flange = T_base_tool @ invert(self._T_flange_tool)
        geometry = self._model.geometry
        deviation = PoseDeviation.between(flange_pose(geometry, q_rad), T_base_flange)
        self.text = str(deviation)
        if deviation.distance_m <= LARGEST_DISTANCE_M and deviation.angle_rad <= LARGEST_ANGLE_RAD:
            return ""
        model, nearest = nearest_model(q_rad, T_base_flange)
        return (
            f"the arm is not where the kinematics of a {geometry.name} have it: deviation {deviation}, "
            f"at most {PoseDeviation(LARGEST_DISTANCE_M, LARGEST_ANGLE_RAD)}; "
            f"the standard geometry that fits best is that of a {model.name} ({nearest}); "
            "the tool centre point at the pendant has to be that of arm_node.tool_length_m"
        )
