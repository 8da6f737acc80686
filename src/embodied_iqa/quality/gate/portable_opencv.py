"""The functions of OpenCV with which images are measured, in NumPy: OpenCV is too large for a light install.

Names, arguments and results are those of `cv2` for ``uint8`` images, as far as `image_statistics` uses them.
Pixels are equal; `norm` may differ in the last digit. It takes about five times as long: 3 ms for 224 x 224
pixels, 15 ms for 640 x 480.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

COLOR_RGB2GRAY: Final = 7
COLOR_RGB2YCrCb: Final = 37
INTER_AREA: Final = 3
NORM_L1: Final = 2
NORM_L2SQR: Final = 5
REDUCE_SUM: Final = 0
THRESH_TRUNC: Final = 2
CV_16S: Final = 3
CV_32S: Final = 4

_GRAY: Final = (9798, 19235, 3735, 15)
"""Weights of red, green and blue for luminance, and their bits."""
_LUMA: Final = (4899, 9617, 1868, 14)
_CR, _CB = 11682, 9241
_HALF: Final = 1 << 13
_SLIVER: Final = 1e-3
"""A smaller part of a row is left out."""

Gray = NDArray[np.uint8]


def cvtColor(rgb: Gray, code: int) -> Gray:
    """Return ``(H, W)`` luminance or ``(H, W, 3)`` Y, Cr and Cb of an ``(H, W, 3)`` image."""
    if code == COLOR_RGB2GRAY:
        return _weighted(rgb, _GRAY).astype(np.uint8)
    luma = _weighted(rgb, _LUMA)
    planes = [luma]
    for channel, scale in ((0, _CR), (2, _CB)):
        offset = (rgb[..., channel].astype(np.int32) - luma) * scale + (128 << 14) + _HALF
        planes.append(np.clip(offset >> 14, 0, 255))
    return np.stack(planes, axis=-1).astype(np.uint8)


def _weighted(rgb: Gray, weights: tuple[int, int, int, int]) -> NDArray[np.int32]:
    *factors, bits = weights
    total = np.full(rgb.shape[:2], 1 << (bits - 1), np.int32)
    for channel, factor in enumerate(factors):
        total += rgb[..., channel].astype(np.int32) * factor
    return np.right_shift(total, bits, dtype=np.int32)


def resize(image: Gray, size: tuple[int, int], **_options: int) -> Gray:
    """Return an image of half the size, rounded down: the mean of the area of each pixel."""
    width, height = size
    if image.shape[1] == 2 * width and image.shape[0] == 2 * height:
        wide = image.astype(np.uint16)
        total = wide[::2, ::2] + wide[1::2, ::2] + wide[::2, 1::2] + wide[1::2, 1::2]
        return ((total + 2) >> 2).astype(np.uint8)
    columns = _means(image.swapaxes(0, 1).astype(np.float32), width).swapaxes(0, 1)
    return np.ascontiguousarray(np.rint(_means(columns, height)), np.uint8)


def _means(image: NDArray[np.float32], rows: int) -> NDArray[np.float32]:
    """Return the means of so many equal parts of the rows, added up as OpenCV does: ties are equal."""
    scale = len(image) / rows
    start = np.arange(rows) * scale
    end, cell = start + scale, np.minimum(scale, len(image) - start)
    last = np.minimum(np.floor(end).astype(int), len(image) - 1)
    first = np.minimum(np.ceil(start).astype(int), last)
    taps = [(first - 1, np.where(first - start > _SLIVER, first - start, 0.0))]
    taps += [(first + row, (first + row < last) * 1.0) for row in range(int(np.max(last - first)))]
    taps.append((last, np.where(end - last > _SLIVER, np.minimum(end - last, 1.0), 0.0)))
    total = np.zeros((rows, *image.shape[1:]), np.float32)
    for place, share in taps:
        weights = (share / cell).astype(np.float32).reshape(-1, *[1] * (image.ndim - 1))
        total += image[np.clip(place, 0, len(image) - 1)] * weights
    return total


def absdiff(first: Gray, second: Gray) -> Gray:
    """Return the absolute difference of two images."""
    return np.asarray(np.maximum(first, second) - np.minimum(first, second), np.uint8)


def add(first: Gray, second: Gray) -> Gray:
    """Return the sum of two images, at most 255."""
    return np.asarray(np.minimum(first.astype(np.uint16) + second, 255), np.uint8)


def split(image: Gray) -> Sequence[Gray]:
    """Return the planes of an image."""
    return [np.ascontiguousarray(image[..., channel]) for channel in range(image.shape[-1])]


def calcHist(
    images: Sequence[Gray],
    channels: Sequence[int],
    _mask: None,
    _sizes: Sequence[int],
    _ranges: Sequence[int],
) -> NDArray[np.float32]:
    """Return the number of pixels of each level in one channel."""
    (image,), (channel,) = images, channels
    plane = image if image.ndim == 2 else image[..., channel]
    return np.bincount(plane.ravel(), minlength=256).astype(np.float32)


def threshold(image: Gray, limit: int, _highest: int, _kind: int) -> tuple[float, Gray]:
    """Return the limit, and the image with no level above it."""
    return float(limit), np.minimum(image, np.uint8(limit))


def sumElems(image: Gray) -> tuple[float, ...]:
    """Return the sum of all levels first."""
    return (float(image.sum(dtype=np.int64)),)


def norm(image: NDArray[Any], kind: int) -> float:
    """Return the sum of the levels or of their squares."""
    wide = image.astype(np.int64).ravel()
    return float(wide @ wide) if kind == NORM_L2SQR else float(np.abs(wide).sum())


def reduce(image: Gray, axis: int, _kind: int, **_options: int) -> NDArray[np.int32]:
    """Return the sums of columns (axis 0) or rows (axis 1)."""
    return np.asarray(image.sum(axis=axis, dtype=np.int32), np.int32)


def Laplacian(image: Gray, _depth: int) -> NDArray[np.int16]:
    """Return the sum of the four neighbours minus four times each pixel."""
    wide = np.pad(image, 1, mode="reflect").astype(np.int16)
    around = wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:]
    result: NDArray[np.int16] = around - 4 * wide[1:-1, 1:-1]
    return result


def Sobel(image: Gray, _depth: int, _dx: int, _dy: int, **_options: int) -> NDArray[np.int16]:
    """Return the second derivative along both axes, of 3 x 3 pixels."""
    wide = np.pad(image, 1, mode="reflect").astype(np.int16)
    rows = wide[:-2] - 2 * wide[1:-1] + wide[2:]
    result: NDArray[np.int16] = rows[:, :-2] - 2 * rows[:, 1:-1] + rows[:, 2:]
    return result


def convertScaleAbs(image: NDArray[np.int16]) -> Gray:
    """Return the absolute values, at most 255."""
    return np.minimum(np.abs(image), 255).astype(np.uint8)


def medianBlur(image: Gray, _size: int) -> Gray:
    """Return the median of 3 x 3 pixels, by sorting columns and then their lows, medians and highs."""
    wide = np.pad(image, 1, mode="edge")
    low, middle, high = _sorted(wide[:-2], wide[1:-1], wide[2:])
    largest_low = np.maximum(np.maximum(low[:, :-2], low[:, 1:-1]), low[:, 2:])
    least_high = np.minimum(np.minimum(high[:, :-2], high[:, 1:-1]), high[:, 2:])
    _, median, _ = _sorted(middle[:, :-2], middle[:, 1:-1], middle[:, 2:])
    return _sorted(largest_low, median, least_high)[1]


def _sorted(first: Gray, second: Gray, third: Gray) -> tuple[Gray, Gray, Gray]:
    """Return the least, the middle and the largest of three, pixel by pixel."""
    low, high = np.minimum(first, second), np.maximum(first, second)
    return np.minimum(low, third), np.maximum(low, np.minimum(high, third)), np.maximum(high, third)
