"""Dishes as MJCF: lathed surfaces are seen, rings of boards are touched."""

from __future__ import annotations

from typing import Final

import numpy as np

from embodied_iqa.manipulation.shapes import (
    BOWL_FOOT_RADIUS_M,
    CUP_FOOT_RADIUS_M,
    LID_BOSS_HEIGHT_M,
    LID_BOSS_RADIUS_M,
    LID_HANDLE_RADIUS_M,
    LID_PLATE_M,
    SHAPES,
)
from embodied_iqa.scenes.scene import SceneObject
from embodied_iqa.scenes.snapshot import beads_at_rest_m
from embodied_iqa.simulation.mjcf import OBJECT, VISUAL, box, numbers
from embodied_iqa.simulation.mjcf_mesh import lathe_mesh
from embodied_iqa.tasks.vocabulary import Kind

__all__ = ["beads", "bowl", "cup", "lid", "pot", "vessel_meshes"]

_FRICTION: Final = "0.5 0.01 0.001"
_SIDES: Final = 12
_BOWL_FOOT_M: Final = 0.026  # of what touches: a little wider, it stands more firmly
_POT_WALL_M: Final = 0.004
_BEAD_RADIUS_M: Final = 0.006


def bowl(index: int) -> str:
    """Return a lathed bowl; what touches is a ring of slanted boards on a round foot."""
    shape = SHAPES[Kind.BOWL]
    rim, half = shape.width_m / 2, shape.height_m / 2
    foot = _disc(_BOWL_FOOT_M, 0.0, 0.008, half, "0.05")
    looks = f'<geom type="mesh" mesh="bowl" material="paint{index}" {VISUAL}/>'
    return looks + foot + _ring(_BOWL_FOOT_M, rim, shape.height_m, 0.003, 0.008)


def cup(index: int) -> str:
    """Return a cup that widens a little, so that it empties when it lies on its side."""
    shape = SHAPES[Kind.CUP]
    rim, half = shape.width_m / 2, shape.height_m / 2
    looks = f'<geom type="mesh" mesh="cup" material="paint{index}" {VISUAL}/>'
    foot = _disc(CUP_FOOT_RADIUS_M, 0.0, 0.006, half, "0.06")
    return looks + foot + _ring(CUP_FOOT_RADIUS_M, rim, shape.height_m, 0.002, 0.005)


def beads(index: int, item: SceneObject) -> str:
    """Return the beads in cup ``index``."""
    return "".join(
        f'<body name="bead{index}_{bead}" pos="{numbers(centre)}"><freejoint/>'
        f'<geom type="sphere" size="{_BEAD_RADIUS_M}" mass="0.002" material="bead" '
        f'friction="0.3 0.002 0.0002" condim="4" {OBJECT}/></body>'
        for bead, centre in enumerate(beads_at_rest_m(item))
    )


def pot(index: int) -> str:
    """Return a straight, heavy pot with two ears."""
    shape = SHAPES[Kind.POT]
    rim, half = shape.width_m / 2, shape.height_m / 2
    looks = f'<geom type="mesh" mesh="pot" material="paint{index}" {VISUAL}/>' + "".join(
        box((0.0, side * (rim + shape.radius_m) / 2, half - 0.012), (0.018, 0.007, 0.004), "dark")
        for side in (-1.0, 1.0)
    )
    foot = _disc(rim - 0.002, 0.0, 0.006, half, "0.3")
    return looks + foot + _ring(rim - 0.002, rim, shape.height_m, _POT_WALL_M / 2, 0.02)


def lid(index: int) -> str:
    """Return a plate with a boss below and a handle above."""
    shape = SHAPES[Kind.LID]
    half, above = shape.height_m / 2, LID_BOSS_HEIGHT_M + LID_PLATE_M
    parts = (
        (LID_BOSS_RADIUS_M, 0.0, LID_BOSS_HEIGHT_M, "0.05", f"paint{index}"),
        (shape.radius_m, LID_BOSS_HEIGHT_M, above, "0.06", f"paint{index}"),
        (LID_HANDLE_RADIUS_M, above, shape.height_m, "0.02", "dark"),
    )
    return "".join(
        f'<geom type="cylinder" size="{radius!r} {(high - low) / 2!r}" pos="0 0 {(low + high) / 2 - half!r}" '
        f'mass="{mass}" material="{material}" friction="{_FRICTION}" condim="4" {OBJECT}/>'
        for radius, low, high, mass, material in parts
    )


def vessel_meshes() -> str:
    """Return the surfaces that are seen."""
    return (
        lathe_mesh("bowl", _bowl_profile())
        + lathe_mesh("cup", _cup_profile())
        + lathe_mesh("pot", _pot_profile())
    )


def _disc(radius_m: float, low_m: float, high_m: float, half_m: float, mass: str) -> str:
    return (
        f'<geom type="cylinder" size="{radius_m!r} {(high_m - low_m) / 2!r}" '
        f'pos="0 0 {(low_m + high_m) / 2 - half_m!r}" mass="{mass}" '
        f'friction="{_FRICTION}" condim="4" group="3" {OBJECT}/>'
    )


def _ring(foot_m: float, rim_m: float, height_m: float, thick_m: float, board_kg: float) -> str:
    """Return boards around a vessel, from the foot's to the rim's radius, of half thickness ``thick_m``."""
    slant = float(np.arctan2(rim_m - foot_m, height_m))
    middle = (rim_m + foot_m) / 2 - thick_m
    board = numbers((thick_m, middle * np.tan(np.pi / _SIDES) + 0.002, height_m / 2 / np.cos(slant) - 0.002))
    boards = []
    for side in range(_SIDES):
        turn = 2 * np.pi * side / _SIDES
        place = (middle * np.cos(turn), middle * np.sin(turn), 0.0)
        boards.append(
            f'<geom type="box" size="{board}" pos="{numbers(place)}" euler="0 {slant!r} {turn!r}" '
            f'mass="{board_kg}" friction="{_FRICTION}" group="3" {OBJECT}/>'
        )
    return "".join(boards)


def _bowl_profile() -> list[tuple[float, float]]:
    shape = SHAPES[Kind.BOWL]
    rim, half = shape.width_m / 2, shape.height_m / 2
    angle = np.linspace(0.0, np.pi / 2, 9)
    rise = 1.0 - np.cos(angle)
    outer = np.stack([BOWL_FOOT_RADIUS_M + (rim - BOWL_FOOT_RADIUS_M) * np.sin(angle), rise * 2 * half], 1)
    inner = np.stack([outer[:, 0] - 0.004, 0.004 + rise * (2 * half - 0.004)], 1)
    profile = np.concatenate([[[0.0, 0.0]], outer, inner[::-1], [[0.0, 0.004]]])
    return [(float(radius), float(z) - half) for radius, z in profile]


def _cup_profile() -> list[tuple[float, float]]:
    shape = SHAPES[Kind.CUP]
    rim, half, foot = shape.width_m / 2, shape.height_m / 2, CUP_FOOT_RADIUS_M
    return [
        (0.0, -half), (foot, -half), (rim, half), (rim - 0.003, half), (foot - 0.003, 0.006 - half),
        (0.0, 0.006 - half),
    ]  # fmt: skip


def _pot_profile() -> list[tuple[float, float]]:
    shape = SHAPES[Kind.POT]
    rim, half = shape.width_m / 2, shape.height_m / 2
    inside = rim - _POT_WALL_M
    return [
        (0.0, -half), (rim - 0.006, -half), (rim, 0.006 - half), (rim, half), (inside, half),
        (inside, 0.006 - half), (0.0, 0.006 - half),
    ]  # fmt: skip
