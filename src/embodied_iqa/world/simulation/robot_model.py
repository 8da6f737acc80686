"""Model of the UR5, from its Denavit-Hartenberg table, and of a gripper with a Robotiq 2F-140's stroke."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from embodied_iqa.world.manipulation.shapes import FINGER_HALF_WIDTH_M, FINGER_TIP_BEYOND_TOOL_M, STROKE_M
from embodied_iqa.world.scenes.dimensions import TOOL_Z_M, UR5_A_M, UR5_ALPHA_RAD, UR5_D_M
from embodied_iqa.world.simulation.engine import mujoco
from embodied_iqa.world.simulation.geoms import BOX, ROBOT, SPHERE, Vector, add_box, add_rod, add_slide

KP: Final = (8000.0, 8000.0, 8000.0, 2000.0, 2000.0, 2000.0)
KV: Final = (400.0, 400.0, 400.0, 100.0, 100.0, 100.0)
"""Gains of the position servos, Nm/rad and Nms/rad: as stiff as the real arm's."""
_TORQUE_NM: Final = (150.0, 150.0, 150.0, 28.0, 28.0, 28.0)
_MASS_KG: Final = (3.7, 8.393, 2.275, 1.219, 1.219, 0.1879)

FINGER_JOINTS: Final = ("finger_left", "finger_right")
_PAD_THICKNESS_M: Final = 0.016
_TIP_Z = TOOL_Z_M + FINGER_TIP_BEYOND_TOOL_M
_KNUCKLE_Z: Final = 0.118
_FORCE_N: Final = 40.0

_UPPER, _FORE = UR5_A_M[1], UR5_A_M[2]
_D1, _D4, _D5, _D6 = UR5_D_M[0], UR5_D_M[3], UR5_D_M[4], UR5_D_M[5]

_CAPSULES: Final[dict[int, tuple[Vector, Vector, float]]] = {
    1: ((0.0, 0.0, 0.136), (_UPPER, 0.0, 0.136), 0.054),
    2: ((0.0, 0.0, 0.0165), (_FORE, 0.0, 0.0165), 0.045),
    3: ((0.0, 0.0, 0.06), (0.0, 0.0, 0.12), 0.045),
    4: ((0.0, 0.0, 0.05), (0.0, 0.0, 0.11), 0.045),
    5: ((0.0, 0.0, 0.02), (0.0, 0.0, 0.05), 0.040),
}
"""What collides of each link; the shoulder is on the table, and collides with nothing."""

_RODS: Final[tuple[tuple[tuple[Vector, Vector, float, str], ...], ...]] = (
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
)
"""What is visible of each link: tubes, joint housings and their caps."""


def add_robot(body: Any) -> Any:
    """Add the links, the gripper and the site ``tool`` to a body; return the flange's body."""
    position, angle = (0.0, 0.0, 0.0), 0.0
    for index in range(6):
        body = _next_frame(body, f"link{index + 1}", position, angle)
        limits = (-6.2831853, 6.2831853)
        body.add_joint(name=f"joint{index + 1}", axis=(0, 0, 1), range=limits, armature=0.1)
        _add_collision_shape(body, index)
        for rod in _RODS[index]:
            add_rod(body, *rod)
        position, angle = (UR5_A_M[index], 0.0, UR5_D_M[index]), UR5_ALPHA_RAD[index]
    flange = _next_frame(body, "flange", position, angle)
    _add_gripper(flange)
    return flange


def add_actuators(spec: Any) -> None:
    """Add a position servo for each joint; the fingers are coupled and get the same target."""
    servos = [(f"servo{n + 1}", f"joint{n + 1}", KP[n], KV[n], _TORQUE_NM[n]) for n in range(6)]
    servos += [(joint, joint, 4000.0, 80.0, _FORCE_N) for joint in FINGER_JOINTS]
    for name, joint, kp, kv, force in servos:
        servo = spec.add_actuator(name=name, target=joint, forcerange=(-force, force))
        servo.trntype = mujoco.mjtTrn.mjTRN_JOINT
        servo.set_to_position(kp=kp, kv=kv)


def _next_frame(parent: Any, name: str, position: Vector, angle: float) -> Any:
    twist = (np.cos(angle / 2), np.sin(angle / 2), 0.0, 0.0)
    return parent.add_body(name=name, pos=position, quat=twist, gravcomp=1)


def _add_collision_shape(body: Any, index: int) -> None:
    mass = _MASS_KG[index]
    if index not in _CAPSULES:
        body.add_geom(type=SPHERE, size=(0.06,), mass=mass, contype=0, conaffinity=0, group=3)
        return
    start, end, radius = _CAPSULES[index]
    kind = mujoco.mjtGeom.mjGEOM_CAPSULE
    body.add_geom(type=kind, size=(radius,), fromto=(*start, *end), mass=mass, **ROBOT)


def _add_gripper(flange: Any) -> None:
    add_rod(flange, (0, 0, 0), (0, 0, 0.022), 0.0375, "steel")
    add_box(flange, (0, 0, 0.058), (0.040, 0.030, 0.036), "black")
    add_box(flange, (0, 0, 0.104), (0.088, 0.017, 0.011), "dark")
    add_box(flange, (0, -0.062, 0.030), (0.045, 0.012, 0.013), "steel")  # the camera's housing
    add_box(flange, (0, 0, 0.05), (0.045, 0.035, 0.045), "", ROBOT, mass=0.7)
    add_box(flange, (0, 0, 0.104), (0.088, 0.017, 0.011), "", ROBOT, mass=0.1)
    flange.add_site(name="tool", pos=(0, 0, TOOL_Z_M), size=[0.001, 0.005, 0.005], rgba=(0, 0, 0, 0))
    _add_finger(flange, FINGER_JOINTS[0], 1.0)
    _add_finger(flange, FINGER_JOINTS[1], -1.0)


def _add_finger(flange: Any, joint: str, side: float) -> None:
    """Add a finger; it slides along the tool's x, outwards, from 0 (closed) to half the stroke."""
    half, length = _PAD_THICKNESS_M / 2, (_TIP_Z - _KNUCKLE_Z) / 2
    finger = flange.add_body(name=joint, gravcomp=1)
    add_slide(finger, joint, (side, 0, 0), (0, STROKE_M / 2), damping=5, armature=0.05)
    finger.add_geom(
        type=BOX,
        pos=(side * half, 0.0, (_TIP_Z + _KNUCKLE_Z) / 2),
        size=(half, FINGER_HALF_WIDTH_M, length),
        mass=0.1,
        friction=(1.3, 0.02, 0.0005),
        condim=4,
        **ROBOT,
    )
    add_box(finger, (side * 0.011, 0, 0.128), (0.011, 0.016, 0.014), "black")
    add_box(finger, (side * 0.0095, 0, 0.152), (0.0065, 0.012, 0.016), "dark")
    add_box(finger, (side * 0.008, 0, _TIP_Z - 0.022), (0.008, FINGER_HALF_WIDTH_M, 0.022), "pad")
