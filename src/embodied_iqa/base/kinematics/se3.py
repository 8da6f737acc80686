"""Rigid transforms: rotation vectors, quaternions, poses, and chained increments of action chunks.

A rotation vector is axis times angle (rad); a pose is ``(x, y, z, rx, ry, rz)`` in the UR convention
(m, rad); a transform is a homogeneous ``(4, 4)`` matrix. All functions accept leading batch dimensions.
Hand-written because importing ``scipy.spatial`` would take 0.3 s at every start.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embodied_iqa.base.errors import UsageError

Array = NDArray[np.float64]

T_BASE_LINK_BASE: Array = np.diag([-1.0, -1.0, 1.0, 1.0])
"""The controller's base in the ROS frame ``base_link``: turned by pi about z."""
T_BASE_LINK_BASE.setflags(write=False)

_RIGID = 1e-3
_SMALL_ANGLE_RAD = 1e-4
"""Below this angle, series replace the quotients of Rodrigues' formula (error below 1e-17)."""


def rotvec_to_rotation(rotvec_rad: ArrayLike) -> Array:
    """Convert rotation vectors ``(..., 3)`` (rad) to matrices ``(..., 3, 3)`` (Rodrigues' formula)."""
    return _rodrigues(_shaped(rotvec_rad, (3,), "a rotation vector"), lambda value: value**2)


def rotations_along(rotvec_rad: ArrayLike, parts: ArrayLike) -> Array:
    """Return ``(n, 3, 3)``, rotations by ``(n,)`` parts of a vector ``(3,)`` (rad).

    Every bit is that of `rotvec_to_rotation` for each vector alone: NumPy squares an array otherwise than a
    number.
    """
    rotvecs = np.asarray(parts, dtype=np.float64)[:, None] * _shaped(rotvec_rad, (3,), "a rotation vector")
    return _rodrigues(rotvecs, lambda values: np.array([value**2 for value in values]))


def _rodrigues(rotvec: Array, square: Callable[[Array], Array]) -> Array:
    angle2 = np.einsum("...i,...i->...", rotvec, rotvec)
    angle = np.sqrt(angle2)
    small = angle < _SMALL_ANGLE_RAD
    safe = np.where(small, 1.0, angle)
    sine = np.where(small, 1.0 - angle2 / 6.0, np.sin(safe) / safe)
    half = np.where(small, 0.5 - angle2 / 24.0, 2.0 * square(np.sin(safe / 2.0) / safe))
    K = _cross_matrix(rotvec)
    R: Array = np.eye(3) + sine[..., None, None] * K + half[..., None, None] * (K @ K)
    return R


def rotation_to_rotvec(R: ArrayLike) -> Array:
    """Convert rotation matrices ``(..., 3, 3)`` to the shortest rotation vectors ``(..., 3)`` (rad).

    The unit quaternion is computed with its largest component as pivot, which is exact to rounding near 0
    and near pi.
    """
    matrix = _shaped(R, (3, 3), "a rotation matrix")
    quaternion = _rotation_to_quaternion(matrix)
    w, v = quaternion[..., 0], quaternion[..., 1:]
    sine = np.sqrt(np.einsum("...i,...i->...", v, v))
    angle = 2.0 * np.arctan2(sine, w)
    small = sine < _SMALL_ANGLE_RAD
    near = np.where(small, w, 1.0)  # w is 0 at half a turn, where the series is not used
    factor = np.where(
        small, 2.0 / near * (1.0 - (sine / near) ** 2 / 3.0), angle / np.where(small, 1.0, sine)
    )
    rotvec: Array = factor[..., None] * v
    return rotvec


def matrix_to_quaternion(R: Array) -> tuple[float, float, float, float]:
    """Convert one rotation matrix ``(3, 3)`` to a unit quaternion ``(x, y, z, w)``, as sent in messages.

    The largest of the diagonal and the trace is the pivot. The sign and every bit are those of SciPy.
    """
    m = R.tolist()
    trace = m[0][0] + m[1][1] + m[2][2]
    diagonal = [m[0][0], m[1][1], m[2][2], trace]
    i = diagonal.index(max(diagonal))
    if i == 3:
        q = [m[2][1] - m[1][2], m[0][2] - m[2][0], m[1][0] - m[0][1], 1.0 + trace]
    else:
        j, k = (i + 1) % 3, (i + 2) % 3
        q = [0.0, 0.0, 0.0, m[k][j] - m[j][k]]
        q[i], q[j], q[k] = 1.0 - trace + 2.0 * m[i][i], m[j][i] + m[i][j], m[k][i] + m[i][k]
    length = math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    x, y, z, w = (number / length for number in q)
    return x, y, z, w


def quaternion_to_matrix(quaternion: ArrayLike) -> Array:
    """Convert quaternions ``(..., 4)``, ``(x, y, z, w)`` of any length but 0, to matrices ``(..., 3, 3)``.

    Every bit is that of SciPy.

    Raises:
        UsageError: A quaternion of zeros.
    """
    x, y, z, w = np.moveaxis(_shaped(quaternion, (4,), "a quaternion"), -1, 0)
    length = np.sqrt(x * x + y * y + z * z + w * w)
    if not length.all():
        raise UsageError("a quaternion of zeros has no direction")
    x, y, z, w = x / length, y / length, z / length, w / length
    xx, yy, zz, ww = x * x, y * y, z * z, w * w
    xy, zw, xz, yw, yz, xw = x * y, z * w, x * z, y * w, y * z, x * w
    rows = [
        *(xx - yy - zz + ww, 2.0 * (xy - zw), 2.0 * (xz + yw)),
        *(2.0 * (xy + zw), -xx + yy - zz + ww, 2.0 * (yz - xw)),
        *(2.0 * (xz - yw), 2.0 * (yz + xw), -xx - yy + zz + ww),
    ]
    return np.stack(rows, axis=-1).reshape(*x.shape, 3, 3)


def pose_to_transform(pose: ArrayLike) -> Array:
    """Convert poses ``(..., 6)`` (m, rad) to transforms ``(..., 4, 4)``."""
    values = _shaped(pose, (6,), "a pose")
    T = np.zeros((*values.shape[:-1], 4, 4))
    T[..., :3, :3] = rotvec_to_rotation(values[..., 3:])
    T[..., :3, 3] = values[..., :3]
    T[..., 3, 3] = 1.0
    return T


def transform_to_pose(T: ArrayLike) -> Array:
    """Convert transforms ``(..., 4, 4)`` to poses ``(..., 6)`` (m, rad)."""
    matrix = _shaped(T, (4, 4), "a transform")
    return np.concatenate([matrix[..., :3, 3], rotation_to_rotvec(matrix[..., :3, :3])], axis=-1)


def invert(T: ArrayLike) -> Array:
    """Invert rigid transforms ``(..., 4, 4)`` by transposing the rotation."""
    matrix = _shaped(T, (4, 4), "a transform")
    inverse = np.zeros_like(matrix)
    R_transposed = np.swapaxes(matrix[..., :3, :3], -1, -2)
    inverse[..., :3, :3] = R_transposed
    inverse[..., :3, 3] = -np.einsum("...ij,...j->...i", R_transposed, matrix[..., :3, 3])
    inverse[..., 3, 3] = 1.0
    return inverse


def transform_fault(numbers: ArrayLike) -> str:
    """Return why 16 numbers, row by row, or ``(4, 4)`` are not a rigid transform; empty where they are.

    The rotation may be off by 0.001, as that of a hand-eye calibration.
    """
    T = np.asarray(numbers, dtype=np.float64)
    if T.size != 16:
        return f"of {T.size} numbers instead of 16"
    T = T.reshape(4, 4)
    if not np.isfinite(T).all():
        return "not finite"
    R = T[:3, :3]
    rigid = np.abs(R @ R.T - np.eye(3)).max() < _RIGID and np.linalg.det(R) > 0.0
    return "" if rigid and T[3].tolist() == [0.0, 0.0, 0.0, 1.0] else "not a rigid motion"


def increments_to_transforms(increments: ArrayLike) -> Array:
    """Convert increments ``(..., 6)`` or ``(..., 7)`` (m, rad; a seventh column is the gripper) to dT.

    Translation and rotation vector are in the tool frame before the increment.
    """
    values = np.asarray(increments, dtype=np.float64)
    if values.ndim == 0 or values.shape[-1] not in {6, 7}:
        raise UsageError("wrong shape of increments", expected="(..., 6) or (..., 7)", got=values.shape)
    return pose_to_transform(values[..., :6])


def chain_increments(T_base_tool_0: ArrayLike, increments: ArrayLike) -> Array:
    """Chain increments onto the start pose: ``T_k = T_0 dT_1 ... dT_k``.

    Args:
        T_base_tool_0: ``(4, 4)``, the tool in the base frame before the first increment (m).
        increments: ``(..., K, 6)`` or ``(..., K, 7)``, see `increments_to_transforms`.

    Returns:
        ``(..., K, 4, 4)`` float64: the tool after each increment.
    """
    T = _shaped(T_base_tool_0, (4, 4), "a transform")
    steps = increments_to_transforms(increments)
    if T.ndim != 2 or steps.ndim < 3:
        raise UsageError(
            "wrong shape of a chain", expected="(4, 4) and (..., K, 7)", got=(T.shape, steps.shape[:-2])
        )
    poses = np.empty_like(steps)
    for index in range(steps.shape[-3]):
        T = T @ steps[..., index, :, :]
        poses[..., index, :, :] = T
    return poses


def increments_between(T_base_tool: ArrayLike) -> Array:
    """Return increments ``(K, 6)`` (m, rad) along poses ``(K + 1, 4, 4)``; inverts `chain_increments`."""
    poses = _shaped(T_base_tool, (4, 4), "a transform")
    return transform_to_pose(invert(poses[:-1]) @ poses[1:])


def _shaped(values: ArrayLike, tail: tuple[int, ...], what: str) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if array.shape[array.ndim - len(tail) :] != tail or array.ndim < len(tail):
        raise UsageError(f"wrong shape of {what}", expected=f"(..., {str(tail)[1:]}", got=array.shape)
    return array


def _cross_matrix(v: Array) -> Array:
    K = np.zeros((*v.shape, 3))
    K[..., 0, 1], K[..., 0, 2], K[..., 1, 2] = -v[..., 2], v[..., 1], -v[..., 0]
    K[..., 1, 0], K[..., 2, 0], K[..., 2, 1] = v[..., 2], -v[..., 1], v[..., 0]
    return K


def _rotation_to_quaternion(R: Array) -> Array:
    """Return ``(..., 4)`` unit quaternions ``(w, x, y, z)`` with ``w >= 0`` (Shepperd 1978).

    Not by `matrix_to_quaternion`, whose last bits, SciPy's, would change the motion of every recorded trial.
    """
    trace = np.trace(R, axis1=-2, axis2=-1)
    rows = np.empty((*R.shape[:-2], 4, 4))
    rows[..., 0, 0] = 1.0 + trace
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        rows[..., 0, i + 1] = rows[..., i + 1, 0] = R[..., k, j] - R[..., j, k]
        rows[..., i + 1, i + 1] = 1.0 + 2.0 * R[..., i, i] - trace
        rows[..., j + 1, k + 1] = rows[..., k + 1, j + 1] = R[..., j, k] + R[..., k, j]
    pivot = np.argmax(np.diagonal(rows, axis1=-2, axis2=-1), axis=-1)
    quaternion = np.take_along_axis(rows, pivot[..., None, None], axis=-2)[..., 0, :]
    quaternion = quaternion / np.linalg.norm(quaternion, axis=-1, keepdims=True)
    signed: Array = np.where(quaternion[..., :1] < 0.0, -quaternion, quaternion)
    return signed
