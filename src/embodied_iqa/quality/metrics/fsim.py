"""Feature similarity index with colour, FSIMc (Zhang et al. 2011), on phase congruency (Kovesi 1999)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.quality.metrics.input_checks import check_pair
from embodied_iqa.quality.metrics.last_image import LastImage
from embodied_iqa.quality.metrics.maps import (
    Map,
    frequencies,
    gradient_magnitude,
    length,
    pooled_channels,
    pooling_of,
    similarity,
)

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
_EPSILON: Final = np.finfo(np.float32).eps


@dataclass(frozen=True, slots=True, eq=False)
class _Bank:
    """Filters of one size of image.

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
    # Correlations of the filters in the spatial domain, summed over the image.
    spatial = np.fft.ifft2(filters).real * math.sqrt(height * width)
    products = np.einsum("oshw,othw->ost", spatial, spatial)
    pairs = (products.sum(axis=(1, 2)) - np.trace(products, axis1=1, axis2=2)) / 2
    power = 1 / (-math.log(0.5) * (filters[:, 0] ** 2).sum(axis=(1, 2)))
    energy = 2 * power * np.trace(products, axis1=1, axis2=2) + 4 * power * pairs
    deviations = math.sqrt(math.pi / 2) + _NOISE_DEVIATIONS * math.sqrt(2 - math.pi / 2)
    return _Bank(filters.astype(np.float32), energy / 2 * (deviations / _NOISE_RESCALING) ** 2)


def _responses(spectrum: NDArray[np.complex64], filters: NDArray[np.float32]) -> list[Sequence[Map]]:
    """Return the real and the imaginary part of the response to each filter."""
    flags = cv2.DFT_INVERSE | cv2.DFT_SCALE
    products = ((spectrum * one).view(np.float32).reshape(*one.shape, 2) for one in filters)
    return [cv2.split(cv2.dft(product, flags=flags)) for product in products]


def _threshold(amplitude: Map, noise: float) -> float:
    """Return the energy that noise has, from the lower median of the finest scale's amplitude."""
    middle = (amplitude.size - 1) // 2
    return math.sqrt(noise) * float(np.partition(amplitude.ravel(), middle)[middle])


def phase_congruency(luma: Map) -> Map:
    """Return the phase congruency of every pixel, ``(H, W)`` in [0, 1]."""
    bank = _bank(*luma.shape)
    # The filters are 0 at frequency 0: without the mean a flat image has no response, not even rounding.
    centred = luma - luma.mean(dtype=np.float64).astype(np.float32)
    spectrum = cv2.dft(centred, flags=cv2.DFT_COMPLEX_OUTPUT).view(np.complex64)[..., 0]
    energy, amplitude = np.zeros_like(luma), np.zeros_like(luma)
    for filters, noise in zip(bank.filters, bank.noise, strict=True):
        responses = _responses(spectrum, filters)
        amplitudes = [length(real, imaginary) for real, imaginary in responses]
        real_sum, imaginary_sum = (_sum(parts) for parts in zip(*responses, strict=True))
        whole = length(real_sum, imaginary_sum)
        # Parts of the responses along their sum add up to its length; those across it are the deviation.
        across = _sum(
            [cv2.absdiff(imaginary * real_sum, real * imaginary_sum) for real, imaginary in responses]
        )
        aligned = (whole * whole - across) / (whole + _EPSILON)
        energy += np.maximum(aligned - np.float32(_threshold(amplitudes[0], noise)), 0)
        amplitude += _sum(amplitudes)
    return energy / (amplitude + _EPSILON)


def _sum(maps: Iterable[Map]) -> Map:
    first, *others = maps
    total = first.copy()
    for values in others:
        total += values
    return total


_SMALLEST_PX: Final = 16
_YIQ: Final = np.array(
    [[0.299, 0.587, 0.114], [0.5959, -0.2746, -0.3213], [0.2115, -0.5227, 0.3112]], np.float32
)
_T_PHASE: Final = 0.85
_T_GRADIENT: Final = 160.0
_T_CHROMA: Final = 200.0
_CHROMA_EXPONENT: Final = 0.03


@dataclass(frozen=True, slots=True, eq=False)
class _Features:
    """Maps of one image, ``(H, W)`` each."""

    phase: Map
    gradient: Map
    i: Map
    q: Map


def _features(image: NDArray[np.uint8]) -> _Features:
    luma, i, q = pooled_channels(image, pooling_of(image.shape), _YIQ)
    return _Features(phase_congruency(luma), gradient_magnitude(luma), i, q)


_reference_features: Final = LastImage(_features)


def fsim(reference: NDArray[np.uint8], distorted: NDArray[np.uint8]) -> float:
    """Return the similarity of phase congruency, gradient and colour, weighted by phase congruency.

    Images are reduced by block means until their shorter side is near 256 pixels.

    Args:
        reference: ``(H, W, 3)`` uint8 RGB, at least 16 x 16.
        distorted: The same shape.

    Returns:
        In [0, 1], higher is better; 1 for equal images.

    Raises:
        InputError: Another type, shape or size.
    """
    check_pair(reference, distorted, _SMALLEST_PX)
    x, y = _reference_features(reference), _features(distorted)
    chroma = similarity(x.i, y.i, _T_CHROMA) * similarity(x.q, y.q, _T_CHROMA)
    local = similarity(x.phase, y.phase, _T_PHASE) * np.abs(chroma) ** np.float32(_CHROMA_EXPONENT)
    local *= similarity(x.gradient, y.gradient, _T_GRADIENT)
    weight = np.maximum(x.phase, y.phase).astype(np.float64)
    whole = weight.sum()
    # Without any feature all pixels weigh the same, as in a flat image.
    return float((local * weight).sum() / whole if whole else local.mean(dtype=np.float64))
