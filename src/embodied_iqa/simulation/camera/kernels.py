"""Compiled parts of the camera model."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.kinematics.kernels import compiled

Floats = NDArray[np.float32]


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
            raw[y, x] = np.uint16(min(max(drawn * noise[1] + np.float32(0.5), 0.0), 1023.0))
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
                raw[y, x, channel] = np.uint16(min(max(drawn * noise[1] + np.float32(0.5), 0.0), 1023.0))
    return raw


@compiled
def smear(rgb: NDArray[np.uint8], shifts_px: Floats) -> NDArray[np.uint8]:
    """Average each block of 4 x 4 pixels along its motion, in steps of at most a pixel.

    Args:
        rgb: ``(H, W, 3)`` uint8; H and W are multiples of 4.
        shifts_px: ``(H / 4, W / 4, 2)`` float32, motion to the right and down during the exposure.
    """
    height, width, _ = rgb.shape
    out = rgb.copy()
    source, target = rgb.reshape(height, -1), out.reshape(height, -1)
    total, begins, lines = np.empty(12, np.uint32), np.empty(64, np.int64), np.empty(64, np.int64)
    for block_row in range(height // 4):
        for block in range(width // 4):
            dx, dy = shifts_px[block_row, block, 0], shifts_px[block_row, block, 1]
            taps = min(math.ceil(max(abs(dx), abs(dy)) - 0.25) + 1, 64)
            if taps == 1:
                continue
            for tap in range(taps):
                share = tap / (taps - 1) - 0.5
                begins[tap] = 3 * min(max(4 * block + int(np.rint(dx * share)), 0), width - 4)
                lines[tap] = int(np.rint(dy * share))
            reciprocal = np.uint32((1 << 20) // taps + 1)
            for y in range(4 * block_row, 4 * block_row + 4):
                for value in range(12):
                    total[value] = taps // 2
                for tap in range(taps):
                    line = source[min(max(y + lines[tap], 0), height - 1)]
                    begin = begins[tap]
                    for value in range(12):
                        total[value] += line[begin + value]
                for value in range(12):
                    target[y, 12 * block + value] = (total[value] * reciprocal) >> np.uint32(20)
    return out
