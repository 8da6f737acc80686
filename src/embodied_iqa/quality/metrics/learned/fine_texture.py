"""Statistics of fine texture: input of ``embodied-nr`` beside those at the policy's input size.

Noise, jitter and the traces of codecs vanish when an image is made small, and still tell what was done to it
and how much: at 240 x 180 the level of JPEG or jitter is hardly visible.
"""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.quality.metrics.learned import compiled_texture as fast
from embodied_iqa.quality.metrics.learned.input_statistics import edges
from embodied_iqa.quality.metrics.learned.texture import (
    mean_steps,
    mscn_statistics,
    neighbour_steps,
    spectrum,
    steps,
)

FINE_SIZE_PX: Final = (480, 360)
"""Width and height at which fine texture is measured: what one pixel is must not depend on the camera."""
FINE_VERSION: Final = "1"
"""Changes whenever a number can change by more than rounding (float32)."""
_WINDOW_PX: Final = (320, 240)
"""Only the middle of the image counts: less than half of the time, and where objects are."""
_IMPULSES: Final = (4.0, 16.0, 48.0)
"""Differences from the median of the neighbours (grey levels)."""
_PERIODS_PX: Final = (8, 16, 32)
"""Blocks of codecs and transmission."""
_CELL_PX: Final = 20
_LEVELS: Final = (5, 25, 50, 75)
_FLAT: Final = (0.05, 0.5, 2.0, 8.0)
"""Variances below these count as flat (squared grey levels)."""
_FLAT_CELL_PX: Final = 8
_LEAST_SHARE: Final = 1e-5
_LEAST_STEP: Final = 0.05

Vector = NDArray[np.float32]
Plane = NDArray[np.float32]
Gray = NDArray[np.uint8]


def fine_statistics(rgb: NDArray[np.uint8]) -> Vector:
    """Return ``(D,)`` float32, finite: spectrum, edges, noise, impulses, block grids, levels, flat areas.

    Args:
        rgb: ``(H, W, 3)`` uint8 of `FINE_SIZE_PX`.
    """
    width, height = _WINDOW_PX
    left, top = (rgb.shape[1] - width) // 2, (rgb.shape[0] - height) // 2
    gray: Gray = cv2.cvtColor(rgb[top : top + height, left : left + width], cv2.COLOR_RGB2GRAY)
    plane: Plane = gray.astype(np.float32)
    parts = [
        spectrum(plane),
        steps(gray),
        edges(plane),
        mscn_statistics(plane),
        _impulses(gray),
        _block_grid(gray),
        _noise(gray, plane),
        _gray_levels(gray),
        _flat(plane),
    ]
    return np.concatenate(parts).astype(np.float32)


def _impulses(gray: Gray) -> Vector:
    """Return the shares of pixels that differ from the median of their neighbours."""
    difference = cv2.absdiff(gray, cv2.medianBlur(gray, 3))
    return np.array(
        [np.count_nonzero(difference > limit) / difference.size for limit in _IMPULSES], np.float32
    )


def _block_grid(gray: Gray) -> Vector:
    """Return, by axis and period, how much the largest step of a period exceeds the usual one (log)."""
    values = []
    for axis in (0, 1):
        line = mean_steps(neighbour_steps(gray, axis), axis)
        for period in _PERIODS_PX:
            step = np.sort(line[: len(line) // period * period].reshape(-1, period).mean(axis=0))
            usual = (step[period // 2 - 1] + step[period // 2]) / 2  # faster than `np.median`
            values.append(np.log((step[-1] + _LEAST_STEP) / (usual + _LEAST_STEP)))
    return np.array(values, np.float32)


def _noise(gray: Gray, plane: Plane) -> Vector:
    """Return the roughness of rows and columns, and of noise: its mean, by cell, and by brightness (log).

    Noise is the response to ``(1 -2 1; -2 4 -2; 1 -2 1)``, to which edges hardly add (Immerkaer 1996).
    """
    if fast.kernels is None:
        noise: Plane = np.abs(cv2.Sobel(plane, cv2.CV_32F, 2, 2, ksize=3))
        means = [_mean_bend(gray, 0), _mean_bend(gray, 1), noise.mean()]
    else:
        (height, width), noise = gray.shape, np.empty_like(plane)
        sizes = ((height - 2) * width, height * (width - 2), noise.size)
        means = [total / size for total, size in zip(fast.kernels.noise_map(gray, noise), sizes, strict=True)]
    cells = _cells(noise, _CELL_PX).ravel()
    order = np.argsort(_cells(plane, _CELL_PX).ravel(), kind="stable")
    thirds = [part.mean() for part in np.array_split(cells[order], 3)]
    places = np.array(_LEVELS) / 100 * (cells.size - 1)
    spread = np.interp(places, np.arange(cells.size), np.sort(cells))  # faster than `np.percentile`
    return np.log1p(np.array([*means, *spread, *thirds], np.float32))


def _mean_bend(gray: Gray, axis: int) -> float:
    """Return the mean magnitude of the second differences along an axis."""
    orders, inner = ((0, 2), np.s_[1:-1]) if axis == 0 else ((2, 0), np.s_[:, 1:-1])
    bends: NDArray[np.int16] = cv2.Sobel(gray, cv2.CV_16S, *orders, ksize=1)[inner]
    return float(cv2.norm(bends, cv2.NORM_L1)) / bends.size


def _gray_levels(gray: Gray) -> Vector:
    """Return the number of grey levels in use (log), and how few of them hold the image."""
    counts = cv2.calcHist([gray], [0], None, [256], [0, 256]).ravel().astype(np.float64) / gray.size
    return np.array([np.log1p(np.count_nonzero(counts > _LEAST_SHARE)), counts @ counts], np.float32)


def _flat(plane: Plane) -> Vector:
    """Return the shares of small cells without structure."""
    mean = _cells(plane, _FLAT_CELL_PX)
    variance = _cells(plane * plane, _FLAT_CELL_PX) - mean * mean
    return np.array([(variance < limit).mean() for limit in _FLAT], np.float32)


def _cells(plane: Plane, size_px: int) -> Plane:
    shape = plane.shape[1] // size_px, plane.shape[0] // size_px
    means: Plane = cv2.resize(plane, shape, interpolation=cv2.INTER_AREA)
    return means
