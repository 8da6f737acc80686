"""Results of the inverse kinematics."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray


class Reach(IntEnum):
    """Reachability of a pose."""

    OK = 0
    NOT_FINITE = 1
    NOT_RIGID = 2
    SHOULDER = 3
    TOO_FAR = 4

    @property
    def reason(self) -> str:
        """Why the pose is unreachable; empty for OK."""
        return _REASONS[self]


_REASONS = {
    Reach.OK: "",
    Reach.NOT_FINITE: "the pose has a number that is not finite",
    Reach.NOT_RIGID: "the pose is not a rigid motion: its rotation must be orthonormal and right-handed, "
    "its last row 0, 0, 0, 1",
    Reach.SHOULDER: "the wrist would be inside the cylinder about the base axis that it cannot enter",
    Reach.TOO_FAR: "the pose is beyond the reach of the stretched arm",
}


@dataclass(frozen=True, slots=True, eq=False)
class InverseResult:
    """All solutions of one pose.

    Attributes:
        q_rad: ``(M, 6)`` float64 in [-pi, pi], M from 0 to 8; always finite.
        branches: ``(M,)`` int64, increasing: the branch of each solution, ``4 shoulder + 2 wrist + elbow``
            (each 0 or 1). A branch is continuous along a path without singularities.
        reach: OK, or why M is 0.
    """

    q_rad: NDArray[np.float64]
    branches: NDArray[np.int64]
    reach: Reach

    @property
    def reason(self) -> str:
        """Why there is no solution; empty if there is one."""
        return self.reach.reason


@dataclass(frozen=True, slots=True, eq=False)
class InverseBatch:
    """All solutions of N poses.

    Attributes:
        q_rad: ``(N, 8, 6)`` float64 in [-pi, pi], by branch (see `InverseResult`); zero if not valid.
        valid: ``(N, 8)`` bool.
        status: ``(N,)`` int8, a `Reach` for each pose.
    """

    q_rad: NDArray[np.float64]
    valid: NDArray[np.bool_]
    status: NDArray[np.int8]

    def reason(self, index: int) -> str:
        """Return why pose ``index`` has no solution; empty if it has one."""
        return Reach(int(self.status[index])).reason
