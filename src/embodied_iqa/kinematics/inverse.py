"""What the inverse returns: the joint angles that put the tool at a pose, or why there are none."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

__all__ = ["InverseBatch", "InverseResult", "Reach"]


class Reach(IntEnum):
    """Whether a pose can be reached, and if not, why."""

    OK = 0
    NOT_FINITE = 1
    NOT_RIGID = 2
    SHOULDER = 3
    TOO_FAR = 4

    @property
    def reason(self) -> str:
        """The reason in words; empty where the pose can be reached."""
        return _REASONS[self]


_REASONS = {
    Reach.OK: "",
    Reach.NOT_FINITE: "the pose holds a number that is not finite",
    Reach.NOT_RIGID: "the pose is not a rigid motion: its rotation is not orthonormal and right-handed",
    Reach.SHOULDER: "the wrist would lie inside the cylinder about the base axis that no wrist can enter",
    Reach.TOO_FAR: "the pose lies beyond the stretched arm",
}


@dataclass(frozen=True, slots=True, eq=False)
class InverseResult:
    """All solutions of one pose.

    Attributes:
        q_rad: ``(M, 6)`` float64 in [-pi, pi], M from 0 to 8; always finite.
        branches: ``(M,)`` int64, increasing: the branch of each solution, ``4 shoulder + 2 wrist + elbow``
            (each 0 or 1). Along a path that meets no singularity a branch is continuous.
        reach: Why M is 0.
    """

    q_rad: NDArray[np.float64]
    branches: NDArray[np.int64]
    reach: Reach

    @property
    def reason(self) -> str:
        """Why there is no solution, in words; empty where there is one."""
        return self.reach.reason


@dataclass(frozen=True, slots=True, eq=False)
class InverseBatch:
    """All solutions of N poses.

    Attributes:
        q_rad: ``(N, 8, 6)`` float64 in [-pi, pi], by branch (see `InverseResult`); zeros where not valid.
        valid: ``(N, 8)`` bool.
        status: ``(N,)`` int8, a `Reach` for each pose.
    """

    q_rad: NDArray[np.float64]
    valid: NDArray[np.bool_]
    status: NDArray[np.int8]

    def reason(self, index: int) -> str:
        """Why pose ``index`` has no solution, in words; empty where it has one."""
        return Reach(int(self.status[index])).reason
