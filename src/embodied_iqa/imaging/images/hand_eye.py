"""Camera poses: fixed cameras in the robot's base frame, the wrist camera on the flange."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import UsageError
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.state_history import StateHistory

Array = NDArray[np.float64]
PoseHistory = StateHistory[Array]
"""Poses of a moving frame by ROS time."""
PoseAt: TypeAlias = Callable[[int], Array | None]
"""Stamp (ROS time, ns) to ``T_base_camera`` ``(4, 4)``, or None where it is not known."""

IDENTITY: Final = tuple(float(value) for value in np.eye(4).ravel())
"""Row by row; as a camera pose it means "not calibrated" and is refused."""

_ORTHONORMAL: Final = 1e-3
_FIXED_M: Final = (0.05, 3.0)
_WRIST_M: Final = (0.01, 0.5)


def checked_pose(numbers: tuple[float, ...], view: View, *, on_flange: bool) -> Array:
    """Check the calibrated pose of a camera's optical frame (x right, y down, z forward).

    Args:
        numbers: 16, row by row: the pose in the base frame, or in the flange's frame (m).
        view: The camera.
        on_flange: Whether it is in the flange's frame.

    Returns:
        ``(4, 4)`` float64, its rotation made orthonormal to rounding.

    Raises:
        UsageError: Not 16 finite numbers, not a rotation, a reflection, or implausibly near or far.
    """
    name = f"T_{'flange' if on_flange else 'base'}_camera of the {view} camera"
    if len(numbers) != 16 or not np.isfinite(numbers).all():
        raise UsageError(
            f"{name} is not a pose", expected="16 finite numbers, a 4x4 matrix row by row", got=numbers
        )
    pose = np.array(numbers, dtype=np.float64).reshape(4, 4)
    if not np.array_equal(pose[3], [0.0, 0.0, 0.0, 1.0]):
        raise UsageError(f"{name} is not a pose", expected="0 0 0 1 in the last row", got=pose[3].tolist())
    rotation = pose[:3, :3]
    error = float(np.abs(rotation.T @ rotation - np.eye(3)).max())
    if error > _ORTHONORMAL:
        raise UsageError(
            f"{name} has no valid rotation",
            expected=f"R^T R = 1 within {_ORTHONORMAL:g}",
            got=f"off by {error:.3g}",
        )
    if np.linalg.det(rotation) < 0:
        raise UsageError(f"{name} is a reflection, not a rotation", expected="determinant 1", got="-1")
    _check_distance(float(np.linalg.norm(pose[:3, 3])), name, on_flange=on_flange)
    left, _, right = np.linalg.svd(rotation)
    pose[:3, :3] = left @ right
    return pose


def _check_distance(distance_m: float, name: str, *, on_flange: bool) -> None:
    low, high = _WRIST_M if on_flange else _FIXED_M
    if not low <= distance_m <= high:
        origin = "flange" if on_flange else "base"
        raise UsageError(
            f"{name} is implausible; is the calibration in metres?",
            expected=f"{low} to {high} m from the {origin}",
            got=f"{distance_m:.3f} m",
        )


def fixed_pose(T_base_camera: Array) -> PoseAt:
    """Return the pose of a fixed camera as a function of time."""
    return lambda _stamp_ns: T_base_camera


def wrist_pose(
    T_flange_camera: Array, T_flange_tool: Array, tool_poses: PoseHistory, longest_gap_ns: int
) -> PoseAt:
    """Return the pose of a camera on the flange as a function of time, from the tool poses.

    ``T_base_camera = T_base_tool inv(T_flange_tool) T_flange_camera``

    Args:
        T_flange_camera: ``(4, 4)``, the result of the hand-eye calibration.
        T_flange_tool: ``(4, 4)``, the tool centre point in the flange's frame.
        tool_poses: ``T_base_tool`` by ROS time.
        longest_gap_ns: Largest distance in time from an image to its tool pose.
    """
    T_tool_camera = np.linalg.inv(T_flange_tool) @ T_flange_camera

    def at(stamp_ns: int) -> Array | None:
        T_base_tool = tool_poses.nearest(stamp_ns, longest_gap_ns)
        return None if T_base_tool is None else T_base_tool @ T_tool_camera

    return at
