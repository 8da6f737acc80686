"""Filters of the statistics of an image: by OpenCV, or by compiled code in a third of its time.

Both give the same whole numbers.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.lazy import has_module, load

try:
    import cv2
except ModuleNotFoundError:  # the light install
    from embodied_iqa.quality.gate import portable_opencv as cv2  # type: ignore[no-redef]

_COMPILED_FROM_PX: Final = 1 << 19
"""Images of so many pixels are worth the half second that a process takes to load compiled code."""

_ODD: Final = np.array([1, 254, 24], np.uint8)
"""Black, white, and grey levels from the median of its neighbours beyond which a pixel is a speck."""

CELL_PX: Final = 16
"""Side of the cells in which steps are looked for."""

Gray = NDArray[np.uint8]
Counts = NDArray[np.int64]
_kernels: ModuleType | None = None


def compile_for(sizes_px: Iterable[int]) -> None:
    """Use compiled code from now on, if some images are large and numba is installed.

    Call it before the first image: where set-up has not compiled the code, it takes several seconds.

    Args:
        sizes_px: Pixels of the images of each camera.
    """
    global _kernels  # noqa: PLW0603 - what is compiled is of the process, as an imported module is
    if max(sizes_px, default=0) < _COMPILED_FROM_PX or not has_module("numba"):
        return
    kernels = importlib.import_module("embodied_iqa.quality.gate.image_kernels")
    image = np.zeros((4, 4, 3), np.uint8)
    gray = np.ascontiguousarray(image[..., 1])
    kernels.laplacian_energy(gray, 0, 4)
    kernels.noise_response(gray, 0, 4, gray.copy())
    kernels.step_sums(gray, 0, 4, np.zeros(3, np.int32), np.zeros(4, np.int32))
    kernels.odd_pixels(gray, 0, 4, _ODD)
    kernels.histogram(gray)
    kernels.histogram(gray[::2])
    kernels.limited_sum(gray, 1)
    kernels.colourfulness(gray, gray, gray.copy())
    kernels.colour_planes(image.reshape(4, -1), *(gray.copy() for _ in range(3)))
    rows = image.reshape(4, -1)
    kernels.luminance_and_green(rows, gray, gray.copy())
    rows.flags.writeable = False  # another type for the compiler: that of a received message
    kernels.luminance_and_green(rows, gray, gray.copy())
    _kernels = kernels
    if has_module("cv2"):  # the learned judge needs it
        load("embodied_iqa.quality.metrics.learned.compiled_texture:use_compiled_texture")()


def laplacian_energy(plane: Gray, own: slice) -> int:
    """Return the sum of the squared Laplacian over some rows of ``(H, W)``; borders are mirrored."""
    if _kernels is not None:
        return int(_kernels.laplacian_energy(plane, own.start, own.stop))
    return round(cv2.norm(cv2.Laplacian(plane, cv2.CV_16S)[own], cv2.NORM_L2SQR))


def noise_response(plane: Gray, own: slice, response: Gray) -> None:
    """Write the magnitude of the response of some rows to ``(1 -2 1; -2 4 -2; 1 -2 1)``, at most 255."""
    if _kernels is not None:
        _kernels.noise_response(plane, own.start, own.stop, response)
    else:
        response[:] = cv2.convertScaleAbs(cv2.Sobel(plane, cv2.CV_16S, 2, 2, ksize=3)[own])


def odd_pixels(plane: Gray, own: slice) -> tuple[int, int, int]:
    """Return how many pixels of some rows of ``(H, W)`` are black, white, and specks.

    A speck is far from the median of its 3 x 3 neighbours; beyond the border the outermost pixels are
    repeated.
    """
    if _kernels is not None:
        found: tuple[int, int, int] = _kernels.odd_pixels(plane, own.start, own.stop, _ODD)
        return found
    black, white, far = _ODD
    rows, away = plane[own], cv2.absdiff(plane, cv2.medianBlur(plane, 3))[own]
    dark, bright, specks = (int(np.count_nonzero(odd)) for odd in (rows <= black, rows >= white, away > far))
    return dark, bright, specks


def histogram(plane: Gray) -> Counts:
    """Return ``(256,)``, how often each value is in ``(H, W)``."""
    if _kernels is not None:
        counts: Counts = _kernels.histogram(plane)
        return counts
    return _channel_histogram(plane, 0)


def _channel_histogram(image: NDArray[np.uint8], channel: int) -> Counts:
    counts: NDArray[np.float32] = cv2.calcHist([image], [channel], None, [256], [0, 256])
    return counts.ravel().astype(np.int64)


def luminance_and_green(rgb: NDArray[np.uint8], gray: Gray) -> Counts:
    """Write luminance of ``(H, W, 3)``, and return ``(256,)``, how often each value of green is in it."""
    if _kernels is None:
        gray[:] = cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY)
        return _channel_histogram(rgb, 1)
    green = np.empty_like(gray)
    _kernels.luminance_and_green(_rows(rgb), gray, green)
    return histogram(green)


def _rows(rgb: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return ``(H, 3 W)``: of this the compiler knows that colours lie beside each other."""
    return np.ascontiguousarray(rgb).reshape(len(rgb), -1)


def colour_planes(rgb: NDArray[np.uint8]) -> Sequence[Gray]:
    """Return luminance, Cr and Cb of ``(H, W, 3)``."""
    if _kernels is None:
        planes: Sequence[Gray] = cv2.split(cv2.cvtColor(rgb, cv2.COLOR_RGB2YCrCb))
        return planes
    planes = [np.empty(rgb.shape[:2], np.uint8) for _ in range(3)]
    _kernels.colour_planes(_rows(rgb), *planes)
    return planes


def colourfulness(cr: Gray, cb: Gray) -> tuple[int, Gray]:
    """Return the sum of the distances from neutral of ``(H, W)``, and those of Cr and Cb, at most 255."""
    if _kernels is not None:
        distance = np.empty_like(cr)
        return int(_kernels.colourfulness(cr, cb, distance)), distance
    neutral = np.full_like(cr, 128)
    distances = [cv2.absdiff(plane, neutral) for plane in (cr, cb)]
    return sum(int(cv2.sumElems(one)[0]) for one in distances), cv2.add(*distances)


def limited_sum(plane: Gray, limit: int) -> int:
    """Return the sum of ``(H, W)`` values, each at most ``limit``."""
    if _kernels is not None:
        return int(_kernels.limited_sum(plane, limit))
    _, limited = cv2.threshold(plane, limit, 255, cv2.THRESH_TRUNC)
    return int(cv2.sumElems(limited)[0])


def step_sums(plane: Gray, own: slice, columns: NDArray[np.int32]) -> tuple[NDArray[np.int32], int]:
    """Add the steps from column to column over some rows of ``(H, W)`` to ``columns``.

    Returns:
        The steps from each of these rows to the next that there is, and the number of cells in them within
        which luminance changes.
    """
    if _kernels is not None:
        rows = np.zeros(min(own.stop, len(plane) - 1) - own.start, np.int32)
        return rows, int(_kernels.step_sums(plane, own.start, own.stop, columns, rows))
    steps_x: Gray = cv2.absdiff(plane[own, 1:], plane[own, :-1])
    steps_y: Gray = cv2.absdiff(plane[own.start + 1 :], plane[own.start : -1])
    columns += _sums(steps_x, axis=0)
    return _sums(steps_y, axis=1), _moving(steps_x, steps_y)


def _sums(steps: Gray, *, axis: int) -> NDArray[np.int32]:
    sums: NDArray[np.int32] = cv2.reduce(steps, axis, cv2.REDUCE_SUM, dtype=cv2.CV_32S)
    return sums.ravel()


def _moving(steps_x: Gray, steps_y: Gray) -> int:
    """Return the number of cells within which a step between two pixels differs from 0."""
    height, width = steps_x.shape[0] // CELL_PX, (steps_x.shape[1] + 1) // CELL_PX
    moving: Gray = np.zeros((height, width * CELL_PX), np.uint8)
    inside_x = steps_x[: height * CELL_PX, : width * CELL_PX - 1]
    np.bitwise_or.reduce(inside_x.reshape(height, CELL_PX, width * CELL_PX - 1), axis=1, out=moving[:, :-1])
    moving[:, CELL_PX - 1 :: CELL_PX] = 0  # across the cell's border
    for row in range(CELL_PX - 1):
        moving |= steps_y[row : height * CELL_PX : CELL_PX, : width * CELL_PX]
    words = moving.reshape(-1, CELL_PX).view(np.uint64)
    return int(np.count_nonzero(words[:, 0] | words[:, 1]))
