"""Viewpoints of the cell's cameras with the arm at home: projection, and the meaning of "left"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.kinematics.se3 import invert
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.world.scenes.dimensions import CAMERAS, VERTICAL_FOV_RAD, T_flange_tool

Array = NDArray[np.float64]

_ASPECT: Final = 4 / 3
_HALF_HEIGHT: Final = np.tan(VERTICAL_FOV_RAD / 2)
_T_BASE_TOOL_AT_HOME: Final = np.array([
    [0.0, 1.0, 0.0, -0.40],
    [1.0, 0.0, 0.0, 0.0],
    [0.0, 0.0, -1.0, 0.35],
    [0.0, 0.0, 0.0, 1.0],
])  # fmt: skip
"""Pointing down, with the flange's -y (up for the wrist camera) away from the robot."""

_EDGE: Final = 0.03
_GRIPPER: Final = ((0.0, 0.27, 0.53), (0.73, 1.0, 0.53), (0.0, 1.0, 0.86))
"""Parts of the wrist camera's image that the gripper covers: from u to u, from v downwards."""


@dataclass(frozen=True, slots=True, eq=False)
class Viewpoint:
    """A camera that sees the table.

    Attributes:
        T_base_camera: ``(4, 4)``, its optical frame (x right, y down, z forward; m).
        T_camera_base: ``(4, 4)``, its inverse.
        covered: Parts of the image that show the robot: from u to u, from v downwards.
        right: ``(2,)``, the direction on the table (base frame, x and y) that is right for the viewer.
        ahead: ``(2,)``, the direction on the table away from the viewer.
    """

    T_base_camera: Array
    T_camera_base: Array
    covered: tuple[tuple[float, float, float], ...]
    right: Array
    ahead: Array

    def project(self, points_m: Array) -> Array:
        """Return ``(n, 2)``, where ``(n, 3)`` points of the base frame (m) appear in a 4 : 3 image.

        (u, v) goes from 0 (left, top) to 1 (right, bottom) in the image; points behind the camera are NaN.
        """
        x, y, z = self.T_camera_base[:3, :3] @ points_m.T + self.T_camera_base[:3, 3:]
        z = np.where(z > 0.0, z, np.nan)
        image = np.empty((len(z), 2))
        image[:, 0] = x / z / _HALF_HEIGHT / _ASPECT
        image[:, 1] = y / z / _HALF_HEIGHT
        return image / 2 + 0.5

    def shows(self, u: float, v: float) -> bool:
        """Return whether a point is in the image, off its edges, and not behind the robot."""
        inside = _EDGE <= u <= 1.0 - _EDGE and _EDGE <= v <= 1.0 - _EDGE
        return inside and not any(left <= u <= right and v >= top for left, right, top in self.covered)


@cache
def viewpoint_of(view: View) -> Viewpoint:
    """Return the viewpoint of a camera of the cell, the arm at home."""
    mount = CAMERAS[view]
    T_parent_camera = np.eye(4)
    T_parent_camera[:3, :3] = look_at(mount.position_m, mount.target_m, mount.up)
    T_parent_camera[:3, 3] = mount.position_m
    T_base_parent = _T_BASE_TOOL_AT_HOME @ invert(T_flange_tool) if view == View.WRIST else np.eye(4)
    T_base_camera = T_base_parent @ T_parent_camera
    right = T_base_camera[:2, 0] / np.linalg.norm(T_base_camera[:2, 0])
    covered = _GRIPPER if view == View.WRIST else ()
    ahead = np.array([-right[1], right[0]])
    return Viewpoint(T_base_camera, invert(T_base_camera), covered, right, ahead)


def look_at(position: Sequence[float], target: Sequence[float], up: Sequence[float]) -> Array:
    """Return the rotation ``(3, 3)`` of an optical frame (x right, y down, z forward) aimed at a point."""
    forward = np.subtract(target, position).astype(np.float64)
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, np.asarray(up, dtype=np.float64))
    right /= np.linalg.norm(right)
    return np.stack([right, np.cross(forward, right), forward], axis=1)
