"""A parallel gripper with the stroke of a Robotiq 2F-140, and the wrist camera, in the flange's frame."""

from __future__ import annotations

from typing import Final

from embodied_iqa.manipulation.shapes import FINGER_HALF_WIDTH_M, FINGER_TIP_BEYOND_TOOL_M, STROKE_M
from embodied_iqa.scenes.dimensions import TOOL_Z_M
from embodied_iqa.simulation.mjcf import ROBOT, box, numbers, rod

__all__ = ["FINGER_JOINTS", "gripper_actuators", "gripper_bodies", "gripper_equalities"]

FINGER_JOINTS: Final = ("finger_left", "finger_right")
PAD_THICKNESS_M: Final = 0.016
_TIP_Z = TOOL_Z_M + FINGER_TIP_BEYOND_TOOL_M
_KNUCKLE_Z: Final = 0.118
_FORCE_N: Final = 40.0
_PAD_FRICTION: Final = "1.3 0.02 0.0005"


def gripper_bodies() -> str:
    """Return palm, fingers, the site ``tool`` and the camera's housing."""
    palm = (
        rod((0, 0, 0), (0, 0, 0.022), 0.0375, "steel")
        + box((0, 0, 0.058), (0.040, 0.030, 0.036), "black")
        + box((0, 0, 0.104), (0.088, 0.017, 0.011), "dark")
        + box((0, -0.062, 0.030), (0.045, 0.012, 0.013), "steel")
        + f'<geom type="box" size="0.045 0.035 0.045" pos="0 0 0.05" mass="0.7" {ROBOT}/>'
        + f'<geom type="box" size="0.088 0.017 0.011" pos="0 0 0.104" mass="0.1" {ROBOT}/>'
    )
    site = f'<site name="tool" pos="0 0 {TOOL_Z_M!r}" size="0.001" rgba="0 0 0 0"/>'
    return palm + site + _finger(FINGER_JOINTS[0], 1.0) + _finger(FINGER_JOINTS[1], -1.0)


def gripper_actuators() -> str:
    """Return one servo for each finger; they are coupled and get the same target."""
    return "".join(
        f'<position name="{joint}" joint="{joint}" kp="4000" kv="80" forcerange="{-_FORCE_N} {_FORCE_N}"/>'
        for joint in FINGER_JOINTS
    )


def gripper_equalities() -> str:
    """Return the linkage that keeps the two fingers in step."""
    left, right = FINGER_JOINTS
    return f'<joint joint1="{left}" joint2="{right}" polycoef="0 1 0 0 0" solref="0.004 1"/>'


def _finger(joint: str, side: float) -> str:
    """Return one finger; it slides along the tool's x, outwards, from 0 (closed) to half the stroke."""
    half = PAD_THICKNESS_M / 2
    length = (_TIP_Z - _KNUCKLE_Z) / 2
    middle = (_TIP_Z + _KNUCKLE_Z) / 2
    centre = numbers((side * half, 0.0, middle))
    return (
        f'<body name="{joint}" gravcomp="1">'
        f'<joint name="{joint}" type="slide" axis="{side} 0 0" range="0 {STROKE_M / 2!r}" '
        f'damping="5" armature="0.05"/>'
        f'<geom type="box" size="{numbers((half, FINGER_HALF_WIDTH_M, length))}" pos="{centre}" mass="0.1" '
        f'friction="{_PAD_FRICTION}" condim="4" {ROBOT}/>'
        + box((side * 0.011, 0, 0.128), (0.011, 0.016, 0.014), "black")
        + box((side * 0.0095, 0, 0.152), (0.0065, 0.012, 0.016), "dark")
        + box((side * 0.008, 0, _TIP_Z - 0.022), (0.008, FINGER_HALF_WIDTH_M, 0.022), "pad")
        + "</body>"
    )
