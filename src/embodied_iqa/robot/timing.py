"""From a path to a motion: a path time in which every limit holds at full speed, however often the arm holds.

The path is written over a path time ``u`` (s). At rate ``du/dt = 1`` the arm moves as fast as its limits
allow; slow stretches are stretched in advance. For every rate in [0, 1] and every ``|d2u/dt2|`` up to
``acceleration`` the joint and tool limits hold, because

    qd  = q'(u) du/dt            qdd = q''(u) (du/dt)^2 + q'(u) d2u/dt2.

So holding and resuming are nothing but changes of the rate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import cumulative_trapezoid
from scipy.interpolate import CubicSpline
from scipy.ndimage import maximum_filter1d, uniform_filter1d

from embodied_iqa.robot.limits import ArmLimits
from embodied_iqa.robot.path import ToolPath

__all__ = ["TimedPath", "TimingOptions", "timed"]

Array = NDArray[np.float64]

_CURVE_SHARE = 0.3
"""Share of the acceleration limits that following the curve may use; braking needs the rest."""

_USED = 0.97
"""Share of the limits that is planned for: limits are checked at samples."""


@dataclass(frozen=True, slots=True)
class TimingOptions:
    """How fast the rate may change.

    Attributes:
        brake_s: Longest time from full speed to standstill when the arm has to hold.
        jerk_s: Time to build up or take back the acceleration: the jerk limit.
        ease: Share of the braking acceleration used by ordinary starts and stops, in (0, 1].
    """

    brake_s: float = 0.1
    jerk_s: float = 0.03
    ease: float = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class TimedPath:
    """A motion from rest to rest.

    Attributes:
        q_of_u: Joint angles (6) over path time, a twice continuously differentiable spline.
        end_s: Path time at the end.
        acceleration: Largest ``|d2u/dt2|`` (1/s) for holding.
        ease: Share of it for ordinary starts and stops.
        jerk: Largest ``|d3u/dt3|`` (1/s2).
        waypoint_u_s: ``(K,)``, path time of each waypoint.
    """

    q_of_u: CubicSpline
    end_s: float
    acceleration: float
    ease: float
    jerk: float
    waypoint_u_s: Array


def timed(path: ToolPath, q_rad: Array, limits: ArmLimits, options: TimingOptions) -> TimedPath:
    """Give a checked path its path time; ``q_rad`` is ``(N, 6)``, as `joints_along` returns."""
    rows = np.hstack([q_rad, path.T_base_tool[:, :3, 3]])
    speed = _USED * np.array([limits.joint_speed_radps] * 6 + [limits.tool_speed_mps])
    acceleration = _USED * np.array([limits.joint_acceleration_radps2] * 6 + [limits.tool_acceleration_mps2])
    first, second = _derivatives(path.s_m, rows)
    slowness = np.maximum((first / speed).max(axis=1), 1.0 / speed[6])
    slowness = np.maximum(slowness, np.sqrt((second / (_CURVE_SHARE * acceleration)).max(axis=1)))
    u = cumulative_trapezoid(_spread(slowness), path.s_m, initial=0.0)
    u, rate_acceleration = _stretched(u, rows, speed, acceleration, options)
    return TimedPath(
        q_of_u=CubicSpline(u, q_rad),
        end_s=float(u[-1]),
        acceleration=rate_acceleration,
        ease=options.ease,
        jerk=rate_acceleration / options.jerk_s,
        waypoint_u_s=np.interp(path.waypoint_s_m, path.s_m, u),
    )


def _spread(slowness: Array) -> Array:
    """Widen slow stretches and round their edges; never faster than asked."""
    window = max(3, min(21, len(slowness) // 4))
    widest = maximum_filter1d(slowness, 2 * window + 1, mode="nearest")
    smooth: Array = uniform_filter1d(uniform_filter1d(widest, window, mode="nearest"), window, mode="nearest")
    return smooth


def _derivatives(x: Array, rows: Array) -> tuple[Array, Array]:
    """Return sizes of the first and second derivatives ``(N, 7)``: six joints and the tool.

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
    """Stretch path time until speeds hold and enough acceleration is left to brake in time."""
    first, second = _derivatives(u, rows)
    needed = 1.0 / (options.brake_s - options.jerk_s)
    # Stretched by c, first / c and second / c^2 have to leave (acceleration - second) / first >= needed.
    half = 0.5 * needed * first
    c = float(((half + np.sqrt(half**2 + acceleration * second)) / acceleration).max())
    c = max(1.0, c, float((first / speed).max()))
    left = (acceleration - second / c**2) / np.maximum(first / c, 1e-9)
    return c * u, float(min(left.min(), 4.0 * needed))
