"""The objects on the table as MJCF: a body each, its origin in the middle of its height."""

from __future__ import annotations

from typing import Final

import numpy as np

from embodied_iqa.simulation.dimensions import BUTTON_TRAVEL_M
from embodied_iqa.simulation.mjcf import OBJECT, VISUAL, numbers
from embodied_iqa.simulation.scene import SceneObject
from embodied_iqa.subjects.instruction import Kind
from embodied_iqa.subjects.object_shapes import (
    BOWL_FOOT_RADIUS_M,
    BUTTON_BASE_HALF_M,
    BUTTON_BASE_HEIGHT_M,
    BUTTON_CAP_RADIUS_M,
    SHAPES,
)

__all__ = ["bowl_mesh", "object_body", "object_material"]

_FRICTION: Final = "0.5 0.01 0.001"
_ROLLING: Final = "0.5 0.01 0.0025"  # a felt ball: it comes to rest within centimetres
_BASE_HALF_M: Final = (BUTTON_BASE_HALF_M, BUTTON_BASE_HALF_M, BUTTON_BASE_HEIGHT_M / 2)
_CAP_HALF_HEIGHT_M: Final = 0.008
_SPRING_N_PER_M: Final = 250.0
_PRELOAD_M: Final = 0.004
_BOWL_SIDES: Final = 12
_BOWL_FOOT_M: Final = 0.026  # of what touches: a little wider, it stands more firmly


def object_material(index: int, item: SceneObject) -> str:
    """Return the paint of an object."""
    return (
        f'<material name="paint{index}" rgba="{numbers((*item.rgb, 1.0))}" specular="0.35" shininess="0.5"/>'
    )


def object_body(index: int, item: SceneObject) -> str:
    """Return one object, standing on the table."""
    quaternion = (np.cos(item.yaw_rad / 2), 0.0, 0.0, np.sin(item.yaw_rad / 2))
    place = (item.x_m, item.y_m, SHAPES[item.kind].height_m / 2)
    shape = {
        Kind.CUBE: _cube,
        Kind.CYLINDER: _cylinder,
        Kind.BALL: _ball,
        Kind.BOWL: _bowl,
        Kind.BUTTON: _button,
    }[item.kind](index)
    return (
        f'<body name="object{index}" pos="{numbers(place)}" quat="{numbers(quaternion)}">'
        f"<freejoint/>{shape}</body>"
    )


def _cube(index: int) -> str:
    half = SHAPES[Kind.CUBE].width_m / 2
    return (
        f'<geom type="box" size="{half} {half} {half}" mass="0.09" material="paint{index}" '
        f'friction="{_FRICTION}" condim="4" {OBJECT}/>'
    )


def _cylinder(index: int) -> str:
    shape = SHAPES[Kind.CYLINDER]
    return (
        f'<geom type="cylinder" size="{shape.width_m / 2} {shape.height_m / 2}" mass="0.09" '
        f'material="paint{index}" friction="{_FRICTION}" condim="4" {OBJECT}/>'
    )


def _ball(index: int) -> str:
    return (
        f'<geom type="sphere" size="{SHAPES[Kind.BALL].width_m / 2}" mass="0.06" material="paint{index}" '
        f'friction="{_ROLLING}" condim="6" {OBJECT}/>'
    )


def _bowl(index: int) -> str:
    """Return a lathed bowl; what touches is a ring of slanted boards on a round foot."""
    shape = SHAPES[Kind.BOWL]
    rim, half = shape.width_m / 2, shape.height_m / 2
    slant = float(np.arctan2(rim - _BOWL_FOOT_M, shape.height_m))
    middle = (rim + _BOWL_FOOT_M) / 2 - 0.003
    board = numbers((0.003, middle * np.tan(np.pi / _BOWL_SIDES) + 0.002, half / np.cos(slant) - 0.002))
    boards = []
    for side in range(_BOWL_SIDES):
        turn = 2 * np.pi * side / _BOWL_SIDES
        place = (middle * np.cos(turn), middle * np.sin(turn), 0.0)
        boards.append(
            f'<geom type="box" size="{board}" pos="{numbers(place)}" euler="0 {slant!r} {turn!r}" '
            f'mass="0.008" friction="{_FRICTION}" group="3" {OBJECT}/>'
        )
    foot = (
        f'<geom type="cylinder" size="{_BOWL_FOOT_M!r} 0.004" pos="0 0 {0.004 - half!r}" mass="0.05" '
        f'friction="{_FRICTION}" condim="4" group="3" {OBJECT}/>'
    )
    looks = f'<geom type="mesh" mesh="bowl" material="paint{index}" {VISUAL}/>'
    return looks + foot + "".join(boards)


def _button(index: int) -> str:
    """Return a box with a cap on a spring; the cap stops after its travel."""
    shape = SHAPES[Kind.BUTTON]
    half = shape.height_m / 2
    base = (
        f'<geom type="box" size="{numbers(_BASE_HALF_M)}" pos="0 0 {_BASE_HALF_M[2] - half!r}" mass="0.4" '
        f'material="button_base" friction="0.8 0.02 0.001" condim="4" {OBJECT}/>'
    )
    cap = (
        f'<body name="cap{index}" pos="0 0 {half - _CAP_HALF_HEIGHT_M!r}">'
        f'<joint name="cap{index}" type="slide" axis="0 0 1" range="{-BUTTON_TRAVEL_M} 0" '
        f'stiffness="{_SPRING_N_PER_M}" springref="{_PRELOAD_M}" damping="2" armature="0.02"/>'
        f'<geom type="cylinder" size="{BUTTON_CAP_RADIUS_M} {_CAP_HALF_HEIGHT_M}" mass="0.02" '
        f'material="paint{index}" friction="{_FRICTION}" {OBJECT}/></body>'
    )
    return base + cap


def bowl_mesh() -> str:
    """Return the bowl's surface: a profile turned about the vertical."""
    shape = SHAPES[Kind.BOWL]
    rim, half = shape.width_m / 2, shape.height_m / 2
    angle = np.linspace(0.0, np.pi / 2, 9)
    rise = 1.0 - np.cos(angle)
    outer = np.stack([BOWL_FOOT_RADIUS_M + (rim - BOWL_FOOT_RADIUS_M) * np.sin(angle), rise * 2 * half], 1)
    inner = np.stack([outer[:, 0] - 0.004, 0.004 + rise * (2 * half - 0.004)], 1)
    profile = np.concatenate([[[0.0, 0.0]], outer, inner[::-1], [[0.0, 0.004]]])
    turns = 40
    theta = 2 * np.pi * np.arange(turns) / turns
    rows = [
        np.stack([radius * np.cos(theta), radius * np.sin(theta), np.full(turns, z - half)], axis=1)
        for radius, z in profile[1:-1]
    ]
    vertices = np.concatenate([[[0.0, 0.0, -half]], *rows, [[0.0, 0.0, 0.004 - half]]])
    faces = _lathe_faces(len(rows), turns)
    return (
        f'<mesh name="bowl" inertia="shell" vertex="{numbers(vertices.ravel())}" '
        f'face="{" ".join(str(corner) for corner in faces)}"/>'
    )


def _lathe_faces(rows: int, turns: int) -> list[int]:
    last = 1 + rows * turns
    faces: list[int] = []
    for turn in range(turns):
        after = (turn + 1) % turns
        faces += [0, 1 + after, 1 + turn]
        for row in range(rows - 1):
            a, b = 1 + row * turns + turn, 1 + row * turns + after
            c, d = a + turns, b + turns
            faces += [a, b, d, a, d, c]
        faces += [last - turns + turn, last - turns + after, last]
    return faces
