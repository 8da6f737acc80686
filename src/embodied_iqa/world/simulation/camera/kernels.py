"""Compiled parts of the camera model."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.kinematics.kernels import compiled

Floats = NDArray[np.float32]
BLOCK_PX: Final = 8
"""Pixels of a block have one motion."""
_TAPS: Final = 64


@compiled
def _raw_value(electrons: Any, gain: Any) -> Any:
    """Return the 10-bit value of a signal."""
    return np.uint16(min(max(electrons * gain + np.float32(0.5), 0.0), 1023.0))


@compiled
def expose_mosaic(  # noqa: PLR0917 - compiled code takes arrays, not records
    rgb: NDArray[np.uint8],
    electrons: Floats,
    sensitivity: Floats,
    light: Floats,
    gains: Floats,
    columns_e: Floats,
    normals: Floats,
    starts: NDArray[np.int64],
    noise: Floats,
) -> NDArray[np.uint16]:
    """Return raw values of a Bayer mosaic (red green / green blue); arguments as in `Sensor.expose`.

    ``noise`` is the variance in the dark (electrons squared) and the raw values per electron.
    """
    height, width = light.shape
    raw = np.empty((height, width), np.uint16)
    for y in range(height):
        for x in range(width):
            channel = (y & 1) + (x & 1)
            mean = electrons[rgb[y, x, channel]] * sensitivity[channel] * light[y, x] * gains[y, x]
            drawn = mean + math.sqrt(mean + noise[0]) * normals[starts[y] + x] + columns_e[x]
            raw[y, x] = _raw_value(drawn, noise[1])
    return raw


@compiled
def expose_colour(  # noqa: PLR0917 - compiled code takes arrays, not records
    rgb: NDArray[np.uint8],
    electrons: Floats,
    sensitivity: Floats,
    light: Floats,
    gains: Floats,
    columns_e: Floats,
    normals: Floats,
    starts: NDArray[np.int64],
    noise: Floats,
) -> NDArray[np.uint16]:
    """Return raw values with three colours per pixel; there are two green pixels for a red and a blue one."""
    height, width = light.shape
    raw = np.empty((height, width, 3), np.uint16)
    root_half = np.float32(math.sqrt(0.5))
    for y in range(height):
        for x in range(width):
            for channel in range(3):
                mean = (
                    electrons[rgb[y, x, channel]] * sensitivity[channel] * light[y, x] * gains[y, x, channel]
                )
                spread = math.sqrt(mean + noise[0]) * normals[starts[y] + 3 * x + channel]
                if channel == 1:
                    spread *= root_half
                drawn = mean + spread + columns_e[x]
                raw[y, x, channel] = _raw_value(drawn, noise[1])
    return raw


@compiled
def develop_colour(
    raw: NDArray[np.uint16], red: NDArray[np.uint8], green: NDArray[np.uint8], blue: NDArray[np.uint8]
) -> NDArray[np.uint8]:
    """Return the value of each raw value ``(H, W, 3)`` in the table of its colour."""
    height, width, _ = raw.shape
    rgb = np.empty((height, width, 3), np.uint8)
    for y in range(height):
        for x in range(width):
            rgb[y, x, 0] = red[raw[y, x, 0]]
            rgb[y, x, 1] = green[raw[y, x, 1]]
            rgb[y, x, 2] = blue[raw[y, x, 2]]
    return rgb


@compiled
def smear(rgb: NDArray[np.uint8], shifts_px: Floats) -> NDArray[np.uint8]:
    """Average each block of pixels along its motion, in steps of at most a pixel.

    Args:
        rgb: ``(H, W, 3)`` uint8; rows and columns beyond the last whole block are not changed.
        shifts_px: ``(rows, columns, 2)`` float32, motion of each block of `BLOCK_PX` pixels to the right and
            down during the exposure.
    """
    height, width, _ = rgb.shape
    out = rgb.copy()
    stride, length = 3 * width, 3 * BLOCK_PX
    source, target = rgb.reshape(-1), out.reshape(-1)
    total, begins, lines = np.empty(length, np.uint16), np.empty(_TAPS, np.int64), np.empty(_TAPS, np.int64)
    for block_row in range(height // BLOCK_PX):
        for block in range(width // BLOCK_PX):
            dx, dy = shifts_px[block_row, block, 0], shifts_px[block_row, block, 1]
            taps = min(math.ceil(max(abs(dx), abs(dy)) - 0.25) + 1, _TAPS)
            if taps == 1:
                continue
            for tap in range(taps):
                share = tap / (taps - 1) - 0.5
                begins[tap] = 3 * min(max(BLOCK_PX * block + int(np.rint(dx * share)), 0), width - BLOCK_PX)
                lines[tap] = int(np.rint(dy * share))
            reciprocal = np.uint32((1 << 16) // taps + 1)
            for y in range(BLOCK_PX * block_row, BLOCK_PX * (block_row + 1)):
                total[:] = taps // 2
                for tap in range(taps):
                    begin = min(max(y + lines[tap], 0), height - 1) * stride + begins[tap]
                    line = source[begin : begin + length]
                    for value in range(length):
                        total[value] += line[value]
                begin = y * stride + length * block
                line = target[begin : begin + length]
                for value in range(length):
                    line[value] = (total[value] * reciprocal) >> np.uint32(16)
    return out
