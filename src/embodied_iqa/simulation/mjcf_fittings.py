"""Parts and controls as MJCF: button, knob, drawer, socket, peg, mat."""

from __future__ import annotations

from typing import Final

import numpy as np

from embodied_iqa.manipulation.shapes import (
    BUTTON_BASE_HALF_M,
    BUTTON_BASE_HEIGHT_M,
    BUTTON_CAP_RADIUS_M,
    DRAWER_HANDLE_AHEAD_M,
    KNOB_BAR_HALF_M,
    SHAPES,
    SOCKET_FLOOR_M,
    SOCKET_HOLE_HALF_M,
)
from embodied_iqa.scenes.dimensions import BUTTON_TRAVEL_M, DRAWER_TRAVEL_M
from embodied_iqa.simulation.mjcf import HINGED, OBJECT, STATIC, VISUAL, Vector, box, numbers
from embodied_iqa.tasks.vocabulary import Kind

__all__ = ["button", "drawer", "knob", "mat", "peg", "socket"]

_FRICTION: Final = "0.5 0.01 0.001"
_BASE_HALF_M: Final = (BUTTON_BASE_HALF_M, BUTTON_BASE_HALF_M, BUTTON_BASE_HEIGHT_M / 2)
_CAP_HALF_HEIGHT_M: Final = 0.008
_SPRING_N_PER_M: Final = 250.0
_PRELOAD_M: Final = 0.004
_KNOB_BASE_M: Final = (0.040, 0.018)
_KNOB_PLATE_M: Final = (0.030, 0.024)
_CABINET_HALF_M: Final = (0.045, 0.060)
_CABINET_WALL_M: Final = 0.004
_FUNNEL_M: Final = (0.036, 0.035)
"""Height at which a socket's funnel begins, and half its width at the top."""


def button(index: int) -> str:
    """Return a box with a cap on a spring; the cap stops after its travel."""
    half = SHAPES[Kind.BUTTON].height_m / 2
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


def knob(index: int) -> str:
    """Return a bar on a plate that turns stiffly on a fixed foot; a white end shows where it points."""
    half = SHAPES[Kind.KNOB].height_m / 2
    radius, foot = _KNOB_BASE_M
    plate, plate_top = _KNOB_PLATE_M
    length, width = KNOB_BAR_HALF_M
    middle, bar = (plate_top - half + half) / 2, (2 * half - plate_top) / 2
    return (
        f'<geom type="cylinder" size="{radius} {foot / 2}" pos="0 0 {foot / 2 - half!r}" '
        f'material="steel" {STATIC}/>'
        f'<body name="turn{index}"><joint name="turn{index}" type="hinge" axis="0 0 1" '
        'frictionloss="0.04" damping="0.02" armature="0.0005"/>'
        f'<geom type="cylinder" size="{plate} {(plate_top - foot) / 2!r}" '
        f'pos="0 0 {(plate_top + foot) / 2 - half!r}" mass="0.03" material="paint{index}" {HINGED}/>'
        f'<geom type="box" size="{numbers((length, width, bar))}" pos="0 0 {middle!r}" mass="0.03" '
        f'material="paint{index}" friction="{_FRICTION}" condim="4" {HINGED}/>'
        + box((length - 0.005, 0.0, half - 0.0005), (0.0045, width - 0.0015, 0.0012), "white")
        + "</body>"
    )


def drawer(index: int) -> str:
    """Return a cabinet, fixed to the table, whose drawer slides towards the robot by an upright handle."""
    half = SHAPES[Kind.DRAWER].height_m / 2
    half_x, half_y = _CABINET_HALF_M
    wall, top = _CABINET_WALL_M, half - 0.004
    shell: tuple[tuple[Vector, Vector], ...] = (
        ((0.0, 0.0, top - wall), (half_x, half_y, wall)),
        ((0.0, half_y - wall, -0.004), (half_x, wall, half - 0.004)),
        ((0.0, wall - half_y, -0.004), (half_x, wall, half - 0.004)),
        ((wall - half_x, 0.0, -0.004), (wall, half_y, half - 0.004)),
    )
    cabinet = "".join(
        f'<geom type="box" size="{numbers(size)}" pos="{numbers(centre)}" material="paint{index}" {STATIC}/>'
        for centre, size in shell
    )
    front, handle_x = half_x + 0.003, DRAWER_HANDLE_AHEAD_M
    moving = (
        ((front, 0.0, -0.006), (0.004, half_y - 0.002, half - 0.008), "drawer"),
        ((0.004, 0.0, -half + 0.010), (half_x - 0.006, half_y - 0.012, 0.004), "drawer"),
        (((front + handle_x) / 2, 0.0, -0.006), ((handle_x - front) / 2, 0.006, 0.006), "steel"),
        ((handle_x, 0.0, 0.002), (0.009, 0.011, half - 0.002), "dark"),
    )
    parts = "".join(
        f'<geom type="box" size="{numbers(size)}" pos="{numbers(centre)}" mass="0.08" '
        f'material="{material}" friction="{_FRICTION}" condim="4" {HINGED}/>'
        for centre, size, material in moving
    )
    return cabinet + (
        f'<body name="slide{index}"><joint name="slide{index}" type="slide" axis="1 0 0" '
        f'range="0 {DRAWER_TRAVEL_M}" frictionloss="1.5" damping="8" armature="0.05"/>{parts}</body>'
    )


def socket(index: int) -> str:
    """Return a block, fixed to the table, with a square hole and a funnel above it."""
    shape = SHAPES[Kind.SOCKET]
    half, outer, hole = shape.height_m / 2, shape.width_m / 2, SOCKET_HOLE_HALF_M
    start, wide = _FUNNEL_M
    slant = float(np.arctan2(wide - hole, shape.height_m - start))
    length = float(np.hypot(wide - hole, shape.height_m - start)) / 2
    paint = f'material="paint{index}" friction="0.3 0.01 0.001" {STATIC}'
    walls = []
    for side in range(4):
        turn = side * np.pi / 2
        for low, high, inner in ((0.0, start, hole), (start, shape.height_m, wide)):
            walls.append(
                _turned(turn, ((inner + outer) / 2, (low + high) / 2 - half), 0.0)
                + f'size="{numbers(((outer - inner) / 2, outer, (high - low) / 2))}" {paint}/>'
            )
        walls.append(
            _turned(turn, ((hole + wide) / 2 + 0.0012, (start + shape.height_m) / 2 - half), slant)
            + f'size="{numbers((0.0015, wide, length))}" {paint}/>'
        )
    floor = box((0.0, 0.0, SOCKET_FLOOR_M / 2 - half), (hole, hole, SOCKET_FLOOR_M / 2), "black")
    solid = floor.replace(VISUAL, STATIC)
    return "".join(walls) + solid


def peg(index: int) -> str:
    """Return a round pin."""
    shape = SHAPES[Kind.PEG]
    return (
        f'<geom type="cylinder" size="{shape.width_m / 2} {shape.height_m / 2}" mass="0.06" '
        f'material="paint{index}" friction="{_FRICTION}" condim="4" {OBJECT}/>'
    )


def mat(index: int) -> str:
    """Return a thin mat, glued to the table: it is seen, and objects stand on the table through it."""
    shape = SHAPES[Kind.MAT]
    outer, inner = shape.width_m / 2, shape.width_m / 2 - 0.008
    low, thin = 0.0, shape.height_m / 2
    return box((0.0, 0.0, low - thin / 4), (outer, outer, thin * 3 / 4), f"paint{index}") + box(
        (0.0, 0.0, low), (inner, inner, thin), "mat"
    )


def _turned(turn: float, place: tuple[float, float], slant: float) -> str:
    """Begin a box that stands at radius and height ``place`` on one side of a block, leaning outwards."""
    radius, height = place
    centre = (radius * float(np.cos(turn)), radius * float(np.sin(turn)), height)
    return f'<geom type="box" pos="{numbers(centre)}" euler="0 {slant!r} {float(turn)!r}" '
