"""Statistics of texture: normalised luminance, the spectrum, and steps between neighbours."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]
Plane = NDArray[np.float32]
_WINDOW_PX: Final = 7
_SIGMA_PX: Final = 7 / 6
_RINGS: Final = 12
_SECTORS: Final = 4
_SMALL: Final = 1e-6
_EQUAL: Final = (0.5, 1.5, 4.0)
"""Steps below these count as (nearly) equal neighbours (gray levels)."""


def mscn_statistics(gray: Plane) -> Vector:
    """Return moments of mean-subtracted, contrast-normalised luminance and of its neighbours' products.

    The numbers behind BRISQUE's fits (Mittal et al. 2012), without the fits.
    """
    mean = _blur(gray)
    variance = _blur(gray * gray)
    variance -= mean * mean
    deviation = np.sqrt(np.maximum(variance, 0.0, out=variance), out=variance)
    deviation += 1.0
    normal: Plane = cv2.subtract(gray, mean)
    normal /= deviation
    values = [*_shape_of(normal), *moments(cv2.log(deviation))]
    for shifted, fixed in (
        (normal[:, 1:], normal[:, :-1]),
        (normal[1:], normal[:-1]),
        (normal[1:, 1:], normal[:-1, :-1]),
    ):
        product: Plane = cv2.multiply(shifted, fixed)
        above = cv2.max(product, 0.0)
        values += [cv2.mean(product)[0], _root(above), _root(cv2.subtract(product, above))]
    return np.array(values, np.float32)


def moments(plane: Plane) -> tuple[float, float]:
    """Return mean and standard deviation."""
    mean = cv2.mean(plane)[0]  # three times as fast as `cv2.meanStdDev` of real numbers
    square = cv2.norm(plane, cv2.NORM_L2SQR) / plane.size
    return mean, math.sqrt(max(square - mean * mean, 0.0))


def _blur(plane: Plane) -> Plane:
    blurred: Plane = cv2.GaussianBlur(plane, (_WINDOW_PX, _WINDOW_PX), _SIGMA_PX)
    return blurred


def _shape_of(normal: Plane) -> tuple[float, float, float]:
    """Return mean magnitude, deviation, and the ratio that sets the shape of a generalised Gaussian."""
    magnitude = cv2.norm(normal, cv2.NORM_L1) / normal.size
    power = cv2.norm(normal, cv2.NORM_L2SQR) / normal.size
    return magnitude, power**0.5, magnitude * magnitude / (power + _SMALL)


def _root(values: Plane) -> float:
    return float(cv2.norm(values, cv2.NORM_L2)) / math.sqrt(values.size)


def spectrum(gray: Plane) -> Vector:
    """Return the logarithm of the mean power in rings of frequency, and in sectors of direction."""
    bins, counts = _frequency_bins(gray.shape[0], gray.shape[1])
    waves = np.fft.rfft2(gray - gray.mean())  # float32; the other half of the frequencies mirrors this one
    power = (waves.real**2 + waves.imag**2) / gray.size
    table = np.bincount(bins, power.ravel(), _RINGS * (_SECTORS + 1)).reshape(_RINGS, _SECTORS + 1)
    sector_power = table.sum(axis=0)[:_SECTORS]
    share = sector_power / (sector_power.sum() + _SMALL)
    return np.concatenate([np.log1p(table.sum(axis=1) / counts), share]).astype(np.float32)


@lru_cache(maxsize=16)
def _frequency_bins(height: int, width: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the bin of each frequency, by ring and sector, and the number of frequencies in each ring.

    Low frequencies are in a sector that is left out.
    """
    fy, fx = np.meshgrid(np.fft.fftfreq(height), np.fft.rfftfreq(width), indexing="ij")
    radius = np.hypot(fx, fy)
    ring = np.minimum(radius / 0.5 * _RINGS, _RINGS - 1).astype(np.int64)
    angle = np.mod(np.arctan2(fy, fx), np.pi) / np.pi * _SECTORS
    sector = np.where(radius > 0.1, np.minimum(angle, _SECTORS - 1).astype(np.int64), _SECTORS)
    counts = np.bincount(ring.ravel(), minlength=_RINGS)
    return (ring * (_SECTORS + 1) + sector).ravel(), np.maximum(counts, 1)


def steps(gray: Plane) -> Vector:
    """Return how many neighbours are (nearly) equal, by axis, and how unevenly rows and columns differ."""
    values: list[float] = []
    for axis in (0, 1):
        step = neighbour_steps(gray, axis)
        values += [np.count_nonzero(step < limit) / step.size for limit in _EQUAL]
        line = cv2.reduce(step, 1 - axis, cv2.REDUCE_AVG).ravel()
        values += [float(np.log1p(line.std())), float(np.log1p(line.max())), float(np.log1p(line.min()))]
    return np.array(values, np.float32)


def neighbour_steps(gray: Plane, axis: int) -> Plane:
    """Return how much neighbours differ along an axis."""
    later, earlier = (gray[1:], gray[:-1]) if axis == 0 else (gray[:, 1:], gray[:, :-1])
    steps: Plane = cv2.absdiff(later, earlier)
    return steps
