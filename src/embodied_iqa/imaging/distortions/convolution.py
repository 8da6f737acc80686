"""Convolution of 8-bit images with large but sparse kernels, such as lines and disks."""

from __future__ import annotations

import math

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.imaging.distortions.image import Image

_TILE_PX = 11
"""OpenCV filters 8-bit images directly, skipping zero taps, while a kernel has under 130 cells."""
_MOST_DIRECT_TAPS = 180
"""Above this OpenCV's Fourier transform, fastest in float32, beats summing tap by tap."""
_FINE = 64.0
"""Partial sums are 16-bit integers in steps of 1/64 grey value: 255 x 64 fits."""


def convolve(image: Image, kernel: NDArray[np.float32]) -> Image:
    """Correlate an image or plane with a kernel of odd sides, mirrored at the border, rounded to nearest.

    Kernels too large for OpenCV's direct filter are cut into tiles that are; empty tiles cost nothing.
    """
    taps = int(np.count_nonzero(kernel))
    if max(kernel.shape) <= _TILE_PX:
        return np.asarray(cv2.filter2D(image, -1, kernel, borderType=cv2.BORDER_REFLECT))
    if taps > _MOST_DIRECT_TAPS:
        exact = cv2.filter2D(image.astype(np.float32), -1, kernel, borderType=cv2.BORDER_REFLECT)
        return np.asarray(cv2.multiply(exact, (1.0,) * 4, dtype=cv2.CV_8U))
    total: NDArray[np.int16] | None = None
    pad_y, pad_x = kernel.shape[0] // 2, kernel.shape[1] // 2
    padded = cv2.copyMakeBorder(image, pad_y, pad_y, pad_x, pad_x, cv2.BORDER_REFLECT)
    for top, left, tile in _tiles(kernel):
        part = _correlate_tile(padded, image.shape, top, left, tile)
        total = part if total is None else cv2.add(total, part, dst=total)
    return np.asarray(cv2.multiply(total, (1.0 / _FINE,) * 4, dtype=cv2.CV_8U))


def _tiles(kernel: NDArray[np.float32]) -> list[tuple[int, int, NDArray[np.float32]]]:
    rows, columns = (math.ceil(side / math.ceil(side / _TILE_PX)) for side in kernel.shape)
    return [
        (top, left, tile)
        for top in range(0, kernel.shape[0], rows)
        for left in range(0, kernel.shape[1], columns)
        if np.any(tile := kernel[top : top + rows, left : left + columns])
    ]


def _correlate_tile(
    padded: Image, shape: tuple[int, ...], top: int, left: int, tile: NDArray[np.float32]
) -> NDArray[np.int16]:
    height, width = shape[0] + tile.shape[0] - 1, shape[1] + tile.shape[1] - 1
    part = padded[top : top + height, left : left + width]
    filtered = cv2.filter2D(part, cv2.CV_16S, tile * np.float32(_FINE), anchor=(0, 0))
    exact: NDArray[np.int16] = filtered[: shape[0], : shape[1]]
    return exact
