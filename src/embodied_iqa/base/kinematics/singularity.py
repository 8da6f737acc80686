"""Distances of a configuration from the three singularities of a UR arm.

The determinant of the Jacobian factors into them:
``|det J| = |a2 a3 sin(q3) sin(q5) (a2 cos(q2) + a3 cos(q2+q3) + d5 sin(q2+q3+q4))|``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.kinematics.geometry import UrGeometry


class Singularity(StrEnum):
    """Singularities, at each of which the arm loses a direction of motion."""

    SHOULDER = "shoulder"
    """The wrist centre is on the cylinder of radius d4 about the base axis: theta1 has one solution."""
    ELBOW = "elbow"
    """The arm is stretched or folded: theta3 is 0 or pi."""
    WRIST = "wrist"
    """Axes 4 and 6 are parallel: theta5 is 0 or pi, theta6 is free."""


@dataclass(frozen=True, slots=True)
class SingularityMargins:
    """Distance from each singularity; 0 is singular, larger is better.

    Attributes:
        shoulder_m: Distance of the wrist centre from the shoulder's singular plane (m).
        elbow_rad: Distance of theta3 from the nearest multiple of pi, in [0, pi/2].
        wrist_rad: Distance of theta5 from the nearest multiple of pi, in [0, pi/2].
        reach_m: Length of the two long links (m), the scale of the shoulder margin.
    """

    shoulder_m: float
    elbow_rad: float
    wrist_rad: float
    reach_m: float

    @property
    def closeness(self) -> float:
        """One minus the smallest relative margin: 1 at a singularity, 0 as far as possible from all."""
        return 1.0 - min(self._relative().values())

    @property
    def nearest(self) -> Singularity:
        """The singularity with the smallest relative margin."""
        relative = self._relative()
        return min(relative, key=relative.__getitem__)

    def within(self, linear_m: float, angular_rad: float) -> Singularity | None:
        """Return a singularity closer than the limits, or None."""
        if self.shoulder_m < linear_m:
            return Singularity.SHOULDER
        if self.elbow_rad < angular_rad:
            return Singularity.ELBOW
        return Singularity.WRIST if self.wrist_rad < angular_rad else None

    def _relative(self) -> dict[Singularity, float]:
        return {
            Singularity.SHOULDER: min(1.0, self.shoulder_m / self.reach_m),
            Singularity.ELBOW: math.sin(self.elbow_rad),
            Singularity.WRIST: math.sin(self.wrist_rad),
        }


def smallest_margins(q_rad: NDArray[np.float64], geometry: UrGeometry) -> SingularityMargins:
    """Return the smallest of each margin over configurations ``(N, 6)`` (rad)."""
    q2, q3, q23 = q_rad[:, 1], q_rad[:, 2], q_rad[:, 1] + q_rad[:, 2]
    wrist_x = (
        geometry.a2_m * np.cos(q2) + geometry.a3_m * np.cos(q23) + geometry.d5_m * np.sin(q23 + q_rad[:, 3])
    )
    return SingularityMargins(
        shoulder_m=float(np.abs(wrist_x).min()),
        elbow_rad=float(np.arcsin(np.abs(np.sin(q3))).min()),
        wrist_rad=float(np.arcsin(np.abs(np.sin(q_rad[:, 4]))).min()),
        reach_m=abs(geometry.a2_m) + abs(geometry.a3_m),
    )
