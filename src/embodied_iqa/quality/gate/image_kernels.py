"""Compiled parts of the statistics of an image: the same whole numbers in a third of the time of OpenCV.

Rows are cut into slices of equal length, and each operation is cast back to its narrow type: only then the
compiler handles 16 or 32 pixels at once.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.kinematics.kernels import compiled

Gray = NDArray[np.uint8]
_CELL_PX: Final = 16
"""`CELL_PX` of `image_filters`, again: numba's cache on disk notices no change in another file."""
_RUN_PX: Final = 1024
"""Pixels whose squared Laplacians, at most 1020 each before they are squared, add up in 32 bits."""


@compiled
def _row(plane: Gray, y: int) -> Any:
    """Return a row; beyond the border it is mirrored at the outermost one."""
    if y < 0:
        return plane[1]
    return plane[y] if y < len(plane) else plane[len(plane) - 2]


@compiled
def laplacian_energy(plane: Gray, top: int, end: int) -> Any:
    """Return the sum of the squared Laplacian over rows ``top`` to ``end`` of ``(H, W)``."""
    width = plane.shape[1]
    energy: Any = 0
    for y in range(top, end):
        up, row, down = _row(plane, y - 1), plane[y], _row(plane, y + 1)
        for edge, inner in ((0, 1), (width - 1, width - 2)):
            value = int(up[edge]) + int(down[edge]) + 2 * int(row[inner]) - 4 * int(row[edge])
            energy += value * value
        for begin in range(1, width - 1, _RUN_PX):
            end_x = min(begin + _RUN_PX, width - 1)
            above, centre, below = up[begin:end_x], row[begin:end_x], down[begin:end_x]
            left, right = row[begin - 1 : end_x - 1], row[begin + 1 : end_x + 1]
            run = np.int32(0)
            for x in range(end_x - begin):
                bend = np.int32(np.int16(left[x] + right[x] + above[x] + below[x] - 4 * np.int16(centre[x])))
                run = np.int32(run + np.int32(bend * bend))
            energy += run
    return energy


@compiled
def noise_response(plane: Gray, top: int, end: int, response: Gray) -> None:
    """Write the magnitude of the response to the noise mask, at most 255, for rows ``top`` to ``end``."""
    width = plane.shape[1]
    bends = np.empty(width + 2, np.int16)
    centre, left, right = bends[1 : width + 1], bends[:width], bends[2:]
    for y in range(top, end):
        up, row, down, out = _row(plane, y - 1), plane[y], _row(plane, y + 1), response[y - top]
        for x in range(width):
            centre[x] = np.int16(up[x] + down[x] - 2 * np.int16(row[x]))
        bends[0], bends[width + 1] = bends[2], bends[width - 1]
        for x in range(width):
            bend = np.int16(left[x] + right[x] - 2 * centre[x])
            out[x] = np.uint8(min(max(bend, np.int16(-bend)), np.int16(255)))


@compiled
def _write_medians(low: Gray, middle: Gray, high: Gray, medians: Gray) -> None:
    """Write the medians of 3 x 3 pixels, given the least, the middle and the largest of each 3 x 1."""
    width = len(medians)
    l0, l1, l2 = low[:width], low[1 : width + 1], low[2:]
    m0, m1, m2 = middle[:width], middle[1 : width + 1], middle[2:]
    h0, h1, h2 = high[:width], high[1 : width + 1], high[2:]
    for x in range(width):
        first = np.uint8(max(l0[x], l1[x], l2[x]))
        least, most = np.uint8(min(m0[x], m1[x])), np.uint8(max(m0[x], m1[x]))
        second = np.uint8(max(least, min(most, m2[x])))
        third = np.uint8(min(h0[x], h1[x], h2[x]))
        least, most = np.uint8(min(first, second)), np.uint8(max(first, second))
        medians[x] = np.uint8(max(least, min(most, third)))


@compiled
def odd_pixels(plane: Gray, top: int, end: int, limits: Gray) -> Any:
    """Return how many pixels of rows ``top`` to ``end`` are at most black, at least white, and specks.

    ``limits`` are ``(3,)``: black, white, and how far a speck is from the median of its 3 x 3 neighbours;
    beyond the border the outermost pixels are repeated.
    """
    width = plane.shape[1]
    lows, middles = np.empty(width + 2, np.uint8), np.empty(width + 2, np.uint8)
    highs, medians = np.empty(width + 2, np.uint8), np.empty(width, np.uint8)
    low, middle, high = lows[1 : width + 1], middles[1 : width + 1], highs[1 : width + 1]
    dark, bright, specks = np.zeros(width, np.uint8), np.zeros(width, np.uint8), np.zeros(width, np.uint8)
    n_dark, n_bright, n_specks = 0, 0, 0
    black, white, far = limits[0], limits[1], limits[2]
    for y in range(top, end):
        up, row, down = plane[max(y - 1, 0)], plane[y], plane[min(y + 1, len(plane) - 1)]
        for x in range(width):
            least, most = np.uint8(min(up[x], row[x])), np.uint8(max(up[x], row[x]))
            low[x] = np.uint8(min(least, down[x]))
            middle[x] = np.uint8(max(least, min(most, down[x])))
            high[x] = np.uint8(max(most, down[x]))
        for ranked in (lows, middles, highs):
            ranked[0], ranked[width + 1] = ranked[1], ranked[width]
        _write_medians(lows, middles, highs, medians)
        for x in range(width):
            away = np.uint8(max(row[x], medians[x]) - min(row[x], medians[x]))
            dark[x] = np.uint8(dark[x] + np.uint8(row[x] <= black))
            bright[x] = np.uint8(bright[x] + np.uint8(row[x] >= white))
            specks[x] = np.uint8(specks[x] + np.uint8(away > far))
        if (y - top) % 255 == 254 or y == end - 1:  # before 8 bits overflow
            for x in range(width):
                n_dark += int(dark[x])
                n_bright += int(bright[x])
                n_specks += int(specks[x])
            dark[:] = bright[:] = specks[:] = np.uint8(0)
    return n_dark, n_bright, n_specks


@compiled
def luminance_and_green(rows: Gray, gray: Gray, green: Gray) -> None:
    """Write luminance (BT.601, rounded as by OpenCV) and green of ``(H, 3 W)``: red, green, blue in turn."""
    for y in range(len(rows)):
        row, out, greens = rows[y], gray[y], green[y]
        for x in range(len(out)):
            red, blue = np.int32(row[3 * x]), np.int32(row[3 * x + 2])
            sums = red * np.int32(9798) + np.int32(row[3 * x + 1]) * np.int32(19235) + blue * np.int32(3735)
            out[x] = np.uint8(np.int32(sums + np.int32(1 << 14)) >> np.int32(15))
            greens[x] = row[3 * x + 1]


@compiled
def _write_difference(colour: Gray, luma: Gray, factor: np.int32, out: Gray) -> None:
    """Write a colour less luminance, by 2**-14 of a factor and around 128.5; it is never below 0."""
    for x in range(len(out)):
        difference = np.int32(colour[x]) - np.int32(luma[x])
        scaled = np.int32(np.int32(difference * factor + np.int32((128 << 14) + (1 << 13))) >> np.int32(14))
        out[x] = np.uint8(min(scaled, np.int32(255)))


@compiled
def colour_planes(rows: Gray, luma: Gray, cr: Gray, cb: Gray) -> None:
    """Write luminance, Cr and Cb, as OpenCV's conversion, of ``(H, 3 W)``: red, green, blue in turn."""
    width = luma.shape[1]
    red, green, blue = np.empty(width, np.uint8), np.empty(width, np.uint8), np.empty(width, np.uint8)
    for y in range(len(rows)):
        row, out = rows[y], luma[y]
        for x in range(width):
            red[x], green[x], blue[x] = row[3 * x], row[3 * x + 1], row[3 * x + 2]
        for x in range(width):
            sums = np.int32(red[x]) * np.int32(4899) + np.int32(green[x]) * np.int32(9617)
            sums += np.int32(blue[x]) * np.int32(1868)
            out[x] = np.uint8(np.int32(sums + np.int32(1 << 13)) >> np.int32(14))
        _write_difference(red, out, np.int32(11682), cr[y])
        _write_difference(blue, out, np.int32(9241), cb[y])


@compiled
def colourfulness(cr: Gray, cb: Gray, distance: Gray) -> Any:
    """Write the distances from neutral of ``(H, W)``, summed and at most 255; return the sum of all."""
    total: Any = 0
    for y in range(len(cr)):
        reds, blues, out, row_sum = cr[y], cb[y], distance[y], np.int32(0)
        for x in range(len(out)):
            red, blue = np.int32(reds[x]) - np.int32(128), np.int32(blues[x]) - np.int32(128)
            both = np.int32(abs(red) + abs(blue))
            row_sum = np.int32(row_sum + both)
            out[x] = np.uint8(min(both, np.int32(255)))
        total += row_sum
    return total


@compiled
def limited_sum(plane: Gray, limit: int) -> Any:
    """Return the sum of ``(H, W)`` values, each at most ``limit``."""
    total: Any = 0
    most = np.uint8(limit)
    for y in range(len(plane)):
        row, row_sum = plane[y], np.int32(0)
        for x in range(len(row)):
            row_sum = np.int32(row_sum + np.int32(min(row[x], most)))
        total += row_sum
    return total


@compiled
def histogram(plane: Gray) -> Any:
    """Return ``(256,)`` int64, how often each value is in ``(H, W)``, which need not be contiguous.

    Neighbours are counted in different tables: to add to one number again and again takes longer.
    """
    first, second = np.zeros(256, np.uint32), np.zeros(256, np.uint32)
    third, fourth = np.zeros(256, np.uint32), np.zeros(256, np.uint32)
    one = np.uint32(1)
    for y in range(len(plane)):
        row = plane[y]
        a, b, c, d = row[::4], row[1::4], row[2::4], row[3::4]
        for x in range(len(d)):
            first[a[x]] += one
            second[b[x]] += one
            third[c[x]] += one
            fourth[d[x]] += one
        for x in range(4 * len(d), len(row)):
            first[row[x]] += one
    counts = np.empty(256, np.int64)
    for value in range(256):
        counts[value] = np.int64(first[value]) + second[value] + third[value] + fourth[value]
    return counts


@compiled
def _moving_cells(fine: Gray, coarse: Gray) -> Any:
    """Return in how many cells of a row of them any step to the right or down differs from 0."""
    count = 0
    for begin in range(0, len(fine) - _CELL_PX + 1, _CELL_PX):
        found = np.uint8(0)
        for x in range(begin, begin + _CELL_PX - 1):  # the last step to the right leads to the next cell
            found |= fine[x]
        for x in range(begin, begin + _CELL_PX):
            found |= coarse[x]
        count += found != 0
    return count


@compiled
def step_sums(plane: Gray, top: int, end: int, columns: NDArray[np.int32], rows: NDArray[np.int32]) -> Any:
    """Add the steps from column to column, write those from row to row, and count cells that have any.

    Rows are ``top`` to ``end`` of ``(H, W)``, the next one is that below; cells have 16 rows and columns.
    """
    width = plane.shape[1]
    sums, fine, coarse = np.zeros(width, np.uint16), np.zeros(width, np.uint8), np.zeros(width, np.uint8)
    moving = 0
    for y in range(top, end):
        row, place = plane[y], (y - top) % _CELL_PX
        left, right = row[: width - 1], row[1:]
        for x in range(width - 1):
            step = np.uint8(max(left[x], right[x]) - min(left[x], right[x]))
            sums[x] = np.uint16(sums[x] + step)
            fine[x] = np.uint8(fine[x] | step)
        if y + 1 < len(plane):
            below, total = plane[y + 1], np.int32(0)
            within = np.uint8(0) if place == _CELL_PX - 1 else np.uint8(255)
            for x in range(width):
                step = np.uint8(max(row[x], below[x]) - min(row[x], below[x]))
                total = np.int32(total + np.int32(step))
                coarse[x] = np.uint8(coarse[x] | np.uint8(step & within))
            rows[y - top] = total
        if place == _CELL_PX - 1 or y == end - 1:
            for x in range(width - 1):
                columns[x] += np.int32(sums[x])
            if place == _CELL_PX - 1:
                moving += _moving_cells(fine, coarse)
            sums[:] = np.uint16(0)
            fine[:] = coarse[:] = np.uint8(0)
    return moving
