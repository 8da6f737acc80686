"""Models of the dishes: lathed surfaces are visual, rings of boards collide."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from embodied_iqa.world.manipulation.shapes import (
    BOWL_FOOT_RADIUS_M,
    CUP_FOOT_RADIUS_M,
    LID_BOSS_HEIGHT_M,
    LID_BOSS_RADIUS_M,
    LID_HANDLE_RADIUS_M,
    LID_PLATE_M,
    SHAPES,
)
from embodied_iqa.world.simulation.engine import mujoco
from embodied_iqa.world.simulation.geoms import BOX, FRICTION, OBJECT, SPHERE, VISUAL, add_box, add_cylinder
from embodied_iqa.world.tasks.vocabulary import Kind

_SIDES: Final = 12
_TURNS: Final = 40
_BOWL_FOOT_M: Final = 0.026  # of the collision shape: a little wider, for a firmer stand
_POT_WALL_M: Final = 0.004
_BEAD_RADIUS_M: Final = 0.006


def add_bowl(body: Any, index: int) -> None:
    """Add a lathed bowl; a ring of slanted boards on a round foot collides."""
    _add_mesh(body, "bowl", index)
    _add_vessel(body, Kind.BOWL, _BOWL_FOOT_M, (0.008, 0.05), (0.003, 0.008))


def add_cup(body: Any, index: int) -> None:
    """Add a cup that widens a little, so that it empties when it is tipped."""
    _add_mesh(body, "cup", index)
    _add_vessel(body, Kind.CUP, CUP_FOOT_RADIUS_M, (0.006, 0.06), (0.002, 0.005))


def add_pot(body: Any, index: int) -> None:
    """Add a straight, heavy pot with two ears."""
    shape = SHAPES[Kind.POT]
    rim, half = shape.width_m / 2, shape.height_m / 2
    _add_mesh(body, "pot", index)
    for side in (-1.0, 1.0):
        ear = (0.0, side * (rim + shape.radius_m) / 2, half - 0.012)
        add_box(body, ear, (0.018, 0.007, 0.004), "dark")
    _add_vessel(body, Kind.POT, rim - 0.002, (0.006, 0.3), (_POT_WALL_M / 2, 0.02))


def add_lid(body: Any, index: int) -> None:
    """Add a plate with a boss below and a handle above."""
    shape, paint = SHAPES[Kind.LID], f"paint{index}"
    above = LID_BOSS_HEIGHT_M + LID_PLATE_M
    touch = {"friction": FRICTION, "condim": 4, **OBJECT}
    for radius, span, mass, material in (
        (LID_BOSS_RADIUS_M, (0.0, LID_BOSS_HEIGHT_M), 0.05, paint),
        (shape.radius_m, (LID_BOSS_HEIGHT_M, above), 0.06, paint),
        (LID_HANDLE_RADIUS_M, (above, shape.height_m), 0.02, "dark"),
    ):
        add_cylinder(body, radius, span, shape.height_m / 2, mass=mass, material=material, **touch)


def add_bead(body: Any) -> None:
    """Add a bead of a cup, which moves freely."""
    body.add_freejoint()
    touch = {"friction": (0.3, 0.002, 0.0002), "condim": 4, **OBJECT}
    body.add_geom(type=SPHERE, size=(_BEAD_RADIUS_M,), mass=0.002, material="bead", **touch)


def add_vessel_meshes(spec: Any) -> None:
    """Add the visual surfaces as meshes: ``bowl``, ``cup``, ``pot``."""
    bowl, cup, pot = SHAPES[Kind.BOWL], SHAPES[Kind.CUP], SHAPES[Kind.POT]
    _add_lathed(spec, "bowl", _bowl_profile(bowl.width_m / 2, bowl.height_m / 2))
    rim, half, foot = cup.width_m / 2, cup.height_m / 2, CUP_FOOT_RADIUS_M
    base = 0.006 - half
    outside = [(0.0, -half), (foot, -half), (rim, half)]
    _add_lathed(spec, "cup", [*outside, (rim - 0.003, half), (foot - 0.003, base), (0.0, base)])
    rim, half = pot.width_m / 2, pot.height_m / 2
    base, inside = 0.006 - half, rim - _POT_WALL_M
    outside = [(0.0, -half), (rim - 0.006, -half), (rim, base), (rim, half)]
    _add_lathed(spec, "pot", [*outside, (inside, half), (inside, base), (0.0, base)])


def _add_mesh(body: Any, name: str, index: int) -> None:
    kind = mujoco.mjtGeom.mjGEOM_MESH
    body.add_geom(type=kind, meshname=name, material=f"paint{index}", **VISUAL)


def _add_vessel(
    body: Any, kind: Kind, foot_m: float, base: tuple[float, float], board: tuple[float, float]
) -> None:
    """Add what collides: a base (height in m, mass in kg) and boards (half thickness in m, mass in kg)."""
    shape = SHAPES[kind]
    rim_m, touch = shape.width_m / 2, {"friction": FRICTION, "group": 3, **OBJECT}
    height, mass = base
    add_cylinder(body, foot_m, (0.0, height), shape.height_m / 2, mass=mass, condim=4, **touch)
    thick, mass = board
    slant = float(np.arctan2(rim_m - foot_m, shape.height_m))
    middle = (rim_m + foot_m) / 2 - thick
    width = middle * np.tan(np.pi / _SIDES) + 0.002
    size = (thick, width, shape.height_m / 2 / np.cos(slant) - 0.002)
    for side in range(_SIDES):
        turn = 2 * np.pi * side / _SIDES
        place = (middle * np.cos(turn), middle * np.sin(turn), 0.0)
        body.add_geom(type=BOX, size=size, pos=place, euler=(0, slant, turn), mass=mass, **touch)


def _bowl_profile(rim_m: float, half_m: float) -> ArrayLike:
    """Return a quarter circle from the foot to the rim, and the inside back to the middle."""
    angle = np.linspace(0.0, np.pi / 2, 9)
    rise = 1.0 - np.cos(angle)
    outer = np.stack(
        [BOWL_FOOT_RADIUS_M + (rim_m - BOWL_FOOT_RADIUS_M) * np.sin(angle), rise * 2 * half_m], 1
    )
    inner = np.stack([outer[:, 0] - 0.004, 0.004 + rise * (2 * half_m - 0.004)], 1)
    return np.concatenate([[[0.0, 0.0]], outer, inner[::-1], [[0.0, 0.004]]]) - [0.0, half_m]


def _add_lathed(spec: Any, name: str, profile_m: ArrayLike) -> None:
    """Add a mesh: a profile turned about the vertical.

    Args:
        spec: The ``mujoco.MjSpec``.
        name: Of the mesh.
        profile_m: ``(N, 2)``: radius and height along the surface, from the middle of the underside (radius
            0) around the rim to the middle of the inside (radius 0).
    """
    profile = np.asarray(profile_m, dtype=np.float64)
    theta = 2 * np.pi * np.arange(_TURNS) / _TURNS
    rows = [
        np.stack([radius * np.cos(theta), radius * np.sin(theta), np.full(_TURNS, z)], axis=1)
        for radius, z in profile[1:-1]
    ]
    vertices = np.concatenate([[[0.0, 0.0, profile[0, 1]]], *rows, [[0.0, 0.0, profile[-1, 1]]]])
    shell = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
    spec.add_mesh(name=name, inertia=shell, uservert=vertices.ravel(), userface=_lathed_faces(len(rows)))


def _lathed_faces(rows: int) -> list[int]:
    last = 1 + rows * _TURNS
    faces: list[int] = []
    for turn in range(_TURNS):
        after = (turn + 1) % _TURNS
        faces += [0, 1 + after, 1 + turn]
        for row in range(rows - 1):
            a, b = 1 + row * _TURNS + turn, 1 + row * _TURNS + after
            c, d = a + _TURNS, b + _TURNS
            faces += [a, b, d, a, d, c]
        faces += [last - _TURNS + turn, last - _TURNS + after, last]
    return faces
