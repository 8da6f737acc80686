"""Table, wall, floor and lamps as MJCF, and the five backgrounds that they can have."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from embodied_iqa.scenes.dimensions import (
    FLOOR_Z_M,
    TABLE_THICKNESS_M,
    TABLE_X_M,
    TABLE_Y_M,
    WALL_HEIGHT_M,
    WALL_X_M,
)
from embodied_iqa.scenes.scene import Background, Light, Scene
from embodied_iqa.simulation.mjcf import STATIC, Vector, numbers, rod
from embodied_iqa.simulation.textures import texture_png

__all__ = ["Lamp", "lamps_of", "room", "room_assets", "room_lamps", "room_textures", "table_tint"]


@dataclass(frozen=True, slots=True)
class _Backdrop:
    """Colours of a background, linear in [0, 1]; the table's texture has the background's name.

    Attributes:
        table: What the scene's tint of the table is multiplied with.
        repeat: How often the texture repeats over the table.
        wall: Colour of the wall.
        floor: Colour that the floor's tiles are multiplied with.
        specular: How much the table shines.
    """

    table: Vector
    repeat: float
    wall: Vector
    floor: Vector
    specular: float


_BACKDROPS: Final[dict[Background, _Backdrop]] = {
    Background.WOOD: _Backdrop((1.0, 1.0, 1.0), 2.0, (0.86, 0.87, 0.87), (1.0, 1.0, 1.0), 0.08),
    Background.OAK: _Backdrop((0.88, 0.90, 0.95), 2.0, (0.84, 0.82, 0.78), (1.10, 1.04, 0.96), 0.12),
    Background.SANDSTONE: _Backdrop((0.97, 0.97, 0.93), 2.0, (0.72, 0.75, 0.79), (0.85, 0.88, 0.92), 0.02),
    Background.MARBLE: _Backdrop((1.00, 1.00, 0.96), 1.5, (0.80, 0.84, 0.80), (1.35, 1.35, 1.32), 0.20),
    Background.LINEN: _Backdrop((0.96, 1.08, 1.26), 2.0, (0.88, 0.85, 0.82), (0.95, 0.98, 1.05), 0.0),
}


@dataclass(frozen=True, slots=True)
class Lamp:
    """A lamp at infinity.

    Attributes:
        direction: Where its light goes.
        diffuse: Its colour and brightness.
        specular: Brightness of highlights.
    """

    direction: Vector
    diffuse: Vector
    specular: float


def lamps_of(light: Light) -> tuple[Lamp, Lamp]:
    """Return the main lamp, which casts the shadows, and the fill lamp."""
    cosine, sine = float(np.cos(light.azimuth_rad)), float(np.sin(light.azimuth_rad))
    x, y = -0.12 * cosine + 0.22 * sine, -0.22 * cosine - 0.12 * sine
    return (
        Lamp((x, y, -1.0), _tone(0.52 * light.brightness, light.warmth), 0.3),
        Lamp((0.7, 0.6, -1.0), _tone(0.20 * light.brightness, light.warmth), 0.1),
    )


def table_tint(scene: Scene) -> Vector:
    """Return the colour that the table's texture is multiplied with."""
    red, green, blue = np.minimum(
        np.array(scene.table_rgb) * _BACKDROPS[scene.background].table, 1.0
    ).tolist()
    return red, green, blue


def room_assets(backgrounds: Iterable[Background]) -> str:
    """Return textures and materials: ``table-``, ``wall-`` and ``floor-`` with each background's name."""
    text = '<texture name="tiles" type="2d" file="tiles.png"/>'
    for name in backgrounds:
        drop = _BACKDROPS[name]
        text += (
            f'<texture name="{name}" type="2d" file="{name}.png"/>'
            f'<material name="table-{name}" texture="{name}" texrepeat="{drop.repeat} {drop.repeat}" '
            f'specular="{drop.specular}"/>'
            f'<material name="wall-{name}" rgba="{numbers(drop.wall)} 1" specular="0.25" shininess="0.4"/>'
            f'<material name="floor-{name}" texture="tiles" texrepeat="10 10" specular="0.05" '
            f'rgba="{numbers(drop.floor)} 1"/>'
        )
    return text


def room_textures(backgrounds: Iterable[Background]) -> dict[str, bytes]:
    """Return the files that `room_assets` names."""
    return {f"{name}.png": _texture(str(name)) for name in ("tiles", *backgrounds)}


def room_lamps(light: Light, *, shadows: bool) -> str:
    """Return the lamps, named ``lamp0`` and ``lamp1``."""
    text = ""
    for index, lamp in enumerate(lamps_of(light)):
        shadow = "true" if shadows and index == 0 else "false"
        text += (
            f'<light name="lamp{index}" pos="0 0 2.4" dir="{numbers(lamp.direction)}" type="directional" '
            f'diffuse="{numbers(lamp.diffuse)}" specular="{numbers([lamp.specular] * 3)}" '
            f'castshadow="{shadow}"/>'
        )
    return text


def room(background: Background) -> str:
    """Return floor, table and wall; what the robot must not press against has these names."""
    middle_x, half_x = (TABLE_X_M[0] + TABLE_X_M[1]) / 2, (TABLE_X_M[1] - TABLE_X_M[0]) / 2
    half_y, half_z = (TABLE_Y_M[1] - TABLE_Y_M[0]) / 2, TABLE_THICKNESS_M / 2
    wall_half = 0.02
    legs = "".join(
        rod((x, y, FLOOR_Z_M), (x, y, -TABLE_THICKNESS_M), 0.028, "edge")
        for x in (TABLE_X_M[0] + 0.06, TABLE_X_M[1] - 0.06)
        for y in (TABLE_Y_M[0] + 0.06, TABLE_Y_M[1] - 0.06)
    )
    return (
        f'<geom name="floor" type="plane" size="4 4 0.1" pos="0 0 {FLOOR_Z_M}" material="floor-{background}" '
        f'{STATIC}/><geom name="table" type="box" size="{numbers((half_x, half_y, half_z))}" '
        f'pos="{numbers((middle_x, 0.0, -half_z))}" material="table-{background}" friction="0.5 0.01 0.001" '
        f'{STATIC}/><geom name="wall" type="box" size="{numbers((wall_half, half_y, WALL_HEIGHT_M / 2))}" '
        f'pos="{numbers((WALL_X_M - wall_half, 0.0, WALL_HEIGHT_M / 2))}" material="wall-{background}" '
        f"{STATIC}/>" + legs
    )


@cache
def _texture(name: str) -> bytes:
    return texture_png(name)


def _tone(brightness: float, warmth: float) -> Vector:
    return brightness * (1.0 + 0.05 * warmth), brightness, brightness * (1.0 - 0.07 * warmth)
