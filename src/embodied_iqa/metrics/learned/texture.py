"""Statistics of texture: normalised luminance, the spectrum, and steps between neighbours."""

from __future__ import annotations

import math
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
    deviation = np.sqrt(np.maximum(_blur(gray * gray) - mean * mean, 0.0))
    normal: Plane = ((gray - mean) / (deviation + 1.0)).astype(np.float32, copy=False)
    values = [*_shape_of(normal), float(np.log1p(deviation).mean()), float(np.log1p(deviation).std())]
    for product in (
        normal[:, 1:] * normal[:, :-1],
        normal[1:] * normal[:-1],
        normal[1:, 1:] * normal[:-1, :-1],
    ):
        above, below = np.maximum(product, 0.0), np.minimum(product, 0.0)
        values += [float(product.mean()), _root(above), _root(below)]
    return np.array(values, np.float32)


def _blur(plane: Plane) -> Plane:
    blurred: Plane = cv2.GaussianBlur(plane, (_WINDOW_PX, _WINDOW_PX), _SIGMA_PX)
    return blurred


def _shape_of(normal: Plane) -> tuple[float, float, float]:
    """Return mean magnitude, deviation, and the ratio that sets the shape of a generalised Gaussian."""
    magnitude = float(np.abs(normal).mean())
    power = float((normal * normal).mean())
    return magnitude, power**0.5, magnitude * magnitude / (power + _SMALL)


def _root(values: Plane) -> float:
    return math.sqrt(float((values * values).mean()))


def spectrum(gray: Plane) -> Vector:
    """Return the logarithm of the mean power in rings of frequency, and in sectors of direction."""
    rings, sectors = _frequency_bins(gray.shape[0], gray.shape[1])
    power = np.abs(np.fft.rfft2(gray - gray.mean())) ** 2 / gray.size
    ring_power = np.bincount(rings, power.ravel(), _RINGS) / np.maximum(
        np.bincount(rings, minlength=_RINGS), 1
    )
    sector_power = np.bincount(sectors, power.ravel(), _SECTORS + 1)[:_SECTORS]
    share = sector_power / (sector_power.sum() + _SMALL)
    return np.concatenate([np.log1p(ring_power), share]).astype(np.float32)


_BINS: dict[tuple[int, int], tuple[NDArray[np.int64], NDArray[np.int64]]] = {}


def _frequency_bins(height: int, width: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return ring and sector of each frequency; low frequencies are in a sector that is left out."""
    if (height, width) not in _BINS:
        fy, fx = np.meshgrid(np.fft.fftfreq(height), np.fft.rfftfreq(width), indexing="ij")
        radius = np.hypot(fx, fy)
        ring = np.minimum(radius / 0.5 * _RINGS, _RINGS - 1).astype(np.int64)
        angle = np.mod(np.arctan2(fy, fx), np.pi) / np.pi * _SECTORS
        sector = np.minimum(angle, _SECTORS - 1).astype(np.int64)
        _BINS[height, width] = ring.ravel(), np.where(radius > 0.1, sector, _SECTORS).ravel()
    return _BINS[height, width]


def steps(gray: Plane) -> Vector:
    """Return how many neighbours are (nearly) equal, by axis, and how unevenly rows and columns differ."""
    values = []
    for axis in (0, 1):
        step = np.abs(np.diff(gray, axis=axis))
        values += [float((step < limit).mean()) for limit in _EQUAL]
        line = step.mean(axis=1 - axis)
        values += [float(np.log1p(line.std())), float(np.log1p(line.max())), float(np.log1p(line.min()))]
    return np.array(values, np.float32)
