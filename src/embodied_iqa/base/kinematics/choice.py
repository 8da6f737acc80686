"""Selection of one of up to eight inverse-kinematics solutions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.kinematics.arm import Kinematics
from embodied_iqa.base.kinematics.geometry import HOME_Q_RAD, TOOL_2F140_M, UR5, UrGeometry, tool_along_z

Array = NDArray[np.float64]

TWO_PI = 2.0 * np.pi

Obstruction = Callable[[Array], str | None]
"""Returns why a configuration ``(6,)`` (rad) is not allowed, or None; a `CollisionModel` is one."""


@dataclass(frozen=True, slots=True)
class ChoiceOptions:
    """Constraints on a solution.

    Attributes:
        q_min_rad: Lower joint limits.
        q_max_rad: Upper joint limits.
        shoulder_margin_m: Smallest distance from the shoulder singularity.
        angular_margin_rad: Smallest distance from the elbow and wrist singularities.
        obstruction: A further check of a configuration, or None.
    """

    q_min_rad: tuple[float, ...] = (-TWO_PI,) * 6
    q_max_rad: tuple[float, ...] = (TWO_PI,) * 6
    shoulder_margin_m: float = 0.0
    angular_margin_rad: float = 0.0
    obstruction: Obstruction | None = None

    def __post_init__(self) -> None:
        if len(self.q_min_rad) != 6 or len(self.q_max_rad) != 6:
            raise UsageError("wrong joint limits", expected="six lower and six upper limits")
        if any(low >= high for low, high in zip(self.q_min_rad, self.q_max_rad, strict=True)):
            raise UsageError("wrong joint limits", expected="each lower limit below its upper limit")


_ANYWHERE = ChoiceOptions()


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """The chosen solution, or why no solution is allowed.

    Attributes:
        q_rad: ``(6,)`` float64, or None.
        branch: The solution's branch (see `InverseResult`), or None.
        distance_rad: Largest joint motion from the current configuration; infinite without a solution.
        reason: Why each solution was refused; empty if one was chosen.
    """

    q_rad: Array | None
    branch: int | None
    distance_rad: float
    reason: str = ""


def nearest_turns(
    q_rad: ArrayLike, near_rad: ArrayLike, low_rad: ArrayLike, high_rad: ArrayLike
) -> tuple[Array, NDArray[np.bool_]]:
    """Add whole turns to angles to bring them nearest to ``near_rad`` within limits.

    Args:
        q_rad: ``(..., 6)``, angles defined up to whole turns.
        near_rad: ``(6,)`` or ``(..., 6)``, the current angles.
        low_rad: ``(6,)``, lower limits.
        high_rad: ``(6,)``, upper limits.

    Returns:
        The angles, and a mask of the same shape: False where no turn is within the limits.
    """
    q, near = np.asarray(q_rad, dtype=np.float64), np.asarray(near_rad, dtype=np.float64)
    fewest = np.ceil((np.asarray(low_rad) - q) / TWO_PI - 1e-12)
    most = np.floor((np.asarray(high_rad) - q) / TWO_PI + 1e-12)
    turns = np.clip(np.round((near - q) / TWO_PI), fewest, most)
    return q + TWO_PI * turns, fewest <= most


def choose(
    kinematics: Kinematics, T_base_tool: ArrayLike, q_now_rad: ArrayLike, options: ChoiceOptions | None = None
) -> Choice:
    """Choose the allowed solution of one pose that is nearest to the current configuration.

    Distance is the Euclidean joint distance with wrap-around inside the limits. At the wrist
    singularity theta6 keeps its current angle.

    Args:
        kinematics: The arm.
        T_base_tool: ``(4, 4)``.
        q_now_rad: ``(6,)``, the current configuration.
        options: Limits, margins and obstructions; by default only joint limits of +-2 pi.
    """
    options = options or _ANYWHERE
    q_now = np.asarray(q_now_rad, dtype=np.float64)
    if q_now.shape != (6,) or not np.isfinite(q_now).all():
        raise UsageError("wrong current configuration", expected="(6,), finite", got=q_now.tolist())
    result = kinematics.inverse(T_base_tool, float(q_now[5]))
    if result.q_rad.shape[0] == 0:
        return Choice(None, None, float("inf"), result.reason)
    turned, within = nearest_turns(result.q_rad, q_now, options.q_min_rad, options.q_max_rad)
    distance = np.linalg.norm(turned - q_now, axis=1)
    refusals = []
    for index in np.argsort(distance, kind="stable"):
        q, branch = turned[index], int(result.branches[index])
        refusal = _refusal(kinematics, q, options) if within[index].all() else "outside of the joint limits"
        if refusal is None:
            return Choice(q, branch, float(np.abs(q - q_now).max()))
        refusals.append(f"branch {branch}: {refusal}")
    return Choice(None, None, float("inf"), "; ".join(refusals))


def _refusal(kinematics: Kinematics, q: Array, options: ChoiceOptions) -> str | None:
    if options.shoulder_margin_m > 0.0 or options.angular_margin_rad > 0.0:
        margins = kinematics.singularity_margins(q)
        close = margins.within(options.shoulder_margin_m, options.angular_margin_rad)
        if close is not None:
            return f"too close to the {close} singularity"
    return None if options.obstruction is None else options.obstruction(q)


def home_q_rad(geometry: UrGeometry) -> Array:
    """Return the home posture ``(6,)`` (rad) of a model: ``HOME_Q_RAD`` of the UR5, scaled to its reach.

    The tool of `TOOL_2F140_M` points down, at the place of the UR5's times the ratio of the two long links.
    """
    home = np.array(HOME_Q_RAD)
    if geometry is UR5:
        return home
    tool = tool_along_z(TOOL_2F140_M)
    T_base_tool = Kinematics(tool).forward(home)
    T_base_tool[:3, 3] *= (geometry.a2_m + geometry.a3_m) / (UR5.a2_m + UR5.a3_m)
    q_rad = choose(Kinematics(tool, geometry), T_base_tool, home).q_rad
    if q_rad is None:
        raise UsageError("this arm does not reach its home posture", got=geometry.name)
    return q_rad
