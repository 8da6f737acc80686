"""Compiled kinematics on raw arrays; the methods of `Kinematics` document them.

Kernels that call each other are in one file because numba's on-disk cache notices changes only in the file of
the function that is called. They write elements one by one: `np.zeros`, assignments to rows and expressions
of whole arrays compile several times as long, and set-up compiles for everybody. ``table`` is
`UrGeometry.table`; angles are in rad, lengths in m.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.kinematics.inverse import Reach
from embodied_iqa.base.lazy import without

with without("coverage"):  # a quarter of the time that numba takes to load, and not needed here
    import numba
    from numba.core.runtime import rtsys

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
_OF_CACHE = ("_guard_against_spurious_io_errors", "_load_overload")
_FunctionT = TypeVar("_FunctionT", bound=Callable[..., object])

OK, NOT_FINITE, NOT_RIGID, SHOULDER, TOO_FAR = map(int, Reach)

ROTATION_TOLERANCE = 1e-6
"""How far ``R^T R`` may be from the identity."""

DEGENERATE = 1e-10
"""Sines and lengths (m) that are zero but for rounding."""

NEAR_SINGULAR = 1e-3
"""Sine of theta5 below which rounding leaves theta6 so uncertain that a stretched arm may not reach."""

MERGED = 2e-8
"""Half the distance (rad, m) below which a pair of solutions is one: the square root of rounding."""


def compiled(function: _FunctionT, *, in_any_order: bool = False) -> _FunctionT:
    """Compile ``function`` with numba at its first call, or load it from the on-disk cache.

    The cache is beside the source, else in the user's cache folder. If neither is writable, every process
    compiles again. What is loaded needs none of the modules that compile: they take 0.3 s of a process.

    Args:
        function: What is compiled.
        in_any_order: Sums of real numbers may be added in any order, which differs from one type of processor
            to another: only then several numbers are added at once.
    """
    options: dict[str, Any] = {"error_model": "numpy", "nogil": True}
    if in_any_order:
        options["fastmath"] = {"reassoc", "nsz"}
    try:
        kernel: Any = numba.njit(cache=True, **options)(function)
        cache: Any = getattr(kernel, "_cache", None)  # no public access: another version may not have it
        if all(hasattr(cache, name) for name in ("load_overload", *_OF_CACHE)):
            cache.load_overload = partial(_load_stored, cache)
    except RuntimeError:
        kernel = numba.njit(**options)(function)
    typed: _FunctionT = kernel
    return typed


def _load_stored(cache: Any, signature: Any, target: Any) -> Any:
    """Return a stored kernel, or None, as numba's cache does after it has prepared to compile.

    A kernel that is not stored is compiled next, which prepares for it by itself.
    """
    rtsys.initialize(target)  # counts the references to arrays
    with cache._guard_against_spurious_io_errors():  # noqa: SLF001 - as its own `load_overload`
        return cache._load_overload(signature, target)  # noqa: SLF001 - as there


@compiled
def _write_frames(q: Array, table: Array, frames: Array) -> None:
    """Write the seven frames 0 (base) to 6 (flange) of one configuration into ``frames`` (7, 4, 4)."""
    for i in range(4):
        for k in range(4):
            frames[0, i, k] = 1.0 if i == k else 0.0
    for joint in range(6):
        d, a, ca, sa = table[joint, 0], table[joint, 1], table[joint, 2], table[joint, 3]
        c, s = math.cos(q[joint]), math.sin(q[joint])
        for row in range(3):
            x, y = frames[joint, row, 0], frames[joint, row, 1]
            z, p = frames[joint, row, 2], frames[joint, row, 3]
            u, v = c * x + s * y, c * y - s * x
            frames[joint + 1, row, 0] = u
            frames[joint + 1, row, 1] = ca * v + sa * z
            frames[joint + 1, row, 2] = ca * z - sa * v
            frames[joint + 1, row, 3] = p + a * u + d * z
        frames[joint + 1, 3, 0] = frames[joint + 1, 3, 1] = frames[joint + 1, 3, 2] = 0.0
        frames[joint + 1, 3, 3] = 1.0


@compiled
def _multiply(A: Array, B: Array, C: Array) -> None:
    """Write the product of two rigid transforms into ``C`` (4, 4)."""
    for row in range(3):
        for column in range(4):
            C[row, column] = A[row, 0] * B[0, column] + A[row, 1] * B[1, column] + A[row, 2] * B[2, column]
        C[row, 3] += A[row, 3]
    C[3, 0] = C[3, 1] = C[3, 2] = 0.0
    C[3, 3] = 1.0


@compiled
def link_frames(q: Array, table: Array) -> Array:
    """(N, 6) -> (N, 7, 4, 4)."""
    frames = np.empty((q.shape[0], 7, 4, 4))
    for n in range(q.shape[0]):
        _write_frames(q[n], table, frames[n])
    return frames


@compiled
def forward(q: Array, table: Array, T_flange_tool: Array) -> Array:
    """(N, 6) -> (N, 4, 4)."""
    frames = np.empty((7, 4, 4))
    T_base_tool = np.empty((q.shape[0], 4, 4))
    for n in range(q.shape[0]):
        _write_frames(q[n], table, frames)
        _multiply(frames[6], T_flange_tool, T_base_tool[n])
    return T_base_tool


@compiled
def forward_one(q: Array, table: Array, T_flange_tool: Array) -> Array:
    """(6,) -> (4, 4)."""
    frames = np.empty((7, 4, 4))
    T_base_tool = np.empty((4, 4))
    _write_frames(q, table, frames)
    _multiply(frames[6], T_flange_tool, T_base_tool)
    return T_base_tool


@compiled
def jacobian(q: Array, table: Array, T_flange_tool: Array) -> Array:
    """(N, 6) -> (N, 6, 6): column i is (z_i x (p - o_i), z_i)."""
    frames, tool = np.empty((7, 4, 4)), np.empty((4, 4))
    J = np.empty((q.shape[0], 6, 6))
    for n in range(q.shape[0]):
        _write_frames(q[n], table, frames)
        _multiply(frames[6], T_flange_tool, tool)
        for i in range(6):
            zx, zy, zz = frames[i, 0, 2], frames[i, 1, 2], frames[i, 2, 2]
            rx, ry, rz = (
                tool[0, 3] - frames[i, 0, 3],
                tool[1, 3] - frames[i, 1, 3],
                tool[2, 3] - frames[i, 2, 3],
            )
            J[n, 0, i], J[n, 1, i], J[n, 2, i] = zy * rz - zz * ry, zz * rx - zx * rz, zx * ry - zy * rx
            J[n, 3, i], J[n, 4, i], J[n, 5, i] = zx, zy, zz
    return J


@compiled
def _wrap(angle: float) -> float:
    """Return the angle in [-pi, pi)."""
    return angle - 2.0 * math.pi * math.floor((angle + math.pi) / (2.0 * math.pi))


@compiled
def _check(T: Array) -> int:
    """Return OK, NOT_FINITE or NOT_RIGID."""
    total = 0.0
    for row in range(4):
        for column in range(4):
            total += T[row, column]
    if not math.isfinite(total):
        return NOT_FINITE
    for column in range(4):
        if abs(T[3, column] - (1.0 if column == 3 else 0.0)) > ROTATION_TOLERANCE:
            return NOT_RIGID
    for i in range(3):
        for j in range(i, 3):
            dot = T[0, i] * T[0, j] + T[1, i] * T[1, j] + T[2, i] * T[2, j]
            if abs(dot - (1.0 if i == j else 0.0)) > ROTATION_TOLERANCE:
                return NOT_RIGID
    minors = T[1, 1] * T[2, 2] - T[1, 2] * T[2, 1], T[1, 2] * T[2, 0] - T[1, 0] * T[2, 2]
    last = T[1, 0] * T[2, 1] - T[1, 1] * T[2, 0]
    if T[0, 0] * minors[0] + T[0, 1] * minors[1] + T[0, 2] * last < 0.0:
        return NOT_RIGID
    return OK


@compiled
def _solve(T: Array, table: Array, q6_hold: float, q: Array, valid: Mask) -> int:
    """Solve for one flange pose: theta1 from the position of frame 5 (Hawkins 2013, eq. for theta1)."""
    d4, d6 = table[3, 0], table[5, 0]
    x5, y5 = T[0, 3] - d6 * T[0, 2], T[1, 3] - d6 * T[1, 2]
    r = math.sqrt(x5 * x5 + y5 * y5)
    if r < d4 - DEGENERATE:
        return SHOULDER
    h = math.sqrt(max(0.0, (r - d4) * (r + d4)))
    scale = 1.0 / (r * math.sqrt(h * h + d4 * d4))
    status = TOO_FAR
    for shoulder in range(2):
        if shoulder == 1 and h <= MERGED:
            break
        X = h if shoulder == 0 else -h
        c1, s1 = scale * (X * x5 - d4 * y5), scale * (X * y5 + d4 * x5)
        rows = slice(4 * shoulder, 4 * shoulder + 4)
        found = _solve_wrist(T, table, q6_hold, c1, s1, X, q[rows], valid[rows])
        if status != OK:
            status = found
    return status


@compiled
def _solve_wrist(  # noqa: PLR0917 - compiled code takes numbers, not records
    T: Array, table: Array, q6_hold: float, c1: float, s1: float, X: float, q: Array, valid: Mask
) -> int:
    """Theta5 and theta6 from the last two rows of R in frame 1; then the plane of the two long links."""
    v0, v1 = s1 * T[0, 0] - c1 * T[1, 0], s1 * T[0, 1] - c1 * T[1, 1]
    c5 = s1 * T[0, 2] - c1 * T[1, 2]
    s5 = math.sqrt(v0 * v0 + v1 * v1)
    singular = s5 < DEGENERATE
    if singular:
        s5, c5 = 0.0, math.copysign(1.0, c5)
        t6, c6, s6 = _wrap(q6_hold), math.cos(q6_hold), math.sin(q6_hold)
    else:
        c6, s6 = v0 / s5, -v1 / s5
        t6 = math.atan2(s6, c6)
    t1, t5 = math.atan2(s1, c1), math.atan2(s5, c5)
    x4x, x4y, x4z = _rotate(T, c5 * c6, -c5 * s6, -s5)
    z4x, z4y, z4z = _rotate(T, -s6, -c6, 0.0)
    t234 = math.atan2(x4z, c1 * x4x + s1 * x4y)
    d5_x, d5_y = table[4, 0] * (c1 * z4x + s1 * z4y), table[4, 0] * z4z
    Y = T[2, 3] - table[5, 0] * T[2, 2] - table[0, 0]
    status = TOO_FAR
    for wrist in range(1 if singular else 2):
        sign, rows = 1.0 - 2.0 * wrist, slice(2 * wrist, 2 * wrist + 2)
        q[rows, 0], q[rows, 4], q[rows, 5] = t1, sign * t5, _wrap(t6 + wrist * math.pi)
        t234_wrist, px, py = t234 + wrist * math.pi, X - sign * d5_x, Y - sign * d5_y
        found = _solve_elbow(table, px, py, t234_wrist, q[rows], valid[rows])
        if found != OK and s5 < NEAR_SINGULAR:
            turn, px, py = _stretch(table, X, Y, px, py)
            if s5 * abs(turn) <= DEGENERATE:
                q[rows, 5] = _wrap(t6 + wrist * math.pi - c5 * turn)
                found = _solve_elbow(table, px, py, t234_wrist + turn, q[rows], valid[rows])
        if status != OK:
            status = found
    return status


@compiled
def _stretch(table: Array, X: float, Y: float, px: float, py: float) -> tuple[float, float, float]:
    """Return the turn of the wrist about axis 4 that brings ``(px, py)`` within the reach of the two links.

    At a singular wrist, theta6 is free or known only to rounding over ``sin(theta5)``, and with it the place
    of joint 4 on a circle of radius d5 about ``(X, Y)``.

    Returns:
        The smallest turn (rad), infinite if there is none, and the place after it.
    """
    a2, a3, d5 = abs(table[1, 1]), abs(table[2, 1]), table[4, 0]
    far2 = X * X + Y * Y
    limit = a2 + a3 if px * px + py * py > a2 * a2 + a3 * a3 else abs(a2 - a3)
    cosine = (limit * limit - far2 - d5 * d5) / (2.0 * d5 * math.sqrt(far2))
    if not abs(cosine) <= 1.0 + DEGENERATE:
        return math.inf, px, py
    before, towards = math.atan2(py - Y, px - X), math.atan2(Y, X)
    apart = math.acos(min(1.0, max(-1.0, cosine)))
    turn, other = _wrap(towards + apart - before), _wrap(towards - apart - before)
    if abs(other) < abs(turn):
        turn = other
    return turn, X + d5 * math.cos(before + turn), Y + d5 * math.sin(before + turn)


@compiled
def _rotate(T: Array, x: float, y: float, z: float) -> tuple[float, float, float]:
    return (
        T[0, 0] * x + T[0, 1] * y + T[0, 2] * z,
        T[1, 0] * x + T[1, 1] * y + T[1, 2] * z,
        T[2, 0] * x + T[2, 1] * y + T[2, 2] * z,
    )


@compiled
def _solve_elbow(  # noqa: PLR0917 - compiled code takes numbers, not records
    table: Array, px: float, py: float, t234: float, q: Array, valid: Mask
) -> int:
    """The planar arm of two links that reaches ``(px, py)``: theta3 (two), theta2, theta4."""
    a2, a3 = table[1, 1], table[2, 1]
    c3 = (px * px + py * py - a2 * a2 - a3 * a3) / (2.0 * a2 * a3)
    if not -1.0 - DEGENERATE <= c3 <= 1.0 + DEGENERATE:  # also where the square overflowed to NaN
        return TOO_FAR
    c3 = min(1.0, max(-1.0, c3))
    s3 = math.sqrt((1.0 - c3) * (1.0 + c3))
    direction, lean = math.atan2(py, px), math.atan2(a3 * s3, a2 + a3 * c3)
    t3 = math.atan2(s3, c3)
    for elbow in range(1 if s3 <= MERGED else 2):
        sign = 1.0 - 2.0 * elbow
        t2 = direction - sign * lean
        q[elbow, 1], q[elbow, 2], q[elbow, 3] = _wrap(t2), sign * t3, _wrap(t234 - t2 - sign * t3)
        valid[elbow] = True
    return OK


@compiled
def inverse(
    T_base_tool: Array, table: Array, T_tool_flange: Array, q6_hold: Array
) -> tuple[Array, Mask, NDArray[np.int8]]:
    """(N, 4, 4), (N,) -> (N, 8, 6), (N, 8), (N,)."""
    count = T_base_tool.shape[0]
    q, valid, status = np.empty((count, 8, 6)), np.empty((count, 8), np.bool_), np.empty(count, np.int8)
    flange = np.empty((4, 4))
    for n in range(count):
        for row in range(8):
            valid[n, row] = False
        status[n] = _check(T_base_tool[n])
        if status[n] == OK:
            _multiply(T_base_tool[n], T_tool_flange, flange)
            status[n] = _solve(flange, table, q6_hold[n], q[n], valid[n])
        for row in range(8):
            for joint in range(6):
                q[n, row, joint] = q[n, row, joint] if valid[n, row] else 0.0
    return q, valid, status


@compiled
def inverse_one(
    T_base_tool: Array, table: Array, T_tool_flange: Array, q6_hold: float
) -> tuple[Array, NDArray[np.int64], int]:
    """(4, 4) -> (M, 6), (M,) branches, status."""
    q, valid, flange = np.empty((8, 6)), np.empty(8, np.bool_), np.empty((4, 4))
    for row in range(8):
        valid[row] = False
    status = _check(T_base_tool)
    if status == OK:
        _multiply(T_base_tool, T_tool_flange, flange)
        status = _solve(flange, table, q6_hold, q, valid)
    branches, count = np.empty(8, np.int64), 0
    for row in range(8):
        if valid[row]:
            for joint in range(6):
                q[count, joint] = q[row, joint]
            branches[count] = row
            count += 1
    return q[:count], branches[:count], status
