"""Denavit-Hartenberg parameters of UR arms and the tool transform."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import UsageError

TOOL_2F140_M = 0.2
"""Flange to fingertips of a closed Robotiq 2F-140, along the flange's z."""
HOME_Q_RAD = (
    -0.27638018217322724,
    -1.7632673204381009,
    1.4362760530603678,
    -1.2438050594171635,
    -1.5707963267948966,
    -0.27638018217322724,
)
"""A UR5 at home: tool centre point at (-0.40, 0, 0.35), pointing down, fingers left and right."""


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
