"""Standard geometries of the UR family, and which of them a measured pose fits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.kinematics.geometry import UR5, UrGeometry
from embodied_iqa.base.kinematics.se3 import rotation_to_rotvec

Array = NDArray[np.float64]

UR_MODELS: Final = {
    geometry.name: geometry
    for geometry in (
        UrGeometry("UR3", 0.1519, -0.24365, -0.21325, 0.11235, 0.08535, 0.0819),
        UR5,
        UrGeometry("UR10", 0.1273, -0.612, -0.5723, 0.163941, 0.1157, 0.0922),
        UrGeometry("UR3e", 0.15185, -0.24355, -0.2132, 0.13105, 0.08535, 0.0921),
        UrGeometry("UR5e", 0.1625, -0.425, -0.3922, 0.1333, 0.0997, 0.0996),
        UrGeometry("UR10e", 0.1807, -0.6127, -0.57155, 0.17415, 0.11985, 0.11655),
        UrGeometry("UR16e", 0.1807, -0.4784, -0.36, 0.17415, 0.11985, 0.11655),
    )
}
"""By name (m). Source: Universal Robots, "DH parameters for calculations of kinematics and dynamics"."""

_PAYLOADS_KG: Final = {
    "UR3": 3.0,
    "UR5": 5.0,
    "UR10": 10.0,
    "UR3e": 3.0,
    "UR5e": 5.0,
    "UR10e": 12.5,
    "UR16e": 16.0,
}
_SLOW_SHOULDERS: Final = ("UR10", "UR10e", "UR16e")
"""Their base and shoulder turn at 120 degrees a second at most; all other joints reach at least 180."""


class ArmModel(StrEnum):
    """Model of a UR arm, as a user names it."""

    UNSET = "unset"
    """Not named: a real arm is then not moved."""
    UR3 = "ur3"
    UR5 = "ur5"
    UR10 = "ur10"
    UR3E = "ur3e"
    UR5E = "ur5e"
    UR10E = "ur10e"
    UR16E = "ur16e"

    @property
    def geometry(self) -> UrGeometry:
        """The standard lengths.

        Raises:
            UsageError: The model is unset.
        """
        if self is ArmModel.UNSET:
            raise UsageError("the model of the arm is not set", available=NAMED_MODELS)
        return UR_MODELS[self.value[:-1].upper() + "e" if self.is_e_series else self.value.upper()]

    @property
    def number(self) -> int:
        """The number in its name, such as 5 for a UR5 and a UR5e, as a dashboard states it."""
        return int(self.geometry.name.removeprefix("UR").removesuffix("e"))

    @property
    def is_e_series(self) -> bool:
        """Whether its controller is that of an e-Series, with software 5 or later; else of a CB3, with 3."""
        return self.value.endswith("e")

    @property
    def rate_hz(self) -> float:
        """Rate at which its controller takes joint targets and sends states."""
        return 500.0 if self.is_e_series else 125.0

    @property
    def payload_kg(self) -> float:
        """The largest mass at the flange, the gripper's included."""
        return _PAYLOADS_KG[self.geometry.name]

    @property
    def joint_speed_radps(self) -> float:
        """The largest speed that every joint reaches."""
        return math.radians(120.0 if self.geometry.name in _SLOW_SHOULDERS else 180.0)


T_BASELINK_BASE: Final = np.diag([-1.0, -1.0, 1.0, 1.0])
"""The frame base_link of a UR's URDF and the controller's base differ by half a turn about z."""
NAMED_MODELS: Final = tuple(model for model in ArmModel if model is not ArmModel.UNSET)


def flange_pose(geometry: UrGeometry, q_rad: ArrayLike) -> Array:
    """Return ``T_base_flange`` ``(4, 4)`` (m) of one configuration ``(6,)``, without compiled kernels.

    `Kinematics.forward` is faster from the second call on, but loads numba first, which takes longer than
    connecting to an arm may.

    Raises:
        UsageError: Not six finite angles.
    """
    q = np.asarray(q_rad, dtype=np.float64)
    if q.shape != (6,) or not np.isfinite(q).all():
        raise UsageError("wrong configuration", expected="six finite angles", got=q.tolist())
    T = np.eye(4)
    for angle_rad, (d, a, cos_alpha, sin_alpha) in zip(q.tolist(), geometry.table.tolist(), strict=True):
        c, s = math.cos(angle_rad), math.sin(angle_rad)
        T = T @ np.array(
            [
                (c, -s * cos_alpha, s * sin_alpha, a * c),
                (s, c * cos_alpha, -c * sin_alpha, a * s),
                (0.0, sin_alpha, cos_alpha, d),
                (0.0, 0.0, 0.0, 1.0),
            ]
        )
    return T


@dataclass(frozen=True, slots=True)
class PoseDeviation:
    """How far apart two poses are.

    Attributes:
        distance_m: Between their origins.
        angle_rad: Of the rotation between them, 0 to pi.
    """

    distance_m: float
    angle_rad: float

    @classmethod
    def between(cls, A: Array, B: Array) -> PoseDeviation:
        """Compare two transforms ``(4, 4)`` (m)."""
        angle_rad = float(np.linalg.norm(rotation_to_rotvec(A[:3, :3].T @ B[:3, :3])))
        return cls(float(np.linalg.norm(A[:3, 3] - B[:3, 3])), angle_rad)

    def __str__(self) -> str:
        return f"{1e3 * self.distance_m:.1f} mm and {math.degrees(self.angle_rad):.2f} degrees"


def nearest_model(q_rad: ArrayLike, T_base_flange: Array) -> tuple[UrGeometry, PoseDeviation]:
    """Return the standard geometry whose flange at ``q_rad`` ``(6,)`` is nearest to a pose, and how near.

    All models turn their joints about the same axes, so that only positions tell them apart.
    """
    found = [
        (model, PoseDeviation.between(flange_pose(model, q_rad), T_base_flange))
        for model in UR_MODELS.values()
    ]
    return min(found, key=lambda pair: pair[1].distance_m)
