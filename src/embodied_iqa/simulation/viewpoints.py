"""Where the cameras of the cell have a point while the arm is at home: what "left" means in a picture."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.images.frame import View
from embodied_iqa.kinematics.se3 import invert
from embodied_iqa.simulation.dimensions import CAMERAS, VERTICAL_FOV_RAD, T_flange_tool
from embodied_iqa.simulation.mjcf import look_at

__all__ = ["Viewpoint", "viewpoint_of"]

Array = NDArray[np.float64]

_ASPECT: Final = 4 / 3
_T_BASE_TOOL_AT_HOME: Final = np.array([
    [0.0, 1.0, 0.0, -0.40],
    [1.0, 0.0, 0.0, 0.0],
    [0.0, 0.0, -1.0, 0.35],
    [0.0, 0.0, 0.0, 1.0],
])  # fmt: skip
"""Pointing down, with the flange's -y, which is up for the wrist camera, away from the robot."""


@dataclass(frozen=True, slots=True, eq=False)
class Viewpoint:
    """A camera that looks at the table.

    Attributes:
        T_base_camera: ``(4, 4)``, its optical frame (x right, y down, z forward; m).
        right: ``(2,)``, the direction on the table (base frame, x and y) that the viewer calls right.
        ahead: ``(2,)``, the direction on the table away from the viewer.
    """

    T_base_camera: Array
    right: Array
    ahead: Array

    def project(self, points_m: Array) -> Array:
        """Return ``(n, 2)``, where ``(n, 3)`` points of the base frame (m) appear in a 4 : 3 picture.

        (u, v) goes from 0 (left, top) to 1 (right, bottom) in the picture; points behind the camera are NaN.
        """
        T_camera_base = invert(self.T_base_camera)
        x, y, z = T_camera_base[:3, :3] @ points_m.T + T_camera_base[:3, 3:]
        z = np.where(z > 0.0, z, np.nan)
        half_height = np.tan(VERTICAL_FOV_RAD / 2)
        return np.stack([x / z / half_height / _ASPECT, y / z / half_height], axis=1) / 2 + 0.5


@cache
def viewpoint_of(view: View) -> Viewpoint:
    """Return the viewpoint of a camera of the cell, the arm at home."""
    mount = CAMERAS[view]
    T_parent_camera = np.eye(4)
    T_parent_camera[:3, :3] = look_at(mount.position_m, mount.target_m, mount.up)
    T_parent_camera[:3, 3] = mount.position_m
    T_base_parent = _T_BASE_TOOL_AT_HOME @ invert(T_flange_tool) if view is View.WRIST else np.eye(4)
    T_base_camera = T_base_parent @ T_parent_camera
    right = T_base_camera[:2, 0] / np.linalg.norm(T_base_camera[:2, 0])
    return Viewpoint(T_base_camera, right, np.array([-right[1], right[0]]))
