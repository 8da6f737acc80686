"""Denavit-Hartenberg parameters of UR arms, the tool transform, and how far an arm reaches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import UsageError

TOOL_2F140_M = 0.2
"""Flange to fingertips of a closed Robotiq 2F-140, along the flange's z."""
LONGEST_TOOL_M = 1.0
"""Longest tool that an arm is taken to have."""
HOME_Q_RAD = (
    -0.27638018217322724,
    -1.7632673204381009,
    1.4362760530603678,
    -1.2438050594171635,
    -1.5707963267948966,
    -0.27638018217322724,
)
"""A UR5 at home: tool centre point at (-0.40, 0, 0.35), pointing down, fingers left and right."""
_TURNS: Final = 721
"""Angles of joint 5 from 0 to half a turn, among which the farthest reach is sought."""


@dataclass(frozen=True, slots=True)
class UrGeometry:
    """Standard Denavit-Hartenberg lengths of an arm of the UR family (m).

    Joint i turns frame i-1 into frame i by ``A_i = Rz(q_i) Tz(d_i) Tx(a_i) Rx(alpha_i)`` with
    ``alpha = (pi/2, 0, 0, pi/2, -pi/2, 0)``. The wrist is not spherical: axes 4, 5 and 6 do not meet.

    Attributes:
        table: ``(6, 4)`` float64, read-only: rows of ``(d, a, cos alpha, sin alpha)``.
    """

    name: str
    d1_m: float
    a2_m: float
    a3_m: float
    d4_m: float
    d5_m: float
    d6_m: float
    table: NDArray[np.float64] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        table = np.array(
            [
                (self.d1_m, 0.0, 0.0, 1.0),
                (0.0, self.a2_m, 1.0, 0.0),
                (0.0, self.a3_m, 1.0, 0.0),
                (self.d4_m, 0.0, 0.0, 1.0),
                (self.d5_m, 0.0, 0.0, -1.0),
                (self.d6_m, 0.0, 1.0, 0.0),
            ]
        )
        if not np.isfinite(table).all() or self.a2_m == 0 or self.a3_m == 0 or self.d4_m <= 0:
            raise UsageError("wrong link lengths", expected="finite, a2 and a3 not 0, d4 > 0", got=self.name)
        object.__setattr__(self, "table", table)


UR5 = UrGeometry("UR5", d1_m=0.089159, a2_m=-0.425, a3_m=-0.39225, d4_m=0.10915, d5_m=0.09465, d6_m=0.0823)
"""The CB3 UR5, from its controller's own table."""


def tool_along_z(length_m: float) -> NDArray[np.float64]:
    """Return ``T_flange_tool`` ``(4, 4)`` of a tool centre point ``length_m`` in front of the flange."""
    T_flange_tool = np.eye(4)
    T_flange_tool[2, 3] = length_m
    return T_flange_tool


def reach_m(geometry: UrGeometry, tool_length_m: float) -> float:
    """Return the largest distance of the tool centre point from the shoulder [m].

    The shoulder is the point ``(0, 0, d1)``, where the axes of the first two joints meet. From there the
    stretched arm has the length ``|a2| + |a3|`` in its plane. Links 4 to 6 turn by ``theta4`` and ``theta5``:
    with ``t = d6 + tool``, the tool is at most ``|a2| + |a3| + sqrt(d5^2 + t^2 sin^2 theta5)`` away in the
    plane, and ``d4 + t cos theta5`` across it.

    Args:
        geometry: The arm's lengths.
        tool_length_m: From the flange to the tool centre point, along the flange's z.
    """
    theta5 = np.linspace(0.0, math.pi, _TURNS)
    t_m = geometry.d6_m + tool_length_m
    along = abs(geometry.a2_m) + abs(geometry.a3_m) + np.hypot(geometry.d5_m, t_m * np.sin(theta5))
    return float(np.hypot(along, geometry.d4_m + t_m * np.cos(theta5)).max())


def distance_to_box_m(geometry: UrGeometry, lower_m: Sequence[float], upper_m: Sequence[float]) -> float:
    """Return the distance from the shoulder to the nearest point of a box in the base frame [m]; 0 inside."""
    shoulder = np.array([0.0, 0.0, geometry.d1_m])
    return float(np.linalg.norm(np.clip(shoulder, lower_m, upper_m) - shoulder))
