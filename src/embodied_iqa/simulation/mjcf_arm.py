"""The UR5 as MJCF, link by link from its Denavit-Hartenberg table."""

from __future__ import annotations

from typing import Final

import numpy as np

from embodied_iqa.scenes.dimensions import UR5_A_M, UR5_ALPHA_RAD, UR5_D_M
from embodied_iqa.simulation.mjcf import ROBOT, numbers, rod
from embodied_iqa.simulation.mjcf_gripper import gripper_bodies

__all__ = ["ARM_JOINTS", "KP", "KV", "arm_actuators", "arm_body"]

ARM_JOINTS: Final = tuple(f"joint{number}" for number in range(1, 7))
KP: Final = (8000.0, 8000.0, 8000.0, 2000.0, 2000.0, 2000.0)
KV: Final = (400.0, 400.0, 400.0, 100.0, 100.0, 100.0)
"""Gains of the position servos, Nm/rad and Nms/rad: as stiff as the real arm's."""
_TORQUE_NM: Final = (150.0, 150.0, 150.0, 28.0, 28.0, 28.0)
_MASS_KG: Final = (3.7, 8.393, 2.275, 1.219, 1.219, 0.1879)

_UPPER, _FORE = UR5_A_M[1], UR5_A_M[2]


def arm_body() -> str:
    """Return the chain of bodies from the shoulder to the gripper."""
    opening: list[str] = []
    position, angle = (0.0, 0.0, 0.0), 0.0
    for index in range(6):
        twist = (np.cos(angle / 2), np.sin(angle / 2), 0.0, 0.0)
        opening.append(
            f'<body name="link{index + 1}" pos="{numbers(position)}" quat="{numbers(twist)}" gravcomp="1">'
            f'<joint name="{ARM_JOINTS[index]}" axis="0 0 1" range="-6.2831853 6.2831853" armature="0.1"/>'
            f"{_collision(index)}{_looks(index)}"
        )
        position, angle = (UR5_A_M[index], 0.0, UR5_D_M[index]), UR5_ALPHA_RAD[index]
    twist = (np.cos(angle / 2), np.sin(angle / 2), 0.0, 0.0)
    flange = f'<body name="flange" pos="{numbers(position)}" quat="{numbers(twist)}" gravcomp="1">'
    return "".join(opening) + flange + gripper_bodies() + "</body>" * 7


def arm_actuators() -> str:
    """Return one position servo a joint."""
    return "".join(
        f'<position name="servo{index + 1}" joint="{joint}" kp="{KP[index]}" kv="{KV[index]}" '
        f'forcerange="{-_TORQUE_NM[index]} {_TORQUE_NM[index]}"/>'
        for index, joint in enumerate(ARM_JOINTS)
    )


def _collision(index: int) -> str:
    segments = {
        1: ((0.0, 0.0, 0.136), (_UPPER, 0.0, 0.136), 0.054),
        2: ((0.0, 0.0, 0.0165), (_FORE, 0.0, 0.0165), 0.045),
        3: ((0.0, 0.0, 0.06), (0.0, 0.0, 0.12), 0.045),
        4: ((0.0, 0.0, 0.05), (0.0, 0.0, 0.11), 0.045),
        5: ((0.0, 0.0, 0.02), (0.0, 0.0, 0.05), 0.040),
    }
    mass = _MASS_KG[index]
    if index not in segments:  # the shoulder stands on the table: it has weight, and touches nothing
        return f'<geom type="sphere" size="0.06" mass="{mass}" contype="0" conaffinity="0" group="3"/>'
    start, end, radius = segments[index]
    return f'<geom type="capsule" size="{radius}" fromto="{numbers((*start, *end))}" mass="{mass}" {ROBOT}/>'


def _looks(index: int) -> str:
    """Return what is seen of a link: tubes, joint housings and their caps."""
    d1, d4, d5, d6 = UR5_D_M[0], UR5_D_M[3], UR5_D_M[4], UR5_D_M[5]
    looks = {
        0: rod((0, 0, 0.03), (0, 0, d1), 0.060, "shell")
        + rod((0, 0.062, d1), (0, -0.068, d1), 0.059, "shell")
        + rod((0, 0.062, d1), (0, 0.074, d1), 0.055, "cap"),
        1: rod((0, 0, 0.070), (0, 0, 0.190), 0.059, "shell")
        + rod((0, 0, 0.190), (0, 0, 0.202), 0.055, "cap")
        + rod((0, 0, 0.136), (_UPPER, 0, 0.136), 0.048, "shell")
        + rod((_UPPER, 0, 0.078), (_UPPER, 0, 0.184), 0.056, "shell")
        + rod((_UPPER, 0, 0.184), (_UPPER, 0, 0.196), 0.052, "cap"),
        2: rod((0, 0, -0.040), (0, 0, 0.076), 0.054, "shell")
        + rod((0, 0, -0.052), (0, 0, -0.040), 0.050, "cap")
        + rod((0, 0, 0.0165), (_FORE, 0, 0.0165), 0.038, "shell")
        + rod((_FORE, 0, -0.036), (_FORE, 0, 0.062), 0.042, "shell")
        + rod((_FORE, 0, -0.047), (_FORE, 0, -0.036), 0.038, "cap"),
        3: rod((0, 0, 0.064), (0, 0, d4 + 0.042), 0.042, "shell")
        + rod((0, 0, d4 + 0.042), (0, 0, d4 + 0.053), 0.038, "cap")
        + rod((0, 0, d4), (0, -0.048, d4), 0.042, "shell"),
        4: rod((0, 0, 0.050), (0, 0, d5 + 0.042), 0.042, "shell")
        + rod((0, 0, d5 + 0.042), (0, 0, d5 + 0.053), 0.038, "cap")
        + rod((0, 0, d5), (0, 0.044, d5), 0.042, "shell"),
        5: rod((0, 0, 0.046), (0, 0, d6), 0.0375, "shell"),
    }
    return looks[index]
