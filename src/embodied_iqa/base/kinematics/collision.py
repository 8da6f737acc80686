"""Collision checks of the arm, modelled as capsules, against itself, the table and a wall.

The model is coarse on purpose and does not include objects on the table.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embodied_iqa.base.kinematics.arm import Kinematics
from embodied_iqa.base.kinematics.geometry import UrGeometry
from embodied_iqa.base.kinematics.shapes import shape_of
from embodied_iqa.base.lazy import load

Array = NDArray[np.float64]
_Point = tuple[float, float, float]

_kernels = functools.cache(functools.partial(load, "embodied_iqa.base.kinematics.collision_kernels"))
"""Returns the compiled distances; imported at the first check because numba loads slowly."""


class Part(StrEnum):
    """Parts of the arm that have a capsule, from the base outwards."""

    BASE = "base"
    SHOULDER = "shoulder"
    UPPER_ARM = "upper arm"
    ELBOW = "elbow"
    FOREARM = "forearm"
    WRIST_1 = "wrist 1"
    WRIST_2 = "wrist 2"
    WRIST_3 = "wrist 3"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class World:
    """Obstacles around the arm, in the controller's base frame.

    Attributes:
        table_z_m: Height of the table top; parts from the upper arm on must stay above. None: no table.
        wall_x_m: A wall that the arm must stay in front of (at larger x). None: no wall.
        margin_m: Clearance to keep from everything, the arm itself included.
    """

    table_z_m: float | None = 0.0
    wall_x_m: float | None = -0.95
    margin_m: float = 0.0


@dataclass(frozen=True, slots=True)
class Collision:
    """The smallest clearance of a configuration.

    Attributes:
        between: Names of the closest pair.
        clearance_m: Their distance; negative if they overlap.
    """

    between: tuple[str, str]
    clearance_m: float

    def __str__(self) -> str:
        return f"{self.between[0]} and {self.between[1]} come within {1000 * self.clearance_m:.0f} mm"


@dataclass(frozen=True, slots=True)
class _Capsule:
    part: Part
    frame: int
    start_m: _Point
    end_m: _Point
    radius_m: float


_OUTWARDS = tuple(Part)
_APART = [
    (inner, outer)
    for inner, first in (
        (Part.BASE, Part.FOREARM),
        (Part.SHOULDER, Part.FOREARM),
        (Part.UPPER_ARM, Part.WRIST_1),
        (Part.ELBOW, Part.WRIST_3),
        (Part.FOREARM, Part.WRIST_3),
        (Part.WRIST_1, Part.TOOL),
    )
    for outer in _OUTWARDS[_OUTWARDS.index(first) :]
]
"""Pairs that can collide; neighbours always touch."""


def _capsules(geometry: UrGeometry, T_flange_tool: Array, tool_radius_m: float) -> tuple[_Capsule, ...]:
    shape = shape_of(geometry)
    offset, inner = shape.upper_arm_offset_m, shape.forearm_offset_m
    over, wrist_over = shape.overhang_m, shape.wrist_overhang_m
    start, outer = (0.0, 0.0, 0.0 - wrist_over), (0.0, 0.0, offset + over)
    tip = T_flange_tool[:3, 3]
    length = float(np.linalg.norm(tip))
    end = tip * max(0.0, 1.0 - tool_radius_m / length) if length > 0.0 else tip
    tool_end = (float(end[0]), float(end[1]), float(end[2]))
    return (
        _Capsule(Part.BASE, 0, (0, 0, 0.03), (0, 0, geometry.d1_m + over), shape.base_m),
        _Capsule(Part.SHOULDER, 1, (0, 0, 0), outer, shape.shoulder_m),
        _Capsule(Part.UPPER_ARM, 2, (-geometry.a2_m, 0, offset), (0, 0, offset), shape.upper_arm_m),
        _Capsule(Part.ELBOW, 2, (0, 0, inner - over), outer, shape.upper_arm_m),
        _Capsule(Part.FOREARM, 3, (-geometry.a3_m, 0, inner), (0, 0, inner), shape.forearm_m),
        _Capsule(
            Part.WRIST_1, 3, (0, 0, inner - wrist_over), (0, 0, geometry.d4_m + wrist_over), shape.wrist_m
        ),
        _Capsule(Part.WRIST_2, 4, start, (0, 0, geometry.d5_m + wrist_over), shape.wrist_m),
        _Capsule(Part.WRIST_3, 5, start, (0, 0, geometry.d6_m - 0.02), shape.wrist_3_m),
        _Capsule(Part.TOOL, 6, (0, 0, 0), tool_end, tool_radius_m),
    )


_FIRST_MOVING = 2
"""The base and the shoulder are fixed to the table and not compared with it."""


@dataclass(frozen=True, slots=True, eq=False)
class CollisionModel:
    """Checks configurations of an arm against itself, the table and a wall.

    Args:
        kinematics: The arm with its tool; its geometry names the model whose housings are checked.
        world: Table and wall.
        tool_radius_m: Radius of the gripper's capsule, whose round end touches the tool centre point.
    """

    kinematics: Kinematics
    world: World = World()
    tool_radius_m: float = 0.04
    _shape: tuple[NDArray[np.int64], Array, Array, NDArray[np.int64]] = field(init=False, repr=False)
    _planes: tuple[Array, NDArray[np.int64], tuple[str, ...]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        capsules = _capsules(self.kinematics.geometry, self.kinematics.T_flange_tool, self.tool_radius_m)
        shape = (
            np.array([capsule.frame for capsule in capsules]),
            np.array([(capsule.start_m, capsule.end_m) for capsule in capsules], dtype=np.float64),
            np.array([capsule.radius_m for capsule in capsules]),
            np.array([(_OUTWARDS.index(a), _OUTWARDS.index(b)) for a, b in _APART]),
        )
        object.__setattr__(self, "_shape", shape)
        object.__setattr__(self, "_planes", _planes(self.world))

    def nearest(self, q_rad: ArrayLike) -> Collision:
        """Return the smallest clearance of one configuration ``(6,)`` (rad)."""
        clearance_m, which = self._clearances(np.asarray(q_rad, dtype=np.float64)[None])
        return Collision(self._names(int(which[0])), float(clearance_m[0]))

    def first_collision(self, q_rad: ArrayLike) -> tuple[int, Collision] | None:
        """Return the first of N configurations ``(N, 6)`` that comes closer than the margin, or None."""
        clearance_m, which = self._clearances(np.asarray(q_rad, dtype=np.float64))
        hits = np.flatnonzero(clearance_m < self.world.margin_m)
        if hits.size == 0:
            return None
        index = int(hits[0])
        return index, Collision(self._names(int(which[index])), float(clearance_m[index]))

    def __call__(self, q_rad: NDArray[np.float64]) -> str | None:
        """Return why one configuration is not allowed, or None, as `ChoiceOptions` expects."""
        found = self.nearest(q_rad)
        return str(found) if found.clearance_m < self.world.margin_m else None

    def _clearances(self, q_rad: Array) -> tuple[Array, NDArray[np.int64]]:
        frames = self.kinematics.link_frames(q_rad)
        result: tuple[Array, NDArray[np.int64]] = _kernels().clearances(
            frames, *self._shape, *self._planes[:2]
        )
        return result

    def _names(self, which: int) -> tuple[str, str]:
        if which < len(_APART):
            return str(_APART[which][0]), str(_APART[which][1])
        plane, part = divmod(which - len(_APART), len(Part))
        return str(_OUTWARDS[part]), self._planes[2][plane]


def _planes(world: World) -> tuple[Array, NDArray[np.int64], tuple[str, ...]]:
    rows, skips, names = [], [], []
    if world.table_z_m is not None:
        rows.append((0.0, 0.0, 1.0, world.table_z_m))
        skips.append(_FIRST_MOVING)
        names.append("table")
    if world.wall_x_m is not None:
        rows.append((1.0, 0.0, 0.0, world.wall_x_m))
        skips.append(0)
        names.append("wall")
    return np.array(rows, dtype=np.float64).reshape(-1, 4), np.array(skips, dtype=np.int64), tuple(names)
