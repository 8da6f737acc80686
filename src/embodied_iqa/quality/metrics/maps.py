"""Maps that several metrics compute from an image."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

Map = NDArray[np.float32]

_LUMA = np.array([[0.299, 0.587, 0.114]], np.float32)


def transformed(image: NDArray[np.uint8], matrix: NDArray[np.float32]) -> Map:
    """Return linear combinations of the channels, ``(H, W, rows)`` or ``(H, W)`` for one row."""
    values: Map = cv2.transform(image.astype(np.float32), matrix)
    return values


def luma_of(image: NDArray[np.uint8]) -> Map:
    """Return the luma of ITU-R BT.601, ``(H, W)`` in [0, 255]."""
    return transformed(image, _LUMA)


def pooled_channels(image: NDArray[np.uint8], block_px: int, matrix: NDArray[np.float32]) -> list[Map]:
    """Return linear combinations of the channels' means over blocks, one map for each row of the matrix."""
    means = pooled(image.astype(np.float32), block_px)
    return list(cv2.split(cv2.transform(means, matrix)))


def pooling_of(shape: tuple[int, ...]) -> int:
    """Return the side of the blocks that bring an image's shorter side near 256 pixels."""
    return max(1, round(min(shape[:2]) / 256))


def pooled(values: Map, block_px: int) -> Map:
    """Return the means of square blocks; an incomplete block at the right or bottom is left out."""
    if block_px == 1:
        return values
    height, width = (side // block_px for side in values.shape[:2])
    inside = values[: height * block_px, : width * block_px]
    means: Map = cv2.resize(inside, (width, height), interpolation=cv2.INTER_AREA)
    return means


def gradient_magnitude(values: Map) -> Map:
    """Return the magnitude of Scharr's gradient; beyond the border everything is 0."""
    dx, dy = (
        cv2.Scharr(values, cv2.CV_32F, *axis, scale=1 / 16, borderType=cv2.BORDER_CONSTANT)
        for axis in ((1, 0), (0, 1))
    )
    return length(dx, dy)


def length(x: Map, y: Map) -> Map:
    """Return ``sqrt(x^2 + y^2)``; that of OpenCV rounds differently from one address to another."""
    squares: Map = x * x
    squares += y * y
    return np.sqrt(squares, out=squares)


def similarity(x: Map, y: Map, constant: float) -> Map:
    """Return ``(2 x y + c) / (x^2 + y^2 + c)``."""
    similar: Map = 2 * x * y
    similar += constant
    similar /= x * x + y * y + np.float32(constant)
    return similar


def frequencies(height: int, width: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the frequencies of rows and of columns, ``(height, width)`` each, with 0 in the middle.

    In cycles per pixel; of an odd side they end at 0.5 exactly, as in Kovesi's phase congruency.
    """
    rows, columns = (
        np.arange(-(side // 2), side - side // 2) / (side - 1 if side % 2 else side)
        for side in (height, width)
    )
    grid = np.meshgrid(rows, columns, indexing="ij")
    return grid[0], grid[1]
