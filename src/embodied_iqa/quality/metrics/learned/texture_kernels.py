"""Compiled parts of what learned metrics measure of an image: those of OpenCV and NumPy, in fewer passes.

What is of a pixel is that of the plain code bit by bit, of planes that hold grey levels or means of some.
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
Gray = NDArray[np.uint8]
Sums = NDArray[np.float64]
_summing = partial(compiled, in_any_order=True)


@compiled
def _row(plane: Plane | Gray, y: int) -> Any:
    """Return a row; beyond the border it is mirrored at the outermost one."""
    if y < 0:
        return plane[1]
    return plane[y] if y < len(plane) else plane[len(plane) - 2]


@compiled
def _mirror(padded: Plane | NDArray[np.int16]) -> None:
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


@compiled
def noise_map(gray: Gray, noise: Plane) -> Any:
    """Write the magnitude of the response of ``(H, W)`` to ``(1 -2 1; -2 4 -2; 1 -2 1)``.

    Returns:
        The sums of the magnitudes of the second differences, along columns and along rows, without those at
        borders; and the sum of the noise.
    """
    height, width = gray.shape
    bends = np.empty(width + 2, np.int16)
    bend, left, right = bends[1 : width + 1], bends[:width], bends[2:]
    down: Any = 0
    across: Any = 0
    total: Any = 0
    for y in range(height):
        up, row, below, out = _row(gray, y - 1), gray[y], _row(gray, y + 1), noise[y]
        down_sum, across_sum, noise_sum = np.int32(0), np.int32(0), np.int32(0)
        for x in range(width):
            bend[x] = np.int16(up[x] + below[x] - 2 * np.int16(row[x]))
            down_sum = np.int32(down_sum + np.int32(abs(np.int32(bend[x]))))
        _mirror(bends)
        for x in range(width):
            response = np.int32(abs(np.int32(left[x]) + np.int32(right[x]) - 2 * np.int32(bend[x])))
            noise_sum = np.int32(noise_sum + response)
            out[x] = np.float32(response)
        before, after = row[: width - 2], row[2:]
        for x in range(width - 2):
            turn = np.int32(before[x]) + np.int32(after[x]) - 2 * np.int32(row[x + 1])
            across_sum = np.int32(across_sum + np.int32(abs(turn)))
        down += down_sum if 0 < y < height - 1 else 0
        across += across_sum
        total += noise_sum
    return down, across, total


@compiled
def _narrow_row(four: Gray, three: Gray) -> None:
    """Write the means of areas of 4/3 pixels; halves are rounded to even numbers, as by OpenCV."""
    for x in range(len(four) // 4):
        first, second = np.uint16(four[4 * x]), np.uint16(four[4 * x + 1])
        third, fourth = np.uint16(four[4 * x + 2]), np.uint16(four[4 * x + 3])
        sums = np.uint16(3 * first + second), np.uint16(2 * (second + third)), np.uint16(third + 3 * fourth)
        for place in range(3):
            is_odd = np.uint16(np.uint16(sums[place] >> np.uint16(2)) & np.uint16(1))
            three[3 * x + place] = np.uint8(np.uint16(sums[place] + np.uint16(1) + is_odd) >> np.uint16(2))


@compiled
def narrow(rows: Gray, out: Gray) -> None:
    """Write ``(H, 3 W)``, red, green and blue in turn, at 3/4 of the width; W is a multiple of 4."""
    width = rows.shape[1] // 3
    red, green, blue = np.empty(width, np.uint8), np.empty(width, np.uint8), np.empty(width, np.uint8)
    reds, greens, blues = (
        np.empty(width // 4 * 3, np.uint8),
        np.empty(width // 4 * 3, np.uint8),
        np.empty(width // 4 * 3, np.uint8),
    )
    for y in range(len(rows)):
        row, place = rows[y], out[y]
        for x in range(width):
            red[x], green[x], blue[x] = row[3 * x], row[3 * x + 1], row[3 * x + 2]
        _narrow_row(red, reds)
        _narrow_row(green, greens)
        _narrow_row(blue, blues)
        for x in range(len(reds)):
            place[3 * x], place[3 * x + 1], place[3 * x + 2] = reds[x], greens[x], blues[x]
