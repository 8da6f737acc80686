"""Compiled parts of what learned metrics measure of an image: those of OpenCV and NumPy, in fewer passes.

What is of a pixel is that of the plain code bit by bit, of planes that hold gray levels or means of some.
Sums add up in float64, and differ from those of the plain code by less than rounding to float32.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.kinematics.kernels import compiled

Plane = NDArray[np.float32]
Sums = NDArray[np.float64]
_summing = partial(compiled, in_any_order=True)


@compiled
def _row(plane: Plane, y: int) -> Any:
    """Return a row; beyond the border it is mirrored at the outermost one."""
    if y < 0:
        return plane[1]
    return plane[y] if y < len(plane) else plane[len(plane) - 2]


@compiled
def _mirror(padded: Plane) -> None:
    """Write the ends of a row that has one place more on each side."""
    padded[0], padded[len(padded) - 1] = padded[2], padded[len(padded) - 3]


@_summing
def _sums(row: Plane) -> Any:
    """Return the sums of the magnitudes and of the squares."""
    total, squares = 0.0, 0.0
    for x in range(len(row)):
        value = np.float64(row[x])
        total += abs(value)
        squares += value * value
    return total, squares


@_summing
def _add(other: Plane, row: Plane, found: Sums) -> None:
    """Add the sum of the products, and the sums of the squares of those above and below 0."""
    total, above, below = 0.0, 0.0, 0.0
    for x in range(len(other)):
        product = np.float64(other[x] * row[x])
        high, low = max(product, 0.0), min(product, 0.0)
        total += product
        above += high * high
        below += low * low
    found[0] += total
    found[1] += above
    found[2] += below


@compiled
def edge_maps(gray: Plane, slopes: Plane, bends: Plane) -> Any:
    """Write the magnitudes of gradient (Scharr) and Laplacian of ``(H, W)``; see `gradient` and `edges`.

    Returns:
        The sums of the gradient and of its square, of the Laplacian and of its square.
    """
    width = gray.shape[1]
    smooths, changes = np.empty(width + 2, np.float32), np.empty(width + 2, np.float32)
    rows = np.empty(width + 2, np.float32)
    smooth, change, row = smooths[1 : width + 1], changes[1 : width + 1], rows[1 : width + 1]
    three, four, ten, scale = np.float32(3), np.float32(4), np.float32(10), np.float32(1 / 32)
    found = (0.0, 0.0, 0.0, 0.0)
    for y in range(len(gray)):
        up, centre, down, slope, bend = _row(gray, y - 1), gray[y], _row(gray, y + 1), slopes[y], bends[y]
        for x in range(width):
            smooth[x] = three * (up[x] + down[x]) + ten * centre[x]
        for x in range(width):
            change[x] = down[x] - up[x]
            row[x] = centre[x]
        for padded in (smooths, changes, rows):
            _mirror(padded)
        left, right, before, after = smooths[:width], smooths[2:], changes[:width], changes[2:]
        for x in range(width):
            dx = scale * (right[x] - left[x])
            dy = scale * (three * (before[x] + after[x]) + ten * change[x])
            slope[x] = math.sqrt(dx * dx + dy * dy)
        left, right = rows[:width], rows[2:]
        for x in range(width):
            bend[x] = abs(up[x] + down[x] + left[x] + right[x] - four * row[x])
        (total, squares), (bent, bent_squares) = _sums(slope), _sums(bend)
        found = found[0] + total, found[1] + squares, found[2] + bent, found[3] + bent_squares
    return found


@compiled
def normalise(gray: Plane, mean: Plane, square: Plane, deviation: Plane, normal: Plane) -> None:
    """Write what `mscn_statistics` calls so, given the local means of ``(H, W)`` and of its squares."""
    zero, one = np.float32(0), np.float32(1)
    for y in range(len(gray)):
        values, means, squares, deviations, out = gray[y], mean[y], square[y], deviation[y], normal[y]
        for x in range(len(values)):
            deviations[x] = math.sqrt(max(squares[x] - means[x] * means[x], zero)) + one
        for x in range(len(values)):
            out[x] = (values[x] - means[x]) / deviations[x]


@compiled
def normal_sums(normal: Plane, found: Sums) -> None:
    """Add the sums of ``(H, W)``: of magnitudes, of squares, and of the products with three neighbours.

    These are the right one, the lower one, and the lower right one; ``found`` is ``(11,)``, of each the sum
    of the products, and of the squares of those above and below 0.
    """
    for y in range(len(normal)):
        row = normal[y]
        total, squares = _sums(row)
        found[0] += total
        found[1] += squares
        _add(row[1:], row, found[2:5])
        if y + 1 < len(normal):
            _add(normal[y + 1], row, found[5:8])
            _add(normal[y + 1, 1:], row, found[8:11])


@compiled
def binned_power(waves: Plane, bins: NDArray[np.int64], power: Sums) -> None:
    """Add the square of each number of ``(H, W)`` to that of its bin, ``(H * W,)``."""
    flat = waves.ravel()
    for index in range(len(flat)):
        power[bins[index]] += np.float64(flat[index] * flat[index])
