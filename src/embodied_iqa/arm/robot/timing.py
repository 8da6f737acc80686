"""Time parameterisation of a path that keeps all limits at every path speed, also while braking.

The path is a function of path time ``u`` (s). At path speed ``du/dt = 1`` the arm moves as fast as its limits
allow. For every path speed in [0, 1] and every ``|d2u/dt2|`` up to ``acceleration`` the joint and tool limits
hold, because

    qd  = q'(u) du/dt            qdd = q''(u) (du/dt)^2 + q'(u) d2u/dt2.

Holding and resuming therefore only change the path speed.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import cumulative_trapezoid
from scipy.interpolate import CubicSpline
from scipy.ndimage import maximum_filter1d, uniform_filter1d

from embodied_iqa.arm.robot.limits import ArmLimits
from embodied_iqa.arm.robot.path import ToolPath
from embodied_iqa.base.kinematics import Kinematics
from embodied_iqa.base.lazy import load

joining_kernels: Final = functools.cache(functools.partial(load, "embodied_iqa.arm.robot.joining_kernels"))
"""Returns the compiled curves; imported when the first chunk is joined because numba loads slowly."""

Array = NDArray[np.float64]

_CURVE_SHARE = 0.3
"""Share of the acceleration limits for following the curve; the rest is reserved for braking."""

_USED = 0.97
"""Share of the limits used in planning, because limits are only checked at samples."""

_TOOL_SAMPLE_S = 0.015
"""Between two samples of the tool at most: through positions further apart, a curve shows its acceleration
where a chunk begins a tenth too small."""

_MOST_BRAKING = 4.0
"""The path speed changes at most so many times faster than braking in ``brake_s`` requires."""


@dataclass(frozen=True, slots=True)
class TimingOptions:
    """Limits on changes of the path speed.

    Attributes:
        brake_s: Longest time from steady full speed to standstill on a hold; see ``longest_brake_s``.
        jerk_s: Time to build up or reduce the acceleration, which limits the jerk.
        ease: Share of the braking acceleration used for ordinary starts and stops, in (0, 1].
    """

    brake_s: float = 0.1
    jerk_s: float = 0.03
    ease: float = 0.5

    @property
    def longest_brake_s(self) -> float:
        """Longest time to standstill on a hold: nearly at full speed, while the arm still speeds up."""
        return self.brake_s + self.ease * self.jerk_s


@dataclass(frozen=True, slots=True, eq=False)
class TimedPath:
    """A motion from rest to rest.

    Attributes:
        q_of_u: Joint angles (6) over path time, a twice continuously differentiable spline.
        end_s: Path time at the end.
        acceleration: Largest ``|d2u/dt2|`` (1/s) for holding.
        ease: Share of it used for ordinary starts and stops.
        jerk: Largest ``|d3u/dt3|`` (1/s2).
        waypoint_u_s: ``(K,)``, path time of each waypoint.
    """

    q_of_u: CubicSpline
    end_s: float
    acceleration: float
    ease: float
    jerk: float
    waypoint_u_s: Array


def is_surely_too_fast(u_s: Array, q_rad: Array, limits: ArmLimits, options: TimingOptions) -> bool:
    """Return whether every curve through joints ``(N, 6)`` at path times ``(N,)`` exceeds a joint limit."""
    return bool(joining_kernels().is_surely_too_fast(u_s, q_rad, _most(limits, options)))


def _most(limits: ArmLimits, options: TimingOptions) -> Array:
    joints = limits.joint_speed_radps, limits.joint_acceleration_radps2
    tool = limits.tool_speed_mps, limits.tool_acceleration_mps2, limits.tool_turn_radps
    return _USED * np.array([*joints, *tool, limits.joint_acceleration_radps2 / options.jerk_s])


def acceleration_left(
    u_s: Array, c: Array, kinematics: Kinematics, limits: ArmLimits, options: TimingOptions
) -> float:
    """Return the largest ``|d2u/dt2|`` (1/s) of a motion that keeps all limits at every path speed up to 1.

    0 where none does, or not enough is left for braking from full speed in ``brake_s``. Jerk along the curve
    is limited like that of braking, to the acceleration in ``jerk_s``.

    Args:
        u_s: ``(N,)``, path times of the samples.
        c: ``(4, N - 1, 6)``, coefficients of the motion in joints, see `joining_kernels.spline`.
        kinematics: The arm.
        limits: Of the arm.
        options: Of braking.
    """
    most = _most(limits, options)
    needed, kernels = 1.0 / (options.brake_s - options.jerk_s), joining_kernels()
    if kernels.is_too_fast_for_joints(u_s, c, most, needed):
        return 0.0
    tool_u_s, q_rad = _sampled(u_s, c)
    left = kernels.acceleration_left(u_s, c, tool_u_s, kinematics.forward(q_rad), most, needed)
    return min(float(left), _MOST_BRAKING * needed)


def _sampled(u_s: Array, c: Array) -> tuple[Array, Array]:
    """Return path times ``(M,)`` that are close enough for the tool, and the joints ``(M, 6)`` there."""
    end_q = np.polynomial.polynomial.polyval(u_s[-1] - u_s[-2], c[::-1, -1])
    step_s = float(u_s[1] - u_s[0])
    parts = math.ceil(step_s / _TOOL_SAMPLE_S)
    if parts == 1:
        return u_s, np.concatenate([c[3], end_q[None]])
    t = (np.arange(parts) * step_s / parts)[:, None]
    q_rad = ((c[0][:, None] * t + c[1][:, None]) * t + c[2][:, None]) * t + c[3][:, None]
    tool_u_s = np.append((u_s[:-1, None] + t[:, 0]).ravel(), u_s[-1])
    return tool_u_s, np.concatenate([q_rad.reshape(-1, 6), end_q[None]])


def timed(path: ToolPath, q_rad: Array, limits: ArmLimits, options: TimingOptions) -> TimedPath:
    """Time-parameterise a checked path; ``q_rad`` is ``(N, 6)``, as returned by `joints_along`."""
    rows = np.hstack([q_rad, path.T_base_tool[:, :3, 3]])
    speed = _USED * np.array([limits.joint_speed_radps] * 6 + [limits.tool_speed_mps])
    acceleration = _USED * np.array([limits.joint_acceleration_radps2] * 6 + [limits.tool_acceleration_mps2])
    first, second = _derivatives(path.s_m, rows)
    slowness = np.maximum((first / speed).max(axis=1), 1.0 / speed[6])
    slowness = np.maximum(slowness, np.sqrt((second / (_CURVE_SHARE * acceleration)).max(axis=1)))
    u = cumulative_trapezoid(_spread(slowness), path.s_m, initial=0.0)
    u, path_acceleration = _stretched(u, rows, speed, acceleration, options)
    return TimedPath(
        q_of_u=CubicSpline(u, q_rad),
        end_s=float(u[-1]),
        acceleration=path_acceleration,
        ease=options.ease,
        jerk=path_acceleration / options.jerk_s,
        waypoint_u_s=np.interp(path.waypoint_s_m, path.s_m, u),
    )


def _spread(slowness: Array) -> Array:
    """Widen slow sections and smooth their edges without becoming faster anywhere."""
    window = max(3, min(21, len(slowness) // 4))
    widest = maximum_filter1d(slowness, 2 * window + 1, mode="nearest")
    smooth: Array = uniform_filter1d(uniform_filter1d(widest, window, mode="nearest"), window, mode="nearest")
    return smooth


def _derivatives(x: Array, rows: Array) -> tuple[Array, Array]:
    """Return magnitudes of the first and second derivatives ``(N, 7)``: six joints and the tool.

    The second derivative of a cubic spline is largest at a sample; the first is taken between samples too.
    """
    spline = CubicSpline(x, rows)
    first, second = _sizes(spline(x, 1)), _sizes(spline(x, 2))
    middle = _sizes(spline(0.5 * (x[1:] + x[:-1]), 1))
    first[1:] = np.maximum(first[1:], middle)
    return first, second


def _sizes(derivative: Array) -> Array:
    return np.hstack([np.abs(derivative[:, :6]), np.linalg.norm(derivative[:, 6:], axis=1, keepdims=True)])


def _stretched(
    u: Array, rows: Array, speed: Array, acceleration: Array, options: TimingOptions
) -> tuple[Array, float]:
    """Stretch path time until the speed limits hold and enough acceleration is left for braking."""
    first, second = _derivatives(u, rows)
    needed = 1.0 / (options.brake_s - options.jerk_s)
    # Stretched by c, first / c and second / c^2 have to leave (acceleration - second) / first >= needed.
    half = 0.5 * needed * first
    c = float(((half + np.sqrt(half**2 + acceleration * second)) / acceleration).max())
    c = max(1.0, c, float((first / speed).max()))
    left = (acceleration - second / c**2) / np.maximum(first / c, 1e-9)
    return c * u, float(min(left.min(), _MOST_BRAKING * needed))
