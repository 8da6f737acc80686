"""Geoms of the cell's model (`mujoco.MjSpec`): plain materials, collision masks and common shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from embodied_iqa.world.simulation.engine import mujoco

Vector = tuple[float, float, float]

BOX: Final = mujoco.mjtGeom.mjGEOM_BOX
CYLINDER: Final = mujoco.mjtGeom.mjGEOM_CYLINDER
SPHERE: Final = mujoco.mjtGeom.mjGEOM_SPHERE

STATIC: Final = {"contype": 2, "conaffinity": 5}
ROBOT: Final = {"contype": 1, "conaffinity": 6, "group": 3}
OBJECT: Final = {"contype": 4, "conaffinity": 7}
HINGED: Final = {"contype": 8, "conaffinity": 5}
VISUAL: Final = {"contype": 0, "conaffinity": 0, "mass": 0}
"""Collision masks: robot, table and objects collide with each other, and only objects with their own sort.
What moves in a fixed frame (a drawer, a knob) collides with robot and objects, but not with its frame.
Group 3 is not drawn: the robot collides with simple shapes beneath its visual geoms."""

FRICTION: Final = (0.5, 0.01, 0.001)
"""Sliding, torsional and rolling friction of most objects."""


_PLAIN_MATERIALS: Final = {
    "shell": (0.80, 0.81, 0.82),
    "cap": (0.49, 0.56, 0.61),
    "steel": (0.58, 0.59, 0.61),
    "dark": (0.25, 0.25, 0.27),
    "black": (0.12, 0.12, 0.13),
    "pad": (0.34, 0.34, 0.35),
    "button_base": (0.22, 0.22, 0.23),
    "edge": (0.45, 0.43, 0.41),
    "white": (0.95, 0.95, 0.94),
    "bead": (0.90, 0.87, 0.80),
    "drawer": (0.74, 0.73, 0.71),
}


def add_plain_materials(spec: Any) -> None:
    """Add the materials of a single colour that do not depend on the scene."""
    for name, rgb in _PLAIN_MATERIALS.items():
        spec.add_material(name=name, rgba=(*rgb, 1), specular=0.25, shininess=0.4)


def add_box(
    body: Any,
    centre: Sequence[float],
    half: Sequence[float],
    material: str,
    collision: Mapping[str, Any] = VISUAL,
    **options: Any,
) -> None:
    """Add a box, by its centre and half its size (m)."""
    body.add_geom(type=BOX, pos=centre, size=half, material=material, **collision, **options)


def add_cylinder(body: Any, radius: float, span: tuple[float, float], origin: float, **options: Any) -> None:
    """Add an upright cylinder that spans two heights (m), in a frame at the height ``origin``."""
    low, high = span
    centre = (0.0, 0.0, (low + high) / 2 - origin)
    body.add_geom(type=CYLINDER, size=(radius, (high - low) / 2), pos=centre, **options)


def add_rod(body: Any, start: Vector, end: Vector, radius: float, material: str) -> None:
    """Add a visual cylinder between two points."""
    body.add_geom(type=CYLINDER, size=(radius,), fromto=(*start, *end), material=material, **VISUAL)


def add_slide(body: Any, name: str, axis: Vector, limits: tuple[float, float], **options: Any) -> None:
    """Add a joint along which the body slides within limits (m)."""
    kind = mujoco.mjtJoint.mjJNT_SLIDE
    body.add_joint(name=name, type=kind, axis=axis, range=limits, **options)
