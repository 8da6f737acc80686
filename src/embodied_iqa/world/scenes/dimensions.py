"""Dimensions of the simulated cell, in the robot's base frame (m, rad)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.kinematics import HOME_Q_RAD, TOOL_2F140_M, Kinematics, choose, tool_along_z
from embodied_iqa.base.kinematics.models import ArmModel
from embodied_iqa.imaging.images.frame import View

CELL_VIEWS: Final = (View.WRIST, View.TOP, View.SIDE)
"""The cameras of the simulated cell. Seeds and trained networks hold the place of a camera in this order."""

CELL_ARMS: Final = (ArmModel.UR5, ArmModel.UR10, ArmModel.UR5E, ArmModel.UR10E, ArmModel.UR16E)
"""The arms that reach everything on the table from where the base is; the shorter ones do not."""

STEP_NS: Final = 2_000_000
"""The physics' time step."""

TOOL_Z_M: Final = TOOL_2F140_M


def check_cell_views(views: Iterable[View]) -> None:
    """Refuse views that no camera of the simulated cell has.

    Raises:
        UsageError: There is one.
    """
    for view in views:
        if view not in CELL_VIEWS:
            raise UsageError("the simulated cell has no such camera", got=str(view), available=CELL_VIEWS)


def _flange_tool() -> NDArray[np.float64]:
    pose = tool_along_z(TOOL_Z_M)
    pose.setflags(write=False)
    return pose


T_flange_tool: Final = _flange_tool()
"""``(4, 4)``: the tool centre point, between the finger pads, in the flange's frame."""


def check_cell_arm(model: ArmModel) -> None:
    """Refuse an arm that cannot stand in the simulated cell.

    Raises:
        UsageError: It does not reach its table.
    """
    if model not in CELL_ARMS:
        raise UsageError(
            f"a {model.geometry.name} does not reach the table of the simulated cell", available=CELL_ARMS
        )


@cache
def cell_kinematics(model: ArmModel) -> Kinematics:
    """Return the kinematics of an arm of the cell, with its gripper."""
    return Kinematics(np.asarray(T_flange_tool), model.geometry)


@cache
def cell_home_q_rad(model: ArmModel) -> tuple[float, ...]:
    """Return the joints (rad) with which an arm of the cell starts: the tool is where a UR5 has it at home.

    Raises:
        UsageError: The arm does not reach that.
    """
    if model is ArmModel.UR5:
        return HOME_Q_RAD
    check_cell_arm(model)
    home = cell_kinematics(ArmModel.UR5).forward(HOME_Q_RAD)
    q_rad = choose(cell_kinematics(model), home, HOME_Q_RAD).q_rad
    if q_rad is None:
        raise UsageError("this arm does not reach the home posture of the cell", got=model)
    return tuple(q_rad.tolist())


TABLE_X_M: Final = (-1.00, 0.20)
TABLE_Y_M: Final = (-0.55, 0.55)
"""Edges of the table; its top is z = 0, the plane of the robot's base."""
TABLE_THICKNESS_M: Final = 0.04
FLOOR_Z_M: Final = -0.75
WALL_X_M: Final = -0.95
"""The face of the wall beyond the objects."""
WALL_HEIGHT_M: Final = 0.30

BUTTON_TRAVEL_M: Final = 0.010
BUTTON_THRESHOLD_M: Final = 0.005
"""A button counts as pressed once its cap is this far below its rest position."""

DRAWER_TRAVEL_M: Final = 0.100
"""Travel of a drawer."""

VERTICAL_FOV_RAD: Final = float(np.deg2rad(55.0))
"""Horizontally 69.5 degrees at 4:3 and 85.6 degrees at 16:9, like a RealSense D455's colour camera."""


@dataclass(frozen=True, slots=True)
class CameraMount:
    """Pose of a camera in its parent's frame (the base, or the flange), in m.

    Attributes:
        position_m: The optical centre.
        target_m: A point on the optical axis.
        up: A direction that is up in the image.
    """

    position_m: tuple[float, float, float]
    target_m: tuple[float, float, float]
    up: tuple[float, float, float]


CAMERAS: Final[dict[View, CameraMount]] = {
    View.TOP: CameraMount((-0.88, 0.0, 0.58), (-0.515, 0.0, 0.0), (0.0, 0.0, 1.0)),
    View.SIDE: CameraMount((-0.80, -0.86, 0.66), (-0.32, 0.0, 0.21), (0.0, 0.0, 1.0)),
    View.WRIST: CameraMount((0.0, -0.078, 0.045), (0.0, -0.010, 0.260), (0.0, -1.0, 0.0)),
}
"""The wrist camera's parent is the flange, the others' the base."""
