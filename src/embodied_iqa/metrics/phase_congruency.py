"""Phase congruency with log-Gabor filters (Kovesi 1999), as the feature similarity index uses it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.metrics.maps import Map, frequencies

_SCALES: Final = 4
_ORIENTATIONS: Final = 4
_SHORTEST_PX: Final = 6
"""Wavelength of the finest scale."""
_FACTOR: Final = 2
"""Wavelength of a scale over that of the one before."""
_SIGMA_F: Final = 0.55
"""Width of a filter's Gaussian over its centre frequency."""
_SIGMA_THETA: Final = math.pi / (_ORIENTATIONS * 1.2)
_CUTOFF: Final = 0.45
_SHARPNESS: Final = 15
_NOISE_DEVIATIONS: Final = 2.0
_NOISE_RESCALING: Final = 1.7


@dataclass(frozen=True, slots=True, eq=False)
class _Bank:
    """Filters of one size of picture.

    Attributes:
        filters: ``(orientations, scales, H, W)`` in the frequency domain, 0 in the corner.
        noise: ``(orientations,)``; times the median energy of the finest scale it is the noise threshold
            squared.
    """

    filters: NDArray[np.float32]
    noise: NDArray[np.float64]


def _radial(radius: NDArray[np.float64]) -> NDArray[np.float64]:
    low_pass = 1 / (1 + (radius / _CUTOFF) ** (2 * _SHARPNESS))
    centres = 1 / (_SHORTEST_PX * _FACTOR ** np.arange(_SCALES))[:, None, None]
    safe = np.where(radius > 0, radius, 1.0)
    return np.where(
        radius > 0, low_pass * np.exp(-(np.log(safe / centres) ** 2) / (2 * math.log(_SIGMA_F) ** 2)), 0.0
    )


def _angular(theta: NDArray[np.float64]) -> NDArray[np.float64]:
    angles = (np.arange(_ORIENTATIONS) * math.pi / _ORIENTATIONS)[:, None, None]
    distance = np.abs(np.arctan2(np.sin(theta - angles), np.cos(theta - angles)))
    return np.exp(-(distance**2) / (2 * _SIGMA_THETA**2))


@lru_cache(maxsize=4)
def _bank(height: int, width: int) -> _Bank:
    rows, columns = (np.fft.ifftshift(grid) for grid in frequencies(height, width))
    radial, angular = _radial(np.hypot(rows, columns)), _angular(np.arctan2(-columns, rows))
    filters = angular[:, None] * radial[None]
    # Correlations of the filters in the spatial domain, summed over the picture.
    spatial = np.fft.ifft2(filters).real * math.sqrt(height * width)
    products = np.einsum("oshw,othw->ost", spatial, spatial)
    pairs = (products.sum(axis=(1, 2)) - np.trace(products, axis1=1, axis2=2)) / 2
    power = 1 / (-math.log(0.5) * (filters[:, 0] ** 2).sum(axis=(1, 2)))
    energy = 2 * power * np.trace(products, axis1=1, axis2=2) + 4 * power * pairs
    deviations = math.sqrt(math.pi / 2) + _NOISE_DEVIATIONS * math.sqrt(2 - math.pi / 2)
    return _Bank(filters.astype(np.float32), energy / 2 * (deviations / _NOISE_RESCALING) ** 2)


def phase_congruency(luma: Map) -> Map:
    """Return the phase congruency of every pixel, ``(H, W)`` in [0, 1]."""
    bank = _bank(*luma.shape)
    spectrum = np.fft.fft2(luma)
    energy, amplitude = np.zeros_like(luma), np.zeros_like(luma)
    for filters, noise in zip(bank.filters, bank.noise, strict=True):
        responses = np.fft.ifft2(spectrum * filters)
        amplitudes = np.abs(responses)
        finest = amplitudes[0].ravel()
        middle = (finest.size - 1) // 2
        threshold = math.sqrt(noise * float(np.partition(finest, middle)[middle]) ** 2)
        total = responses.sum(axis=0)
        unit = total / (np.abs(total) + np.finfo(np.float32).eps)
        turned = responses * unit.conj()
        aligned = (turned.real - np.abs(turned.imag)).sum(axis=0)
        energy += np.maximum(aligned - np.float32(threshold), 0)
        amplitude += amplitudes.sum(axis=0)
    return energy / (amplitude + np.finfo(np.float32).eps)
