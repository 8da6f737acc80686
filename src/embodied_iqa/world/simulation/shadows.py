"""Soft shadows on the table: one dark, blurred patch below each object and each link of the robot.

Shadow maps cost several times the image in software rendering. The patches are drawn with it, cost little,
and have what an image needs of a shadow: direction, length and a soft edge that widens with the height of
what casts it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.world.scenes.dimensions import TABLE_X_M, TABLE_Y_M
from embodied_iqa.world.scenes.scene import Light
from embodied_iqa.world.simulation.engine import mujoco

_MATERIAL: Final = "shadow"
_TEXTURE_PX: Final = 64
_CORE: Final = 0.35
"""Part of a patch's radius that is darkest."""
_EDGE: Final = 1.15
"""A patch is this much larger than the shadow, as it fades towards its edge."""
_THICK_M: Final = 0.0002
_ABOVE_M: Final = 0.0004
_SMALLEST_M: Final = 0.008
"""Smaller parts, such as beads, cast no shadow."""
_FADES_M: Final = 0.2
"""Height at which a shadow has half of its opacity: the lamp is large."""
_FAINT: Final = 0.06
"""A fainter shadow is not drawn: it would be large, which is slow."""
_COLLISION_GROUP: Final = 3


def add_shadow_material(spec: Any) -> None:
    """Add the material of the patches: black, its opacity falling from the middle to the edge."""
    y, x = (np.mgrid[0:_TEXTURE_PX, 0:_TEXTURE_PX] + 0.5) / _TEXTURE_PX * 2 - 1
    part = np.clip((1.0 - np.hypot(x, y)) / (1.0 - _CORE), 0.0, 1.0)
    texels = np.zeros((_TEXTURE_PX, _TEXTURE_PX, 4), np.uint8)
    texels[..., 3] = np.rint(255 * part * part * (3 - 2 * part))
    kind = mujoco.mjtTexture.mjTEXTURE_2D
    image = spec.add_texture(name=_MATERIAL, type=kind, width=_TEXTURE_PX, height=_TEXTURE_PX, nchannel=4)
    image.data = texels.tobytes()
    material = spec.add_material(name=_MATERIAL, rgba=(1, 1, 1, 0.5), specular=0, shininess=0)
    material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = _MATERIAL


@dataclass(frozen=True, slots=True, eq=False)
class _Casters:
    """What casts shadows: ``(N, 3)`` lower and upper corners in the base frame (m)."""

    low_m: NDArray[np.float64]
    high_m: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Patch:
    """A patch on the table: centre and half its sizes (m), its turn and its opacity in [0, 1]."""

    centre_m: tuple[float, float, float]
    half_m: tuple[float, float, float]
    turn_rad: float
    opacity: float


class Shadows:
    """Draws the shadows of one model.

    Args:
        model: The compiled model, with `add_shadow_material`.
        object_of_geom: ``(geoms,)``, the object of each geom, negative for none.
    """

    def __init__(self, model: Any, object_of_geom: NDArray[np.int16]) -> None:
        self._model = model
        self._material = model.material(_MATERIAL).id
        robot = (model.geom_group == _COLLISION_GROUP) & (object_of_geom < 0)
        large = model.geom_rbound > _SMALLEST_M
        links = np.cumsum(robot) + int(object_of_geom.max(initial=-1))
        self._caster = np.where(robot & large, links, np.where(large, object_of_geom, -1))
        self._robot = robot

    def draw(self, drawn: Any, data: Any, light: Light) -> None:
        """Append the patches to a ``mujoco.MjvScene`` that shows a state."""
        patches = sorted(self._patches(data, light), key=lambda patch: patch.centre_m)
        for patch in patches:
            if drawn.ngeom >= drawn.maxgeom:
                return
            geom = drawn.geoms[drawn.ngeom]
            cosine, sine = np.cos(patch.turn_rad), np.sin(patch.turn_rad)
            axes = np.array([cosine, -sine, 0, sine, cosine, 0, 0, 0, 1.0])
            rgba = np.array([0, 0, 0, patch.opacity], np.float32)
            size, centre = np.array(patch.half_m), np.array(patch.centre_m)
            mujoco.mjv_initGeom(geom, mujoco.mjtGeom.mjGEOM_BOX, size, centre, axes, rgba)
            geom.matid, geom.segid = self._material, -1
            geom.objtype, geom.objid = (
                mujoco.mjtObj.mjOBJ_UNKNOWN,
                -1,
            )  # the order of drawing depends on these
            geom.category = mujoco.mjtCatBit.mjCAT_DECOR
            drawn.ngeom += 1

    def _patches(self, data: Any, light: Light) -> Iterator[_Patch]:
        casters = self._boxes(data)
        slope = self._model.light_dir[0, :2] / -self._model.light_dir[0, 2]
        reach = float(np.hypot(*slope))
        turn = float(np.arctan2(slope[1], slope[0]))
        for low, high in zip(casters.low_m, casters.high_m, strict=True):
            bottom, top = max(low[2], 0.0), max(high[2], 0.0)
            radius = float(np.mean(high[:2] - low[:2])) / 2
            soft = light.softness * (bottom + top) / 2
            centre = (low[:2] + high[:2]) / 2 + slope * (bottom + top) / 2
            long_m = _EDGE * (radius + reach * (top - bottom) / 2 + soft)
            x, y = (float(value) for value in centre)
            opacity = light.shadow * radius / (radius + soft) / (1 + bottom / _FADES_M)
            if opacity >= _FAINT and _on_table(x, y, long_m):
                half_m = (long_m, _EDGE * (radius + soft), _THICK_M)
                yield _Patch((x, y, _ABOVE_M), half_m, turn, float(opacity))

    def _boxes(self, data: Any) -> _Casters:
        """Return the box around each object and each link."""
        model = self._model
        shown = (self._caster >= 0) & (self._robot | (model.geom_group < _COLLISION_GROUP))
        casters, which = np.unique(self._caster[shown], return_inverse=True)
        axes = data.geom_xmat[shown].reshape(-1, 3, 3)
        bounds = model.geom_aabb[shown]
        centre = data.geom_xpos[shown] + np.einsum("nij,nj->ni", axes, bounds[:, :3])
        half = np.einsum("nij,nj->ni", np.abs(axes), bounds[:, 3:])
        low, high = np.full((len(casters), 3), np.inf), np.full((len(casters), 3), -np.inf)
        np.minimum.at(low, which, centre - half)
        np.maximum.at(high, which, centre + half)
        return _Casters(low, high)


def _on_table(x: float, y: float, radius_m: float) -> bool:
    inside_x = TABLE_X_M[0] + radius_m < x < TABLE_X_M[1] - radius_m
    return bool(inside_x and TABLE_Y_M[0] + radius_m < y < TABLE_Y_M[1] - radius_m)
