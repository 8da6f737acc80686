"""A small colour image with fine structure, made with whole-number arithmetic only."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

WIDTH_PX, HEIGHT_PX = 160, 120


def image(shift: int = 0) -> NDArray[np.uint8]:
    """Return ``(120, 160, 3)`` uint8: gradients, stripes, a checkerboard, discs, and fine texture."""
    y, x = np.mgrid[0:HEIGHT_PX, 0:WIDTH_PX].astype(np.int64)
    x = x + shift
    planes = [x * 255 // (WIDTH_PX + 64), y * 255 // HEIGHT_PX, (x + 2 * y) * 255 // 464]
    texture = (x * 7919 + y * 104729 + x * y * 31) % 23 - 11
    stripes = np.where((x // 3) % 2 == 0, 18, -18)
    board = np.where((x // 8 + y // 8) % 2 == 0, 25, -25)
    planes[0] = planes[0] + np.where(y < 40, stripes, 0) + texture
    planes[1] = planes[1] + np.where((y >= 40) & (y < 80), board, 0) - texture
    planes[2] = planes[2] + np.where(y >= 80, stripes + board, 0) + texture // 2
    for index, (u, v, radius) in enumerate(((40, 30, 18), (110, 60, 25), (70, 95, 15))):
        inside = (x - u) ** 2 + (y - v) ** 2 < radius**2
        for channel in range(3):
            planes[channel] = np.where(inside, 215 if channel == index else 40, planes[channel])
    return np.ascontiguousarray(np.clip(np.stack(planes, axis=2), 0, 255).astype(np.uint8))


def mask() -> NDArray[np.bool_]:
    """Return ``(120, 160)``: the region of interest, an ellipse off the centre."""
    y, x = np.mgrid[0:HEIGHT_PX, 0:WIDTH_PX].astype(np.int64)
    return np.asarray((x - 95) ** 2 * 4 + (y - 62) ** 2 * 9 < 9 * 40**2)
