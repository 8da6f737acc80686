"""Model of a UR arm, its bodies, and a gripper with a Robotiq 2F-140's stroke."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np

from embodied_iqa.base.kinematics import UR5
from embodied_iqa.base.kinematics.geometry import UrGeometry
from embodied_iqa.base.kinematics.models import ArmModel
from embodied_iqa.base.kinematics.shapes import shape_of
from embodied_iqa.world.manipulation.shapes import FINGER_HALF_WIDTH_M, FINGER_TIP_BEYOND_TOOL_M, STROKE_M
from embodied_iqa.world.scenes.dimensions import TOOL_Z_M
from embodied_iqa.world.simulation.engine import mujoco
from embodied_iqa.world.simulation.geoms import BOX, ROBOT, SPHERE, Vector, add_box, add_rod, add_slide

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
