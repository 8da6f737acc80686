"""Textures of printed marks: dark on white, multiplied with the paint of an object."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.world.simulation.engine import mujoco
from embodied_iqa.world.tasks.vocabulary import Mark

_SIZE_PX: Final = 128
_INK: Final = 0.16
"""Brightness of the mark, relative to the paint."""
_STRIPES: Final = 3
_DOTS: Final = 2
_FINE: Final = 4
"""Marks are drawn this many times larger, then reduced: their edges are smooth."""


def texture_name(mark: Mark) -> str:
    """Return the name of a mark's texture in the model."""
    return f"mark-{mark}"


def add_mark_textures(spec: Any, marks: Iterable[Mark]) -> None:
    """Add the textures of marks, one image for each of the six directions."""
    for mark in marks:
        faces = np.concatenate([_face(mark)] * 6)
        image = spec.add_texture(
            name=texture_name(mark),
            type=mujoco.mjtTexture.mjTEXTURE_CUBE,
            width=_SIZE_PX,
            height=6 * _SIZE_PX,
            nchannel=3,
        )
        image.colorspace = mujoco.mjtColorSpace.mjCOLORSPACE_LINEAR
        image.data = np.repeat(faces[..., None], 3, axis=-1).tobytes()


@cache
def _face(mark: Mark) -> NDArray[np.uint8]:
    """Return ``(H, W)`` uint8."""
    size = _SIZE_PX * _FINE
    y, x = (np.mgrid[0:size, 0:size] + 0.5) / size - 0.5
    radius = np.hypot(x, y)
    match mark:
        case Mark.STRIPED:
            inked = np.floor((x + 0.5) * 2 * _STRIPES) % 2 == 1
        case Mark.DOTTED:
            inked = (
                np.hypot(*((part * _DOTS + 0.5) % 1.0 - 0.5 for part in (x + 0.5 / _DOTS, y + 0.5 / _DOTS)))
                < 0.28
            )
        case Mark.RINGED:
            inked = np.abs(radius - 0.27) < 0.075
        case Mark.CROSSED:
            inked = (np.minimum(np.abs(x), np.abs(y)) < 0.085) & (np.maximum(np.abs(x), np.abs(y)) < 0.38)
        case _:
            inked = _character(str(mark), size)
    white = np.where(inked, _INK, 1.0).astype(np.float32)
    small = cv2.resize(white, (_SIZE_PX, _SIZE_PX), interpolation=cv2.INTER_AREA)
    return np.asarray(np.rint(255 * np.asarray(small)), np.uint8)


def _character(character: str, size: int) -> NDArray[np.bool_]:
    canvas = np.zeros((size, size), np.uint8)
    font, scale, thick = cv2.FONT_HERSHEY_SIMPLEX, size / 34, size // 9
    (width, height), _ = cv2.getTextSize(character, font, scale, thick)
    at = ((size - width) // 2, (size + height) // 2)
    cv2.putText(canvas, character, at, font, scale, 255, thick, cv2.LINE_AA)
    return canvas > 127
