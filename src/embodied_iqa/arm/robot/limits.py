"""Limits that keep the arm safe, and their checks. Values are refused, never clamped."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.config import check_ranges, ranged
from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.kinematics.choice import TWO_PI
from embodied_iqa.base.kinematics.geometry import distance_to_box_m, reach_m
from embodied_iqa.base.kinematics.models import ArmModel

Array = NDArray[np.float64]

FURTHEST_M: Final = 2.5
"""So far the longest tool of the largest UR arm comes from the base, rounded."""
_ROUNDING = 1.0 + 1e-6
_LEEWAY = 1e-9
"""Of positions (m, rad)."""
_DISCRETE = 1.01
"""Tolerance of finite differences between two commands."""


class LimitKind(StrEnum):
    """Kinds of limits."""

    NOT_FINITE = "not finite"
    SHAPE = "shape"
    INCREMENT = "increment"
    GRIPPER = "gripper"
    WORKSPACE = "workspace"
    TABLE = "table"
    WALL = "wall"
    COLLISION = "collision"
    UNREACHABLE = "unreachable"
    SINGULARITY = "singularity"
    JOINT = "joint limit"
    JOINT_SPEED = "joint speed"
    JOINT_ACCELERATION = "joint acceleration"
    TOOL_SPEED = "tool speed"
    RUN_OVER = "run over"
    """All steps of a chunk that is tied to time were due before it came."""
    UNJOINED = "unjoined"
    """No motion within the limits leads from the one under way onto the chunk."""

    @property
    def is_emergency(self) -> bool:
        """Whether a violation stops and disarms the arm instead of only refusing the goal."""
        return self not in {LimitKind.SINGULARITY, LimitKind.RUN_OVER, LimitKind.UNJOINED}


@dataclass(frozen=True, slots=True)
class Violation:
    """A limit that would be exceeded.

    Attributes:
        kind: Kind of the limit.
        reason: Description with the value and the limit.
    """

    kind: LimitKind
    reason: str


@dataclass(frozen=True, slots=True)
class ArmLimits:
    """Limits of the arm; positions are of the tool centre point in the controller's base frame.

    Attributes:
        q_min_rad: Lower joint limits.
        q_max_rad: Upper joint limits.
        joint_speed_radps: Largest speed of any joint; data sheets of the UR3 to UR16e: 180 deg/s, of the base
            and shoulder of a UR10, UR10e and UR16e 120 deg/s.
        joint_acceleration_radps2: Largest acceleration of any joint; no data sheet has one, and the fastest
            stop in the UR5's manual is 19.5 (stop category 0 of the elbow, 183 deg/s in 164 ms).
        tool_speed_mps: Largest speed of the tool; data sheets of the UR3 to UR16e: typically 1 m/s.
        tool_acceleration_mps2: Largest acceleration of the tool, also used for braking; at most that of
            a joint 1 m away.
        tool_turn_radps: Largest angular speed of the tool; at most that of a wrist joint, 180 deg/s.
        workspace_min_m: Lower corner of the tool's workspace.
        workspace_max_m: Upper corner of the tool's workspace.
        table_z_m: Height of the table top [m].
        tool_height_m: Smallest height of the tool above the table [m].
        wall_x_m: The wall behind the base, which is at x = 0; the whole arm stays at larger x [m].
        increment_m: Longest translation in one increment; at most across the reach of a UR10e, 1.3 m by its
            data sheet.
        increment_rad: Largest rotation in one increment.
        increments: Largest number of increments in one goal.
        shoulder_margin_m: Smallest distance from the shoulder singularity.
        singularity_margin_rad: Smallest distance from the elbow and wrist singularities.
        following_rad: Largest difference between a measured joint angle and its command.
    """

    q_min_rad: tuple[float, ...] = (-TWO_PI,) * 6
    q_max_rad: tuple[float, ...] = (TWO_PI,) * 6
    joint_speed_radps: float = ranged(1.5, 0.001, math.pi)
    joint_acceleration_radps2: float = ranged(16.0, 0.001, 20.0)
    tool_speed_mps: float = ranged(0.25, 0.001, 1.0)
    tool_acceleration_mps2: float = ranged(4.0, 0.001, 20.0)
    tool_turn_radps: float = ranged(1.0, 0.001, math.pi)
    workspace_min_m: tuple[float, float, float] = (-0.80, -0.45, 0.0)
    workspace_max_m: tuple[float, float, float] = (-0.20, 0.45, 0.70)
    table_z_m: float = ranged(0.0, -FURTHEST_M, FURTHEST_M)
    tool_height_m: float = ranged(0.005, 0.0, 1.0)
    wall_x_m: float = ranged(-0.95, -FURTHEST_M, 0.0)
    increment_m: float = ranged(0.15, 0.001, 2.6)
    increment_rad: float = ranged(0.8, 0.001, math.pi)
    increments: int = ranged(100, 1, 10_000)
    shoulder_margin_m: float = ranged(0.02, 0.0, 1.0)
    singularity_margin_rad: float = ranged(0.05, 0.0, math.pi / 2.0)
    following_rad: float = ranged(0.2, 0.001, math.pi)

    def __post_init__(self) -> None:
        check_ranges(self)
        if len(self.q_min_rad) != 6 or len(self.q_max_rad) != 6:
            raise UsageError("wrong joint limits", expected="six lower and six upper limits")
        check_corner(self.workspace_min_m, "workspace_min_m")
        check_corner(self.workspace_max_m, "workspace_max_m")
        pairs = zip(
            (*self.q_min_rad, *self.workspace_min_m), (*self.q_max_rad, *self.workspace_max_m), strict=True
        )
        if not all(low < high for low, high in pairs):
            raise UsageError("wrong joint limits or workspace", expected="each lower limit below the upper")

    def check_model(self, model: ArmModel) -> None:
        """Check that every joint of a model reaches the largest joint speed.

        Raises:
            UsageError: One does not.
        """
        if self.joint_speed_radps > model.joint_speed_radps:
            raise UsageError(
                f"a {model.geometry.name} does not reach limits.joint_speed_radps",
                expected=f"at most {math.floor(1e4 * model.joint_speed_radps) / 1e4:.4f} rad/s",
                got=self.joint_speed_radps,
            )

    def check_workspace(self, model: ArmModel, tool_length_m: float) -> None:
        """Check that the tool of a model reaches some of the workspace above the table.

        Raises:
            UsageError: It reaches nothing of it; the message has the reach of the model.
        """
        lowest_m = max(self.workspace_min_m[2], self.table_z_m + self.tool_height_m)
        if lowest_m >= self.workspace_max_m[2]:
            raise UsageError(
                "no part of the workspace is above the table",
                expected=f"workspace_max_m with z above {lowest_m:g} (table_z_m and tool_height_m)",
                got=f"{self.workspace_max_m[2]:g}",
            )
        shape = model.geometry
        nearest_m = distance_to_box_m(shape, (*self.workspace_min_m[:2], lowest_m), self.workspace_max_m)
        most_m = reach_m(shape, tool_length_m)
        if nearest_m > most_m:
            raise UsageError(
                f"a {shape.name} with a tool of {tool_length_m:g} m reaches no part of the workspace",
                expected=f"a box within {most_m:.2f} m of its shoulder at (0, 0, {shape.d1_m:.2f})",
                got=f"{list(self.workspace_min_m)} to {list(self.workspace_max_m)}, {nearest_m:.2f} m away",
            )

    def check_wall(self) -> None:
        """Check that the wall leaves the workspace free.

        Raises:
            UsageError: It does not.
        """
        if self.workspace_min_m[0] < self.wall_x_m:
            raise UsageError(
                "the workspace of arm_node.limits reaches beyond its wall, where the arm would only stop",
                expected="a wall_x_m below the smallest x of the workspace",
                got=f"wall_x_m {self.wall_x_m:g}, workspace from {self.workspace_min_m[0]:g}",
            )

    def beyond_reach(self, model: ArmModel, tool_length_m: float) -> str:
        """Return how far the workspace reaches beyond the arm, in words; empty where it does not."""
        shape = model.geometry
        reach = reach_m(shape, tool_length_m)
        shoulder = np.array([0.0, 0.0, shape.d1_m])
        above = np.array(self.workspace_max_m) - shoulder - reach
        below = shoulder - reach - np.array(self.workspace_min_m)
        most_m = float(max(above.max(), below.max()))
        return "" if most_m <= 0.0 else f"it reaches {most_m:.1f} m beyond the arm and limits nothing there"

    def below_table(self) -> str:
        """Return how far the workspace reaches below the table top, in words; empty where it does not."""
        below_m = self.table_z_m - self.workspace_min_m[2]
        if below_m <= _LEEWAY:
            return ""
        limits = "and limits nothing there: table_z_m and tool_height_m do"
        return f"it reaches {below_m:.3g} m below the table top {limits}"


def check_corner(corner: Sequence[float], name: str) -> None:
    """Check that a corner of the workspace may be in metres: no tool comes further away from the base.

    Args:
        corner: The corner [m].
        name: What the message calls it.

    Raises:
        UsageError: A coordinate is beyond.
    """
    beyond = [value for value in corner if abs(value) > FURTHEST_M]
    if beyond:
        expected = f"coordinates in metres, at most {FURTHEST_M:g} from the base"
        raise UsageError(f"wrong {name}", expected=expected, got=beyond[0])


def check_increments(increments: Array, limits: ArmLimits) -> Violation | None:
    """Check a goal's increments ``(K, 7)``."""
    if increments.ndim != 2 or increments.shape[1] != 7:
        return Violation(LimitKind.SHAPE, f"increments have shape {increments.shape}, expected (K, 7)")
    if len(increments) > limits.increments:
        return Violation(LimitKind.SHAPE, f"{len(increments)} increments, at most {limits.increments}")
    if not np.isfinite(increments).all():
        return Violation(LimitKind.NOT_FINITE, "an increment is not finite")
    return _check_sizes(increments, limits) if len(increments) else None


def _check_sizes(increments: Array, limits: ArmLimits) -> Violation | None:
    scaled = np.minimum(np.abs(increments[:, :6]), 1e9)  # squares stay finite
    longest = math.sqrt(float(np.square(scaled[:, :3]).sum(axis=1).max()))
    if longest > limits.increment_m * _ROUNDING:
        reason = f"an increment of {longest:.3g} m, at most {limits.increment_m} m"
        return Violation(LimitKind.INCREMENT, reason)
    turn = math.sqrt(float(np.square(scaled[:, 3:]).sum(axis=1).max()))
    if turn > limits.increment_rad * _ROUNDING:
        return Violation(LimitKind.INCREMENT, f"a turn of {turn:.3g} rad, at most {limits.increment_rad} rad")
    grip = increments[:, 6]
    if grip.min() < 0.0 or grip.max() > 1.0:
        return Violation(LimitKind.GRIPPER, "a gripper position outside of [0, 1]")
    return None


def check_positions(p_m: Array, limits: ArmLimits) -> Violation | None:
    """Check tool positions ``(N, 3)`` (m) against table, wall and workspace."""
    if not np.isfinite(p_m).all():
        return Violation(LimitKind.NOT_FINITE, "a position of the tool is not finite")
    lowest = float(p_m[:, 2].min()) - limits.table_z_m
    if lowest < limits.tool_height_m - _LEEWAY:
        where = f"{abs(lowest):.3f} m {'below' if lowest < 0.0 else 'above'} the table"
        reason = f"the tool would be {where}, at least {limits.tool_height_m} m above it"
        return Violation(LimitKind.TABLE, reason)
    nearest = float(p_m[:, 0].min())
    if nearest < limits.wall_x_m:
        reason = f"the tool would be at x = {nearest:.3f} m, the wall at {limits.wall_x_m} m"
        return Violation(LimitKind.WALL, reason)
    for axis, name in enumerate("xyz"):
        low, high = float(p_m[:, axis].min()), float(p_m[:, axis].max())
        if low < limits.workspace_min_m[axis] - _LEEWAY or high > limits.workspace_max_m[axis] + _LEEWAY:
            box = f"[{limits.workspace_min_m[axis]}, {limits.workspace_max_m[axis]}]"
            reason = f"the tool would be at {name} from {low:.3f} to {high:.3f} m, allowed {box} m"
            return Violation(LimitKind.WORKSPACE, reason)
    return None


def check_configurations(q_rad: Array, limits: ArmLimits) -> Violation | None:
    """Check joint angles ``(N, 6)`` (rad) against the joint limits."""
    if not np.isfinite(q_rad).all():
        return Violation(LimitKind.NOT_FINITE, "a joint angle is not finite")
    outside = (q_rad < np.array(limits.q_min_rad) - _LEEWAY) | (q_rad > np.array(limits.q_max_rad) + _LEEWAY)
    if outside.any():
        joint = int(np.argmax(outside.any(axis=0)))
        worst = q_rad[outside[:, joint], joint][0]
        reason = f"joint {joint + 1} would turn to {worst:.3f} rad, beyond its limit"
        return Violation(LimitKind.JOINT, reason)
    return None


def keeps_limits(
    q_rad: Array, qd_radps: Array, qdd_radps2: Array, tool_m: Array, *, tool_mps: float, limits: ArmLimits
) -> bool:
    """Return whether one command keeps what the checks of configurations, positions and motion check.

    Almost every command does, and in plain numbers that is known in a tenth of their time.
    """
    lowest, highest = limits.workspace_min_m, limits.workspace_max_m
    x, y, z = tool_m.tolist()
    return (
        all(
            low - _LEEWAY <= angle <= high + _LEEWAY
            for low, angle, high in zip(limits.q_min_rad, q_rad.tolist(), limits.q_max_rad, strict=True)
        )
        and z - limits.table_z_m >= limits.tool_height_m - _LEEWAY
        and x >= limits.wall_x_m
        and lowest[0] - _LEEWAY <= x <= highest[0] + _LEEWAY
        and lowest[1] - _LEEWAY <= y <= highest[1] + _LEEWAY
        and lowest[2] - _LEEWAY <= z <= highest[2] + _LEEWAY
        and all(abs(speed) <= limits.joint_speed_radps * _DISCRETE for speed in qd_radps.tolist())
        and all(abs(value) <= limits.joint_acceleration_radps2 * _DISCRETE for value in qdd_radps2.tolist())
        and tool_mps <= limits.tool_speed_mps * _DISCRETE
    )


def check_motion(qd_radps: Array, qdd_radps2: Array, tool_mps: float, limits: ArmLimits) -> Violation | None:
    """Check one command: joint speeds ``(6,)``, joint accelerations ``(6,)`` and the speed of the tool."""
    speed, acceleration = float(np.abs(qd_radps).max()), float(np.abs(qdd_radps2).max())
    for kind, value, most, motion, unit in (
        (LimitKind.JOINT_SPEED, speed, limits.joint_speed_radps, "a joint would move", "rad/s"),
        (
            LimitKind.JOINT_ACCELERATION,
            acceleration,
            limits.joint_acceleration_radps2,
            "a joint would accelerate",
            "rad/s2",
        ),
        (LimitKind.TOOL_SPEED, tool_mps, limits.tool_speed_mps, "the tool would move", "m/s"),
    ):
        if not value <= most * _DISCRETE:
            return Violation(kind, f"{motion} at {value:.3f} {unit}, at most {most}")
    return None
