"""Bodies of UR arms: what collides of each link, what is visible, its mass, and the torques of the joints.

Those of the UR5 are drawn by hand. Another arm has the same shapes, fitted link by link to its
Denavit-Hartenberg lengths and to the housings with which the arm's controller checks collisions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final

from embodied_iqa.base.kinematics import UR5
from embodied_iqa.base.kinematics.geometry import UrGeometry
from embodied_iqa.base.kinematics.models import ArmModel
from embodied_iqa.base.kinematics.shapes import shape_of
from embodied_iqa.world.simulation.geoms import Vector

Capsule = tuple[Vector, Vector, float]
"""Ends of the axis and radius (m), in the frame of the link."""
Rod = tuple[Vector, Vector, float, str]
"""The same of a visible cylinder, and its material."""
_Place = Callable[[Vector], Vector]


@dataclass(frozen=True, slots=True)
class ArmBody:
    """The body of an arm.

    Attributes:
        geometry: Its lengths.
        capsules: What collides, by link; the shoulder is on the table, and collides with nothing.
        rods: What is visible of each link: tubes, joint housings and their caps.
        masses_kg: Of each link.
        torques_nm: The most of each joint.
        stiffness: Gains of the servos, of those of the UR5: heavier arms need more for the same motion.
    """

    geometry: UrGeometry
    capsules: dict[int, Capsule]
    rods: tuple[tuple[Rod, ...], ...]
    masses_kg: tuple[float, ...]
    torques_nm: tuple[float, ...]
    stiffness: float = 1.0


_UPPER, _FORE = UR5.a2_m, UR5.a3_m
_D1, _D4, _D5, _D6 = UR5.d1_m, UR5.d4_m, UR5.d5_m, UR5.d6_m
_UPPER_Z, _FORE_Z = 0.136, 0.0165
"""From the joints' frames to the middle of the tubes, along the axis of the shoulder (m)."""

_UR5_BODY: Final = ArmBody(
    UR5,
    capsules={
        1: ((0.0, 0.0, 0.136), (_UPPER, 0.0, 0.136), 0.054),
        2: ((0.0, 0.0, 0.0165), (_FORE, 0.0, 0.0165), 0.045),
        3: ((0.0, 0.0, 0.06), (0.0, 0.0, 0.12), 0.045),
        4: ((0.0, 0.0, 0.05), (0.0, 0.0, 0.11), 0.045),
        5: ((0.0, 0.0, 0.02), (0.0, 0.0, 0.05), 0.040),
    },
    rods=(
        (
            ((0, 0, 0.03), (0, 0, _D1), 0.060, "shell"),
            ((0, 0.062, _D1), (0, -0.068, _D1), 0.059, "shell"),
            ((0, 0.062, _D1), (0, 0.074, _D1), 0.055, "cap"),
        ),
        (
            ((0, 0, 0.070), (0, 0, 0.190), 0.059, "shell"),
            ((0, 0, 0.190), (0, 0, 0.202), 0.055, "cap"),
            ((0, 0, 0.136), (_UPPER, 0, 0.136), 0.048, "shell"),
            ((_UPPER, 0, 0.078), (_UPPER, 0, 0.184), 0.056, "shell"),
            ((_UPPER, 0, 0.184), (_UPPER, 0, 0.196), 0.052, "cap"),
        ),
        (
            ((0, 0, -0.040), (0, 0, 0.076), 0.054, "shell"),
            ((0, 0, -0.052), (0, 0, -0.040), 0.050, "cap"),
            ((0, 0, 0.0165), (_FORE, 0, 0.0165), 0.038, "shell"),
            ((_FORE, 0, -0.036), (_FORE, 0, 0.062), 0.042, "shell"),
            ((_FORE, 0, -0.047), (_FORE, 0, -0.036), 0.038, "cap"),
        ),
        (
            ((0, 0, 0.064), (0, 0, _D4 + 0.042), 0.042, "shell"),
            ((0, 0, _D4 + 0.042), (0, 0, _D4 + 0.053), 0.038, "cap"),
            ((0, 0, _D4), (0, -0.048, _D4), 0.042, "shell"),
        ),
        (
            ((0, 0, 0.050), (0, 0, _D5 + 0.042), 0.042, "shell"),
            ((0, 0, _D5 + 0.042), (0, 0, _D5 + 0.053), 0.038, "cap"),
            ((0, 0, _D5), (0, 0.044, _D5), 0.042, "shell"),
        ),
        (((0, 0, 0.046), (0, 0, _D6), 0.0375, "shell"),),
    ),
    masses_kg=(3.7, 8.393, 2.275, 1.219, 1.219, 0.1879),
    torques_nm=(150.0, 150.0, 150.0, 28.0, 28.0, 28.0),
)

_MASSES_KG: Final[dict[str, tuple[float, ...]]] = {
    "UR10": (7.1, 12.7, 4.27, 2.0, 2.0, 0.365),
    "UR5e": (3.761, 8.058, 2.846, 1.37, 1.3, 0.365),
    "UR10e": (7.369, 13.051, 3.989, 2.1, 1.98, 0.615),
    "UR16e": (7.369, 10.45, 4.321, 2.18, 2.033, 0.907),
}
"""Source: Universal Robots, "DH parameters for calculations of kinematics and dynamics"."""
_LARGE_TORQUES_NM: Final = (330.0, 330.0, 150.0, 56.0, 56.0, 56.0)
_LARGE: Final = ("UR10", "UR10e", "UR16e")


@cache
def body_of(model: ArmModel) -> ArmBody:
    """Return the body of an arm of the simulated cell."""
    geometry = model.geometry
    if geometry is UR5:
        return _UR5_BODY
    places, radii = _fitted(geometry)
    is_large = geometry.name in _LARGE
    return ArmBody(
        geometry,
        capsules={
            link: (places[link](start), places[link](end), radius * radii[link])
            for link, (start, end, radius) in _UR5_BODY.capsules.items()
        },
        rods=tuple(
            tuple(
                (place(start), place(end), radius * width, material) for start, end, radius, material in rods
            )
            for rods, place, width in zip(_UR5_BODY.rods, places, radii, strict=True)
        ),
        masses_kg=_MASSES_KG[geometry.name],
        torques_nm=_LARGE_TORQUES_NM if is_large else _UR5_BODY.torques_nm,
        stiffness=2.2 if is_large else 1.0,
    )


def _fitted(geometry: UrGeometry) -> tuple[tuple[_Place, ...], tuple[float, ...]]:
    """Return where a point of each link of the UR5 is on another arm, and how much wider its links are."""
    ours, shape = shape_of(UR5), shape_of(geometry)
    shoulder, upper = shape.shoulder_m / ours.shoulder_m, shape.upper_arm_m / ours.upper_arm_m
    fore, wrist = shape.forearm_m / ours.forearm_m, shape.wrist_m / ours.wrist_m
    widths = (shoulder, upper, fore, wrist, wrist, shape.wrist_3_m / ours.wrist_3_m)

    def tube(length: float, z_ours: float, z_m: float, width: float) -> _Place:
        return lambda point: (point[0] * length, point[1] * width, z_m + (point[2] - z_ours) * width)

    def joint(length: float, width: float) -> _Place:
        return lambda point: (point[0] * width, point[1] * width, point[2] * length)

    places = (
        joint(geometry.d1_m / _D1, shoulder),
        tube(geometry.a2_m / _UPPER, _UPPER_Z, shape.upper_arm_offset_m, upper),
        tube(geometry.a3_m / _FORE, _FORE_Z, shape.forearm_offset_m, fore),
        joint(geometry.d4_m / _D4, wrist),
        joint(geometry.d5_m / _D5, wrist),
        joint(geometry.d6_m / _D6, widths[5]),
    )
    return places, widths
