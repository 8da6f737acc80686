"""Model of a UR arm, from its Denavit-Hartenberg table, and of a gripper with a Robotiq 2F-140's stroke."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from embodied_iqa.base.kinematics.models import ArmModel
from embodied_iqa.world.manipulation.shapes import FINGER_HALF_WIDTH_M, FINGER_TIP_BEYOND_TOOL_M, STROKE_M
from embodied_iqa.world.scenes.dimensions import TOOL_Z_M
from embodied_iqa.world.simulation.arm_bodies import ArmBody, body_of
from embodied_iqa.world.simulation.engine import mujoco
from embodied_iqa.world.simulation.geoms import BOX, ROBOT, SPHERE, Vector, add_box, add_rod, add_slide

KP: Final = (8000.0, 8000.0, 8000.0, 2000.0, 2000.0, 2000.0)
KV: Final = (400.0, 400.0, 400.0, 100.0, 100.0, 100.0)
"""Gains of the UR5's position servos, Nm/rad and Nms/rad: as stiff as the real arm's.

Their ratio is that of every arm, see `ArmBody.stiffness`."""
_ALPHA_RAD: Final = (np.pi / 2, 0.0, 0.0, np.pi / 2, -np.pi / 2, 0.0)
"""The twists of every UR arm."""

FINGER_JOINTS: Final = ("finger_left", "finger_right")
_PAD_THICKNESS_M: Final = 0.016
_TIP_Z = TOOL_Z_M + FINGER_TIP_BEYOND_TOOL_M
_KNUCKLE_Z: Final = 0.118
_FORCE_N: Final = 40.0


def add_robot(body: Any, model: ArmModel) -> Any:
    """Add the links, the gripper and the site ``tool`` to a body; return the flange's body."""
    arm = body_of(model)
    lengths_m: list[list[float]] = arm.geometry.table[:, :2].tolist()
    position, angle = (0.0, 0.0, 0.0), 0.0
    for index, (d_m, a_m) in enumerate(lengths_m):
        body = _next_frame(body, f"link{index + 1}", position, angle)
        limits = (-6.2831853, 6.2831853)
        body.add_joint(name=f"joint{index + 1}", axis=(0, 0, 1), range=limits, armature=0.1)
        _add_collision_shape(body, arm, index)
        for rod in arm.rods[index]:
            add_rod(body, *rod)
        position, angle = (a_m, 0.0, d_m), _ALPHA_RAD[index]
    flange = _next_frame(body, "flange", position, angle)
    _add_gripper(flange)
    return flange


def add_actuators(spec: Any, model: ArmModel) -> None:
    """Add a position servo for each joint; the fingers are coupled and get the same target."""
    arm = body_of(model)
    gains = [(arm.stiffness * kp, arm.stiffness * kv) for kp, kv in zip(KP, KV, strict=True)]
    servos = [(f"servo{n + 1}", f"joint{n + 1}", *gains[n], arm.torques_nm[n]) for n in range(6)]
    servos += [(joint, joint, 4000.0, 80.0, _FORCE_N) for joint in FINGER_JOINTS]
    for name, joint, kp, kv, force in servos:
        servo = spec.add_actuator(name=name, target=joint, forcerange=(-force, force))
        servo.trntype = mujoco.mjtTrn.mjTRN_JOINT
        servo.set_to_position(kp=kp, kv=kv)


def _next_frame(parent: Any, name: str, position: Vector, angle: float) -> Any:
    twist = (np.cos(angle / 2), np.sin(angle / 2), 0.0, 0.0)
    return parent.add_body(name=name, pos=position, quat=twist, gravcomp=1)


def _add_collision_shape(body: Any, arm: ArmBody, index: int) -> None:
    mass = arm.masses_kg[index]
    if index not in arm.capsules:
        body.add_geom(type=SPHERE, size=(0.06,), mass=mass, contype=0, conaffinity=0, group=3)
        return
    start, end, radius = arm.capsules[index]
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
