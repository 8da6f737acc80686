"""Rotation matrices of the representations that policies use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.kinematics import rotvec_to_rotation
from embodied_iqa.base.kinematics.se3 import quaternion_to_matrix
from embodied_iqa.models.subjects.actions.convention import RotationForm

Array = NDArray[np.float64]

_DEGENERATE: Final = 1e-6
_AXES: Final = np.eye(3)


def rotations_of(values: Array, form: RotationForm) -> Array:
    """Return matrices ``(..., 3, 3)`` of ``(..., W)`` numbers; angles in rad.

    Raises:
        InputError: A quaternion or a pair of columns has no direction.
    """
    return _FORMS[form](values)


def about(axis: int, angle_rad: Array | float) -> Array:
    """Return rotations ``(..., 3, 3)`` about x (0), y (1) or z (2)."""
    return rotvec_to_rotation(np.asarray(angle_rad, dtype=np.float64)[..., None] * _AXES[axis])


def euler_xyz_to_rotation(angles_rad: Array) -> Array:
    """Return ``Rz(yaw) Ry(pitch) Rx(roll)`` of ``(..., 3)`` roll, pitch, yaw."""
    roll, pitch, yaw = np.moveaxis(angles_rad, -1, 0)
    product: Array = about(2, yaw) @ about(1, pitch) @ about(0, roll)
    return product


def rotation_to_euler_xyz(R: Array) -> Array:
    """Return roll, pitch, yaw ``(..., 3)`` (rad) of matrices; inverts `euler_xyz_to_rotation`.

    Args:
        R: ``(..., 3, 3)``.

    Roll and yaw are in [-pi, pi], pitch in [-pi / 2, pi / 2]. Where the pitch is a quarter turn, only the sum
    or the difference of roll and yaw is known: yaw is 0.
    """
    across = np.hypot(R[..., 0, 0], R[..., 1, 0])
    locked = across < _DEGENERATE
    roll = np.where(locked, np.arctan2(-R[..., 1, 2], R[..., 1, 1]), np.arctan2(R[..., 2, 1], R[..., 2, 2]))
    yaw = np.where(locked, 0.0, np.arctan2(R[..., 1, 0], R[..., 0, 0]))
    return np.stack([roll, np.arctan2(-R[..., 2, 0], across), yaw], axis=-1)


def _quaternion(values: Array) -> Array:
    if bool((np.linalg.norm(values, axis=-1) < _DEGENERATE).any()):
        raise InputError("a policy gives a quaternion of length 0")
    return quaternion_to_matrix(values)


def _rot6d(values: Array) -> Array:
    """Orthonormalise the two columns (Gram-Schmidt), as in the paper."""
    first, second = values[..., :3], values[..., 3:]
    x = _unit(first)
    y = _unit(second - np.sum(x * second, axis=-1, keepdims=True) * x)
    return np.stack([x, y, np.cross(x, y)], axis=-1)


def _unit(vectors: Array) -> Array:
    norm = np.linalg.norm(vectors, axis=-1, keepdims=True)
    if bool((norm < _DEGENERATE).any()):
        raise InputError("a policy gives a rotation without a direction")
    unit: Array = vectors / norm
    return unit


_FORMS: Final[dict[RotationForm, Callable[[Array], Array]]] = {
    RotationForm.EULER_XYZ: euler_xyz_to_rotation,
    RotationForm.ROTVEC: rotvec_to_rotation,
    RotationForm.QUATERNION_XYZW: _quaternion,
    RotationForm.ROT6D: _rot6d,
}
