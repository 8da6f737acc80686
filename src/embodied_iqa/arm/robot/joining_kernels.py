"""Compiled curves of `joining`: poses of a chunk, splines in joints, and what they leave of the limits.

A chunk is joined within one tick of the arm, which of an e-Series lasts 2 ms. With NumPy and SciPy most of
the time went to calls, such as a quarter of a millisecond to construct one spline.

Elements are written one by one: numba takes several times as long to compile `np.zeros`, an assignment to a
row, or an expression of whole arrays, and set-up compiles this file for everybody.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.kinematics.kernels import compiled

Array = NDArray[np.float64]

SMALL_ANGLE_RAD = 1e-4
"""Below this angle, series replace the quotients of Rodrigues' formula (error below 1e-17)."""


@compiled
def chained(T_base_tool: Array, increments: Array) -> Array:
    """Return ``(K + 1, 4, 4)``, a pose and those after each increment; see `chain_increments`."""
    poses = np.empty((len(increments) + 1, 4, 4))
    for i in range(4):
        for k in range(4):
            poses[0, i, k] = T_base_tool[i, k]
    R = np.empty((3, 3))
    for n in range(len(increments)):
        x, y, z = increments[n, 3], increments[n, 4], increments[n, 5]
        angle2 = x * x + y * y + z * z
        angle = math.sqrt(angle2)
        sine, half = 1.0 - angle2 / 6.0, 0.5 - angle2 / 24.0
        if angle >= SMALL_ANGLE_RAD:
            sine, half = math.sin(angle) / angle, 2.0 * (math.sin(0.5 * angle) / angle) ** 2
        xy, xz, yz = half * x * y, half * x * z, half * y * z
        R[0, 0], R[0, 1], R[0, 2] = 1.0 - half * (y * y + z * z), xy - sine * z, xz + sine * y
        R[1, 0], R[1, 1], R[1, 2] = xy + sine * z, 1.0 - half * (x * x + z * z), yz - sine * x
        R[2, 0], R[2, 1], R[2, 2] = xz - sine * y, yz + sine * x, 1.0 - half * (x * x + y * y)
        for i in range(3):
            poses[n + 1, i, 3] = poses[n, i, 3]
            for k in range(3):
                poses[n + 1, i, 3] += poses[n, i, k] * increments[n, k]
                poses[n + 1, i, k] = 0.0
                for j in range(3):
                    poses[n + 1, i, k] += poses[n, i, j] * R[j, k]
        for k in range(4):
            poses[n + 1, 3, k] = 1.0 if k == 3 else 0.0
    return poses


@compiled
def _write_quaternion(q: Array, R: Array) -> None:
    """Write the unit quaternion ``(x, y, z, w)`` of a rotation: `matrix_to_quaternion`, compiled."""
    trace = R[0, 0] + R[1, 1] + R[2, 2]
    i = 0
    if R[1, 1] > R[i, i]:
        i = 1
    if R[2, 2] > R[i, i]:
        i = 2
    if trace > R[i, i]:
        q[0], q[1], q[2], q[3] = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1], 1.0 + trace
    else:
        j, k = (i + 1) % 3, (i + 2) % 3
        q[i], q[3] = 1.0 - trace + 2.0 * R[i, i], R[k, j] - R[j, k]
        q[j], q[k] = R[j, i] + R[i, j], R[k, i] + R[i, k]
    length = math.sqrt(q[0] ** 2 + q[1] ** 2 + q[2] ** 2 + q[3] ** 2)
    for i in range(4):
        q[i] /= length


@compiled
def _write_rotation(T: Array, point: Array) -> None:
    """Write the rotation of a quaternion of any length, after the position in a point, into a pose."""
    length = math.sqrt(point[3] ** 2 + point[4] ** 2 + point[5] ** 2 + point[6] ** 2)
    x, y, z, w = point[3] / length, point[4] / length, point[5] / length, point[6] / length
    T[0, 0], T[0, 1], T[0, 2] = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)
    T[1, 0], T[1, 1], T[1, 2] = 2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)
    T[2, 0], T[2, 1], T[2, 2] = 2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)


@compiled
def _b_spline(points: Array, steps: Array) -> Array:
    """Return the uniform cubic B-spline ``(N, D)`` of points ``(M + 2, D)``, whose outer two it sets.

    It is at the second point at step 0, and at the last but one at step M - 1 and afterwards.
    """
    count, columns = len(points) - 2, points.shape[1]
    for k in range(columns):
        points[0, k] = 2.0 * points[1, k] - points[2, k]
        points[count + 1, k] = 2.0 * points[count, k] - points[count - 1, k]
    smooth = np.empty((len(steps), columns))
    for n in range(len(steps)):
        at = min(steps[n], count - 1.0)
        first = min(int(at), count - 2)
        x = at - first
        w0, w1 = (1.0 - x) ** 3, 3.0 * x**3 - 6.0 * x**2 + 4.0
        w2, w3 = 3.0 * (x + x**2 - x**3) + 1.0, x**3
        for k in range(columns):
            before, after = w0 * points[first, k] + w1 * points[first + 1, k], w2 * points[first + 2, k]
            smooth[n, k] = (before + after + w3 * points[first + 3, k]) / 6.0
    return smooth


@compiled
def joint_curve(q: Array, steps: Array) -> Array:
    """Return ``(N, 6)`` of the cubic B-spline of joints ``(M, 6)`` at times in steps since the first."""
    points = np.empty((len(q) + 2, q.shape[1]))
    for n in range(len(q)):
        for k in range(q.shape[1]):
            points[n + 1, k] = q[n, k]
    return _b_spline(points, steps)


@compiled
def curve(poses: Array, steps: Array) -> Array:
    """Return ``(N, 4, 4)`` poses of the cubic B-spline at times in steps since the first of the poses."""
    count = len(poses)
    points = np.empty((count + 2, 7))
    for n in range(count):
        for k in range(3):
            points[n + 1, k] = poses[n, k, 3]
        _write_quaternion(points[n + 1, 3:], poses[n])
        cosine = 0.0
        for k in range(3, 7):
            cosine += points[n + 1, k] * points[n, k] if n > 0 else 0.0
        if cosine < 0.0:
            for k in range(3, 7):
                points[n + 1, k] = -points[n + 1, k]
    T = np.empty((len(steps), 4, 4))
    smooth = _b_spline(points, steps)
    for n in range(len(steps)):
        _write_rotation(T[n], smooth[n])
        for k in range(3):
            T[n, k, 3], T[n, 3, k] = smooth[n, k], 0.0
        T[n, 3, 3] = 1.0
    return T


@compiled
def _solve(lower: Array, diagonal: Array, upper: Array, right: Array) -> None:
    """Solve a tridiagonal system in place: ``right`` (N, M) becomes the solution, ``diagonal`` is used up."""
    count, columns = right.shape
    for i in range(1, count):
        factor = lower[i] / diagonal[i - 1]
        diagonal[i] -= factor * upper[i - 1]
        for k in range(columns):
            right[i, k] -= factor * right[i - 1, k]
    for k in range(columns):
        right[count - 1, k] /= diagonal[count - 1]
    for i in range(count - 2, -1, -1):
        for k in range(columns):
            right[i, k] = (right[i, k] - upper[i] * right[i + 1, k]) / diagonal[i]


@compiled
def _slopes(x: Array, y: Array, start: Array) -> Array:
    """Return the slopes ``(N, M)`` at the knots of the spline, see `spline`."""
    (count, columns), last = y.shape, len(x) - 1
    h, rise, right = np.empty(last), np.empty_like(y), np.empty_like(y)
    lower, diagonal, upper = np.empty(count), np.empty(count), np.empty(count)
    for i in range(last):
        h[i] = x[i + 1] - x[i]
        for k in range(columns):
            rise[i, k] = (y[i + 1, k] - y[i, k]) / h[i]
    for i in range(1, last):
        lower[i], diagonal[i], upper[i] = h[i], 2.0 * (h[i - 1] + h[i]), h[i - 1]
        for k in range(columns):
            right[i, k] = 3.0 * (h[i] * rise[i - 1, k] + h[i - 1] * rise[i, k])
    lower[0], diagonal[0], upper[0], upper[last] = 0.0, 1.0, 0.0, 0.0
    if len(start) > 0:
        for k in range(columns):
            right[0, k] = start[k]
    else:
        both = h[0] + h[1]
        diagonal[0], upper[0] = h[1], both
        for k in range(columns):
            right[0, k] = ((h[0] + 2.0 * both) * h[1] * rise[0, k] + h[0] ** 2 * rise[1, k]) / both
    both, end = h[last - 2] + h[last - 1], h[last - 1]
    diagonal[last], lower[last] = h[last - 2], both
    for k in range(columns):
        outer = end**2 * rise[last - 2, k] + (2.0 * both + end) * h[last - 2] * rise[last - 1, k]
        right[last, k] = outer / both
    _solve(lower, diagonal, upper, right)
    return right


@compiled
def spline(x: Array, y: Array, start: Array) -> Array:
    """Return the cubic spline through ``y`` (N, M) at ``x`` (N,), at least four knots.

    Coefficients ``(4, N - 1, M)``, of the highest power first, as of `scipy.interpolate.CubicSpline`. At the
    end it is not-a-knot; at the start its slope is ``start`` (M,), or where that is empty, not-a-knot too.
    """
    s = _slopes(x, y, start)
    count, columns = y.shape
    c = np.empty((4, count - 1, columns))
    for i in range(count - 1):
        h = x[i + 1] - x[i]
        for k in range(columns):
            rise = (y[i + 1, k] - y[i, k]) / h
            bend = (s[i, k] + s[i + 1, k] - 2.0 * rise) / h
            c[0, i, k], c[1, i, k] = bend / h, (rise - s[i, k]) / h - bend
            c[2, i, k], c[3, i, k] = s[i, k], y[i, k]
    return c


@compiled
def faded(offset: Array, u: Array, blend_s: float) -> Array:
    """Return ``(N, M)``: the quintic from value, first and second derivative ``(3, M)`` at 0 to rest at 0."""
    columns = offset.shape[1]
    result = np.empty((len(u), columns))
    for k in range(columns):
        value, first, second = offset[0, k], offset[1, k] * blend_s, 0.5 * offset[2, k] * blend_s**2
        cubic = -10.0 * value - 6.0 * first - 3.0 * second
        quartic = 15.0 * value + 8.0 * first + 3.0 * second
        quintic = -6.0 * value - 3.0 * first - second
        for n in range(len(u)):
            x = u[n] / blend_s
            inner = second + x * (cubic + x * (quartic + x * quintic))
            result[n, k] = value + x * (first + x * inner) if x < 1.0 else 0.0
    return result


@compiled
def _joint_demand(u: Array, c: Array, speed: float, most: float, needed: float) -> tuple[float, float]:
    """Return the largest share of the speed limit that a spline takes, and what it leaves of the other."""
    demand, left = 0.0, np.inf
    for i in range(c.shape[1]):
        h = u[i + 1] - u[i]
        for k in range(c.shape[2]):
            a, b, first = c[0, i, k], c[1, i, k], abs(c[2, i, k])
            middle = abs(c[2, i, k] + h * (b + 0.75 * a * h))
            last = abs(c[2, i, k] + h * (2.0 * b + 3.0 * a * h))
            fastest = max(first, middle, last)
            second = max(abs(2.0 * b), abs(2.0 * b + 6.0 * a * h))
            demand = max(demand, fastest / speed)
            left = min(left, (most - second) / max(fastest, 1e-9))
            if demand > 1.0 or left < needed:
                return demand, left
    return demand, left


@compiled
def _tool_demand(u: Array, p: Array, speed: float, most: float) -> tuple[float, float]:
    """Return the same of the tool's positions ``(N, 3)``."""
    c = spline(u, p, np.empty(0))
    demand, left = 0.0, np.inf
    for i in range(c.shape[1]):
        h = u[i + 1] - u[i]
        start2, middle2, last2, bend2, end_bend2 = 0.0, 0.0, 0.0, 0.0, 0.0
        for k in range(3):
            a, b, first = c[0, i, k], c[1, i, k], c[2, i, k]
            start2 += first**2
            middle2 += (first + h * (b + 0.75 * a * h)) ** 2
            last2 += (first + h * (2.0 * b + 3.0 * a * h)) ** 2
            bend2 += (2.0 * b) ** 2
            end_bend2 += (2.0 * b + 6.0 * a * h) ** 2
        fastest = math.sqrt(max(start2, middle2, last2))
        demand = max(demand, fastest / speed)
        left = min(left, (most - math.sqrt(max(bend2, end_bend2))) / max(fastest, 1e-9))
    return demand, left


@compiled
def is_surely_too_fast(u: Array, q: Array, limits: Array) -> bool:
    """Return whether every curve through joints ``q`` (N, 6) at ``u`` exceeds a limit of them.

    A divided difference is an average of a derivative, so that its largest value is no smaller. Most of the
    joinings that are tried are too fast, and this takes a tenth of the time of their splines.
    """
    count, slack = len(u), 1.0 + 1e-6
    speed, acceleration, jerk = slack * limits[0], slack * limits[1] / 2.0, slack * limits[5] / 6.0
    for k in range(q.shape[1]):
        first = second = 0.0
        for i in range(1, count):
            slope = (q[i, k] - q[i - 1, k]) / (u[i] - u[i - 1])
            bend = (slope - first) / (u[i] - u[i - 2]) if i > 1 else 0.0
            change = (bend - second) / (u[i] - u[i - 3]) if i > 2 else 0.0
            if abs(slope) > speed or abs(bend) > acceleration or abs(change) > jerk:
                return True
            first, second = slope, bend
    return False


@compiled
def is_too_fast_for_joints(u: Array, c: Array, limits: Array, needed: float) -> bool:
    """Return whether a spline in joints exceeds a limit of them; see `acceleration_left`."""
    demand, left = _joint_demand(u, c, limits[0], limits[1], needed)
    if demand > 1.0 or left < needed:
        return True
    for i in range(c.shape[1]):
        for k in range(c.shape[2]):
            if not 6.0 * abs(c[0, i, k]) <= limits[5]:
                return True
    return False


@compiled
def acceleration_left(  # noqa: PLR0917 - compiled code takes arrays, not records
    u: Array, c: Array, tool_u: Array, T_base_tool: Array, limits: Array, needed: float
) -> float:
    """Return the largest ``|d2u/dt2|`` (1/s) that a spline in joints ``c`` leaves; 0 where below ``needed``.

    ``T_base_tool`` (M, 4, 4) are its poses at ``tool_u`` (M,); ``limits`` are speed and acceleration of a
    joint and of the tool, the tool's angular speed, and the jerk of a joint.
    """
    demand, left = _joint_demand(u, c, limits[0], limits[1], needed)
    if is_too_fast_for_joints(u, c, limits, needed):
        return 0.0
    for n in range(len(tool_u) - 1):
        trace = 0.0
        for i in range(3):
            for k in range(3):
                trace += T_base_tool[n, i, k] * T_base_tool[n + 1, i, k]
        turn = math.acos(min(1.0, max(-1.0, 0.5 * (trace - 1.0))))
        if turn > limits[4] * (tool_u[n + 1] - tool_u[n]):
            return 0.0
    positions = np.empty((len(tool_u), 3))
    for n in range(len(tool_u)):
        for k in range(3):
            positions[n, k] = T_base_tool[n, k, 3]
    demand, tool_left = _tool_demand(tool_u, positions, limits[2], limits[3])
    left = min(left, tool_left)
    return left if demand <= 1.0 and left >= needed else 0.0
