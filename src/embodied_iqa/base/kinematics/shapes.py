"""Sizes of the housings of UR arms, from which `collision` builds their capsules."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.kinematics.geometry import UrGeometry


@dataclass(frozen=True, slots=True)
class ArmShape:
    """Offsets, radii and overhangs of an arm's housings (m).

    Denavit-Hartenberg lengths have neither radii nor these offsets, only a sum that contains both.

    Attributes:
        upper_arm_offset_m: From the base's axis to the middle of the upper arm, along the shoulder's axis.
        forearm_offset_m: Likewise to the middle of the forearm.
        base_m: Radius of the base.
        shoulder_m: Radius of the shoulder.
        upper_arm_m: Radius of the upper arm and the elbow.
        forearm_m: Radius of the forearm.
        wrist_m: Radius of wrists 1 and 2.
        wrist_3_m: Radius of wrist 3.
        overhang_m: Length by which the housings of base, shoulder and elbow continue beyond the points that
            the offsets and d1 give.
        wrist_overhang_m: Likewise of the wrists.
    """

    upper_arm_offset_m: float
    forearm_offset_m: float
    base_m: float
    shoulder_m: float
    upper_arm_m: float
    forearm_m: float
    wrist_m: float
    wrist_3_m: float
    overhang_m: float = 0.0
    wrist_overhang_m: float = 0.0


_UR10E: Final = ArmShape(0.1762, 0.0393, 0.097, 0.08, 0.08, 0.06, 0.052, 0.052, 0.045, 0.03)

_SHAPES: Final = {
    "UR3": ArmShape(0.1198, 0.0275, 0.065, 0.05, 0.05, 0.04, 0.036, 0.036, 0.025, 0.02),
    "UR5": ArmShape(0.13585, 0.01615, 0.075, 0.06, 0.055, 0.045, 0.045, 0.04),
    "UR10": ArmShape(0.176, 0.049042, 0.08, 0.08, 0.08, 0.06, 0.05, 0.05, 0.045, 0.025),
    "UR3e": ArmShape(0.12, 0.027, 0.065, 0.05, 0.05, 0.04, 0.036, 0.036, 0.025, 0.02),
    "UR5e": ArmShape(0.138, 0.007, 0.078, 0.063, 0.063, 0.055, 0.045, 0.045, 0.03, 0.022),
    "UR10e": _UR10E,
    "UR16e": replace(_UR10E, upper_arm_offset_m=0.176, forearm_offset_m=0.04),
}
"""By name. Fitted to the collision meshes of Universal_Robots_ROS2_Description: above the foot of the base,
no vertex is more than 6 mm outside of the capsules; of the UR5, whose capsules are slimmer, 25 mm."""


def shape_of(geometry: UrGeometry) -> ArmShape:
    """Return the housings of a model.

    Raises:
        UsageError: No model has the name of this geometry.
    """
    if geometry.name not in _SHAPES:
        raise UsageError("no collision geometry of this arm", got=geometry.name, available=_SHAPES)
    return _SHAPES[geometry.name]
