"""Model of table, wall, floor and lamps, and the backgrounds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from embodied_iqa.world.scenes.dimensions import (
    FLOOR_Z_M,
    TABLE_THICKNESS_M,
    TABLE_X_M,
    TABLE_Y_M,
    WALL_HEIGHT_M,
    WALL_X_M,
)
from embodied_iqa.world.scenes.scene import Background, Light, Scene
from embodied_iqa.world.simulation.engine import mujoco
from embodied_iqa.world.simulation.geoms import FRICTION, STATIC, Vector, add_box, add_rod
from embodied_iqa.world.simulation.textures import texture


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
    Background.TARTAN: _Backdrop((1.05, 1.05, 1.05), 2.0, (0.78, 0.80, 0.86), (1.05, 1.00, 0.94), 0.0),
    Background.TERRAZZO: _Backdrop((1.02, 1.02, 1.02), 1.5, (0.86, 0.84, 0.80), (0.90, 0.95, 0.95), 0.25),
}

FLOOR_GROUP: Final = 2
"""Of the floor alone: it is drawn last, when the depth test spares the pixels that something hides."""

_LAMP: Final = (0.479, 0.878)
"""Direction of the main lamp, seen from above, at azimuth 0."""


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
    """Return the main lamp, to which the shadows belong, and the fill lamp."""
    cosine, sine = float(np.cos(light.azimuth_rad)), float(np.sin(light.azimuth_rad))
    along, across = -_LAMP[0] * light.tilt, -_LAMP[1] * light.tilt
    x, y = along * cosine - across * sine, across * cosine + along * sine
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


def add_backgrounds(spec: Any, backgrounds: Iterable[Background], *, textured: bool = True) -> None:
    """Add textures and materials: ``table-``, ``wall-`` and ``floor-`` with each background's name."""
    if textured:
        _add_texture(spec, "tiles")
    for background in backgrounds:
        _add_materials(spec, background, textured=textured)


def add_room(world: Any, scene: Scene) -> None:
    """Add lamps (``lamp0``, ``lamp1``), ``floor``, ``table`` and ``wall``."""
    for index, lamp in enumerate(lamps_of(scene.light)):
        world.add_light(
            name=f"lamp{index}",
            pos=(0, 0, 2.4),
            dir=lamp.direction,
            type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
            diffuse=lamp.diffuse,
            specular=[lamp.specular] * 3,
            castshadow=False,
        )
    _add_surfaces(world, scene.background)


def _add_texture(spec: Any, name: str) -> None:
    texels = texture(name)
    height, width, channels = texels.shape
    kind = mujoco.mjtTexture.mjTEXTURE_2D
    image = spec.add_texture(name=name, type=kind, width=width, height=height, nchannel=channels)
    image.colorspace = mujoco.mjtColorSpace.mjCOLORSPACE_LINEAR
    image.data = texels.tobytes()


def _add_materials(spec: Any, name: Background, *, textured: bool) -> None:
    drop = _BACKDROPS[name]
    table = spec.add_material(name=f"table-{name}", texrepeat=[drop.repeat] * 2, specular=drop.specular)
    spec.add_material(name=f"wall-{name}", rgba=(*drop.wall, 1), specular=0.25, shininess=0.4)
    floor = spec.add_material(name=f"floor-{name}", texrepeat=(10, 10), specular=0.05, rgba=(*drop.floor, 1))
    if not textured:
        return
    _add_texture(spec, name)
    for material, image in ((table, name), (floor, "tiles")):
        material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = image


def _add_surfaces(world: Any, background: Background) -> None:
    """Add floor, table and wall; the robot must not press against these."""
    middle_x, half_x = (TABLE_X_M[0] + TABLE_X_M[1]) / 2, (TABLE_X_M[1] - TABLE_X_M[0]) / 2
    half_y, half_z, wall_half = (TABLE_Y_M[1] - TABLE_Y_M[0]) / 2, TABLE_THICKNESS_M / 2, 0.02
    plane = mujoco.mjtGeom.mjGEOM_PLANE
    world.add_geom(
        name="floor",
        type=plane,
        size=(4, 4, 0.1),
        pos=(0, 0, FLOOR_Z_M),
        material=f"floor-{background}",
        group=FLOOR_GROUP,
        **STATIC,
    )
    table, table_half = (middle_x, 0.0, -half_z), (half_x, half_y, half_z)
    add_box(world, table, table_half, f"table-{background}", STATIC, name="table", friction=FRICTION)
    wall = (WALL_X_M - wall_half, 0.0, WALL_HEIGHT_M / 2)
    wall_size = (wall_half, half_y, WALL_HEIGHT_M / 2)
    add_box(world, wall, wall_size, f"wall-{background}", STATIC, name="wall")
    for x in (TABLE_X_M[0] + 0.06, TABLE_X_M[1] - 0.06):
        for y in (TABLE_Y_M[0] + 0.06, TABLE_Y_M[1] - 0.06):
            add_rod(world, (x, y, FLOOR_Z_M), (x, y, -TABLE_THICKNESS_M), 0.028, "edge")


def _tone(brightness: float, warmth: float) -> Vector:
    return brightness * (1.0 + 0.05 * warmth), brightness, brightness * (1.0 - 0.07 * warmth)
