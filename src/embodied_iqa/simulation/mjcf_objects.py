"""The objects on the table as MJCF: a body each, its origin in the middle of its height."""

from __future__ import annotations

from typing import Final

import numpy as np

from embodied_iqa.manipulation.shapes import SHAPES
from embodied_iqa.scenes.scene import SceneObject
from embodied_iqa.scenes.snapshot import FIXED_KINDS
from embodied_iqa.simulation.mjcf import OBJECT, numbers
from embodied_iqa.simulation.mjcf_fittings import button, drawer, knob, mat, peg, socket
from embodied_iqa.simulation.mjcf_vessels import beads, bowl, cup, lid, pot
from embodied_iqa.tasks.vocabulary import Kind

__all__ = ["object_body", "object_material"]

_FRICTION: Final = "0.5 0.01 0.001"
_ROLLING: Final = "0.5 0.01 0.0025"  # a felt ball: it comes to rest within centimetres


def object_material(index: int, item: SceneObject) -> str:
    """Return the paint of an object."""
    return (
        f'<material name="paint{index}" rgba="{numbers((*item.rgb, 1.0))}" specular="0.35" shininess="0.5"/>'
    )


def object_body(index: int, item: SceneObject) -> str:
    """Return one object, standing on the table, and what belongs to it."""
    quaternion = (np.cos(item.yaw_rad / 2), 0.0, 0.0, np.sin(item.yaw_rad / 2))
    place = (item.x_m, item.y_m, SHAPES[item.kind].height_m / 2)
    joint = "" if item.kind in FIXED_KINDS else "<freejoint/>"
    body = (
        f'<body name="object{index}" pos="{numbers(place)}" quat="{numbers(quaternion)}">'
        f"{joint}{_BUILDERS[item.kind](index)}</body>"
    )
    return body + (beads(index, item) if item.kind is Kind.CUP else "")


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


_BUILDERS: Final = {
    Kind.CUBE: _cube,
    Kind.CYLINDER: _cylinder,
    Kind.BALL: _ball,
    Kind.BOWL: bowl,
    Kind.BUTTON: button,
    Kind.CUP: cup,
    Kind.POT: pot,
    Kind.LID: lid,
    Kind.PEG: peg,
    Kind.SOCKET: socket,
    Kind.MAT: mat,
    Kind.KNOB: knob,
    Kind.DRAWER: drawer,
}
