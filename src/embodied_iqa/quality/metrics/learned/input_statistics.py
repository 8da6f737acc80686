"""Statistics of an image at the policy's input size: input of ``embodied-nr``.

A policy sees 240 x 180 pixels: what a distortion changes only above that resolution does not reach it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.quality.metrics.learned import compiled_texture as fast
from embodied_iqa.quality.metrics.learned.texture import moments, moments_of, mscn_statistics, spectrum, steps
from embodied_iqa.quality.metrics.maps import length

SIZE_PX: Final = (240, 180)
"""Width and height at which images are measured."""
STATISTICS_VERSION: Final = "2"
"""Changes whenever a number can change by more than rounding (float32)."""
CELLS: Final = (4, 6)
"""Rows and columns of cells."""
_LEVELS: Final = (1, 5, 25, 50, 75, 95, 99)
_SCALES: Final = 3
_HUES: Final = 12
_SAMPLE: Final = 5000
"""Percentiles are those of at least so many pixels of an image that has them."""
_STEPS: Final = (31, 23, 13, 7, 1)
"""Between the pixels of a sample; prime to usual widths, or every row would give the same columns."""
_OPPONENTS: Final = np.array([[1.0, -1.0, 0.0], [0.5, 0.5, -1.0]])
"""Red against green, and yellow against blue."""
_PAIRS: Final = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
_ABOVE_DIAGONAL: Final = np.triu_indices(3, 1)

Vector = NDArray[np.float32]
Small = NDArray[np.uint8]
Plane = NDArray[np.float32]


def small_image(rgb: NDArray[np.uint8], size_px: tuple[int, int] = SIZE_PX) -> Small:
    """Return an image at another size: by area averaging if larger, else linearly.

    Large images are halved first, which is many times as fast as other factors.
    """
    width, height = size_px
    while rgb.shape[0] >= 2 * height and rgb.shape[1] >= 2 * width:
        half = rgb.shape[1] // 2, rgb.shape[0] // 2
        rgb = cv2.resize(rgb, half, interpolation=cv2.INTER_AREA)
    if rgb.shape[:2] == (height, width):
        return rgb
    if fast.kernels is not None and rgb.shape[:2] == (height, width // 3 * 4) and width % 3 == 0:
        narrow = np.empty((height, width, 3), np.uint8)
        fast.kernels.narrow(np.ascontiguousarray(rgb).reshape(height, -1), narrow.reshape(height, -1))
        return narrow
    method = cv2.INTER_AREA if rgb.shape[0] >= height else cv2.INTER_LINEAR
    small: Small = cv2.resize(rgb, size_px, interpolation=method)
    return small


def image_statistics(rgb: NDArray[np.uint8]) -> Vector:
    """Return ``(D,)`` float32, finite: colour, saturation, cells, edges and noise at three scales, spectrum.

    Args:
        rgb: ``(H, W, 3)`` uint8, of any size.
    """
    small = small_image(rgb)
    gray8: Small = cv2.cvtColor(small, cv2.COLOR_RGB2GRAY)
    gray: Plane = gray8.astype(np.float32)
    colours = cv2.split(small)
    parts = [
        _colour(small, colours),
        _saturation(small),
        percentiles(gray8),
        _cells(small),
        spectrum(gray),
        steps(gray8),
    ]
    parts.append(_planes(small, colours))
    for scale in range(_SCALES):
        if scale:
            half = gray.shape[1] // 2, gray.shape[0] // 2
            gray = cv2.resize(gray, half, interpolation=cv2.INTER_AREA)
        parts += [edges(gray), mscn_statistics(gray)]
    return np.concatenate(parts).astype(np.float32)


def percentiles(values: NDArray[np.float32] | Small) -> Vector:
    """Return seven percentiles of a sample of an image's values."""
    step, places = _places(values.size)
    flat = values.ravel()[::step]
    # whole numbers are sorted without comparisons; of real ones `partition` is slower
    ranked = np.sort(flat, kind="stable") if flat.dtype == np.uint8 else np.sort(flat)
    found: Vector = ranked[places].astype(np.float32)
    return found


@lru_cache(maxsize=32)
def _places(size: int) -> tuple[int, list[int]]:
    """Return the step of a sample of so many values, and the places of the percentiles in it, ranked."""
    step = next(step for step in _STEPS if step == 1 or step * _SAMPLE <= size)
    return step, [round(level / 100 * ((size - 1) // step)) for level in _LEVELS]


def cell_means(plane: Plane, cells: tuple[int, int] = CELLS) -> Vector:
    """Return the mean of each cell, row by row."""
    means: Vector = cv2.resize(plane, cells[::-1], interpolation=cv2.INTER_AREA).reshape(-1)
    return means


def _colour(small: Small, colours: Sequence[Small]) -> Vector:
    """Means, deviations and correlations of red, green, blue and of two opponent colours."""
    mean = np.array(cv2.mean(small)[:3])
    covariance = covariance_of(colours, mean)
    deviation = np.sqrt(np.diag(covariance)) + 0.5
    shared = (covariance / np.outer(deviation, deviation))[_ABOVE_DIAGONAL]
    opponents = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", _OPPONENTS, covariance, _OPPONENTS), 0.0))
    clipped = [np.count_nonzero(small <= 1) / small.size, np.count_nonzero(small >= 254) / small.size]
    return np.concatenate([mean, deviation, shared, _OPPONENTS @ mean, opponents, clipped])


def covariance_of(colours: Sequence[Small], mean: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the ``(3, 3)`` covariances of the colours; plane by plane in half the time of all at once."""
    centred = [
        cv2.subtract(plane, value, dtype=cv2.CV_32F).ravel()
        for plane, value in zip(colours, mean, strict=True)
    ]
    products = np.empty((3, 3))
    for row, column in _PAIRS:
        products[row, column] = products[column, row] = centred[row] @ centred[column]
    products /= centred[0].size
    return products


def _saturation(small: Small) -> Vector:
    """Percentiles of saturation, and how much saturated colour there is of each hue."""
    hsv: Small = cv2.cvtColor(small, cv2.COLOR_RGB2HSV)
    hue, saturation, value = cv2.split(hsv)
    vivid = cv2.multiply(saturation, value, dtype=cv2.CV_32F).ravel()
    amounts = np.bincount(hue.ravel(), vivid, 180).reshape(_HUES, -1).sum(axis=1) / vivid.size / 255
    return np.concatenate([percentiles(saturation), moments(saturation), np.log1p(amounts)]).astype(
        np.float32
    )


def _cells(small: Small) -> Vector:
    """Colour, deviation and edges of each cell."""
    planes = small.astype(np.float32)
    gray: Plane = cv2.cvtColor(planes, cv2.COLOR_RGB2GRAY)
    mean = cell_means(gray)
    deviation = np.sqrt(np.maximum(cell_means(gray * gray) - mean * mean, 0.0))
    edges = np.log1p(cell_means(gradient(gray)))
    colours: Plane = cv2.resize(planes, CELLS[::-1], interpolation=cv2.INTER_AREA)
    return np.concatenate([colours.ravel(), np.log1p(deviation), edges])


def gradient(gray: Plane) -> Plane:
    """Return the magnitude of the gradient (Scharr), per pixel."""
    dx, dy = (cv2.Scharr(gray, cv2.CV_32F, *axes, scale=1 / 32) for axes in ((1, 0), (0, 1)))
    return length(dx, dy)


def edges(gray: Plane) -> Vector:
    """Return percentiles and moments of gradient and Laplacian, as logarithms."""
    if fast.kernels is None:
        slope = gradient(gray)
        fine: Plane = np.abs(cv2.Laplacian(gray, cv2.CV_32F))
        found = (*moments(slope), *moments(fine))
    else:
        slope, fine = np.empty_like(gray), np.empty_like(gray)
        means = [total / gray.size for total in fast.kernels.edge_maps(gray, slope, fine)]
        found = (*moments_of(*means[:2]), *moments_of(*means[2:]))
    both = np.array(found, np.float32)
    values: Vector = np.log1p(np.concatenate([percentiles(slope), percentiles(fine), both]))
    return values


def _planes(small: Small, colours: Sequence[Small]) -> Vector:
    """Detail of the colour planes, and how alike it is: shifted planes and colour noise make it differ."""
    fine = [laplacian_of(plane).ravel() for plane in colours]
    norms = [float(np.sqrt(one @ one / one.size)) + 0.1 for one in fine]
    pairs = ((0, 1), (1, 2), (0, 2))
    alike = [float(fine[i] @ fine[j]) / fine[i].size / norms[i] / norms[j] for i, j in pairs]
    chroma = cv2.split(cv2.cvtColor(small, cv2.COLOR_RGB2YCrCb))[1:]
    detail = [cv2.norm(cv2.Laplacian(plane, cv2.CV_16S), cv2.NORM_L1) / plane.size for plane in chroma]
    return np.array([*np.log(norms), *alike, *np.log1p(detail)], np.float32)


def laplacian_of(plane: Small) -> Plane:
    """Return the Laplacian: whole numbers, which `cv2.CV_32F` of a uint8 plane gives four times as slowly."""
    fine: Plane = cv2.Laplacian(plane, cv2.CV_16S).astype(np.float32)
    return fine
