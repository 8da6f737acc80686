"""Models of the clutter: flat, only visual, each a body of its own that can be hidden and moved."""

from __future__ import annotations

from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.world.scenes.clutter import Clutter, ClutterKind
from embodied_iqa.world.simulation.engine import mujoco
from embodied_iqa.world.simulation.geoms import VISUAL, Vector, add_box, add_rod

_PRINT_PX: Final = 128
_FLAT_M: Final = 0.0006
_HALF_M: Final = {ClutterKind.PAPER: (0.037, 0.052), ClutterKind.CARD: (0.0275, 0.0275)}
"""Half the size of a printed sheet and of a card."""


def add_clutter_textures(spec: Any) -> None:
    """Add what is printed on sheets and cards."""
    for kind, texels in ((ClutterKind.PAPER, _page()), (ClutterKind.CARD, _chequers())):
        image = spec.add_texture(
            name=f"print-{kind}",
            type=mujoco.mjtTexture.mjTEXTURE_2D,
            width=_PRINT_PX,
            height=_PRINT_PX,
            nchannel=3,
        )
        image.colorspace = mujoco.mjtColorSpace.mjCOLORSPACE_LINEAR
        image.data = np.repeat(texels[..., None], 3, axis=-1).tobytes()


def add_clutter(spec: Any, index: int, item: Clutter) -> None:
    """Add a thing, its material ``clutter`` and its body ``clutter`` with this index."""
    paint = f"clutter{index}"
    material = spec.add_material(name=paint, rgba=(*item.rgb, 1), specular=0.3, shininess=0.5)
    if item.kind in _HALF_M:
        material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = f"print-{item.kind}"
    pos, quat = clutter_pose(item)
    body = spec.worldbody.add_body(name=f"clutter{index}", pos=pos, quat=quat)
    match item.kind:
        case ClutterKind.PAPER | ClutterKind.CARD:
            add_box(body, (0, 0, _FLAT_M / 2), (*_HALF_M[item.kind], _FLAT_M / 2), paint)
        case ClutterKind.COIN:
            _add_disc(body, 0.0116, 0.0022, paint)
        case ClutterKind.PEN:
            add_rod(body, (-0.068, 0, 0.0045), (0.05, 0, 0.0045), 0.0045, paint)
            add_rod(body, (0.05, 0, 0.0045), (0.068, 0, 0.0045), 0.0028, "dark")
        case ClutterKind.BOLT:
            add_rod(body, (-0.012, 0, 0.005), (0.018, 0, 0.005), 0.003, "steel")
            add_rod(body, (-0.018, 0, 0.005), (-0.012, 0, 0.005), 0.0065, "steel")


def clutter_pose(item: Clutter) -> tuple[Vector, tuple[float, float, float, float]]:
    """Return the position (m) and the quaternion (w x y z) of a thing's body."""
    half_rad = item.yaw_rad / 2
    return (item.x_m, item.y_m, 0.0), (float(np.cos(half_rad)), 0.0, 0.0, float(np.sin(half_rad)))


def _add_disc(body: Any, radius_m: float, height_m: float, material: str) -> None:
    size, pos = (radius_m, height_m / 2), (0, 0, height_m / 2)
    body.add_geom(type=mujoco.mjtGeom.mjGEOM_CYLINDER, size=size, pos=pos, material=material, **VISUAL)


def _page() -> NDArray[np.uint8]:
    """Return a page with a heading, lines of words and an image."""
    rng = np.random.default_rng(71)
    page = np.full((_PRINT_PX, _PRINT_PX), 255, np.uint8)
    page[10:18, 12:80] = 60
    page[80:116, 70:116] = 150
    for row in range(28, 118, 7):
        column = 12
        while column < 112 and not (row > 74 and column > 60):
            width = int(rng.integers(4, 16))
            page[row : row + 3, column : min(column + width, 116)] = 90
            column += width + 4
    return page


def _chequers() -> NDArray[np.uint8]:
    squares = np.indices((6, 6)).sum(axis=0) % 2
    fields = np.where(squares == 1, 255, 70).astype(np.uint8)
    return np.asarray(cv2.resize(fields, (_PRINT_PX, _PRINT_PX), interpolation=cv2.INTER_NEAREST), np.uint8)
