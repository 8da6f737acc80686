"""Visual-saliency-induced index (Zhang, Shen & Li 2014)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

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
    pooled,
    pooled_channels,
    pooling_of,
    similarity,
)

_SMALLEST_PX: Final = 16
_SIDE_PX: Final = 256
"""Saliency is computed at this size."""
_LMN: Final = np.array([[0.06, 0.63, 0.27], [0.30, 0.04, -0.35], [0.34, -0.6, 0.17]], np.float32)
_XYZ: Final = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ],
    np.float32,
)
_WHITE: Final = np.array([0.9642119944211994, 1.0, 0.8251882845188288], np.float32)
_LAB: Final = np.array([[0, 116, 0], [500, -500, 0], [0, 200, -200]], np.float32)
_OMEGA: Final = 0.021
_SIGMA_F: Final = 1.34
_SIGMA_D: Final = 145.0
_SIGMA_C: Final = 0.001
_C_SALIENCY: Final = 1.27
_C_GRADIENT: Final = 386.0
_C_CHROMA: Final = 130.0
_GRADIENT_EXPONENT: Final = 0.4
_CHROMA_EXPONENT: Final = 0.02
_EPSILON: Final = np.finfo(np.float32).eps


@cache
def _filter() -> Map:
    """Return the log-Gabor filter in the frequency domain, 0 in the corner."""
    radius = np.fft.ifftshift(np.hypot(*frequencies(_SIDE_PX, _SIDE_PX)))
    seen = (radius > 0) & (radius <= 0.5)
    values = np.exp(-(np.log(np.where(seen, radius, 1.0) / _OMEGA) ** 2) / (2 * _SIGMA_F**2))
    return np.where(seen, values, 0.0).astype(np.float32)


@cache
def _centre() -> Map:
    """Return the weight of the places: the middle attracts the eye."""
    rows, columns = (_SIDE_PX * grid + 1 for grid in frequencies(_SIDE_PX, _SIDE_PX))
    return np.exp(-(rows**2 + columns**2) / _SIGMA_D**2).astype(np.float32)


def _lab(rgb: Map) -> tuple[Map, ...]:
    """Return CIE L*, a* and b* of ``(H, W, 3)`` sRGB in [0, 255], as the authors compute it (white D50)."""
    part = rgb / np.float32(255)
    steep = cv2.pow((part + np.float32(0.055)) / np.float32(1.055), 2.4)
    linear = np.where(part <= np.float32(0.04045), part / np.float32(12.92), steep)
    share = cv2.transform(linear, _XYZ / _WHITE[:, None])
    straight = (np.float32(903.3) * share + 16) / 116
    root = np.where(share <= np.float32(0.008856), straight, np.cbrt(share))
    lightness, a, b = cv2.split(cv2.transform(root, _LAB))
    return lightness - np.float32(16), a, b


def _scaled(values: Map) -> Map:
    low, high, *_ = cv2.minMaxLoc(values)
    return (values - np.float32(low)) / np.float32(high - low + _EPSILON)


def _stretched(values: Map, rows: int) -> Map:
    """Return a map with rows interpolated so that the first and the last row stay at the ends."""
    places = np.linspace(0, values.shape[0] - 1, rows)
    first = np.minimum(places.astype(np.intp), values.shape[0] - 2)
    stretched: Map = np.diff(values, axis=0)[first]
    stretched *= (places - first).astype(np.float32)[:, None]
    stretched += values[first]
    return stretched


def _filtered(real: Map, imaginary: Map) -> Sequence[Map]:
    """Return two maps after the log-Gabor filter, which is real: it filters both in one transform."""
    spectrum = cv2.dft(cv2.merge((real, imaginary))) * _filter()[..., None]
    return cv2.split(cv2.dft(spectrum, flags=cv2.DFT_INVERSE | cv2.DFT_SCALE))


def _saliency(image: NDArray[np.uint8]) -> Map:
    """Return the saliency of every pixel (SDSP: frequency, colour and place), not scaled."""
    small = cv2.resize(image.astype(np.float32), (_SIDE_PX, _SIDE_PX), interpolation=cv2.INTER_LINEAR)
    lightness, a, b = _lab(small)
    seen = length(*_filtered(lightness, a))
    seen = length(seen, _filtered(b, b)[0])
    colour = length(_scaled(a), _scaled(b))
    salient = seen * _centre() * -np.expm1(-((colour / np.float32(_SIGMA_C)) ** 2))
    height, width = image.shape[:2]
    wide = np.ascontiguousarray(_stretched(np.ascontiguousarray(salient.T), width).T)
    return _stretched(wide, height)


def _bordered(values: NDArray[Any], block_px: int) -> NDArray[Any]:
    before, after = block_px // 2, (block_px - 1) // 2
    bordered: NDArray[Any] = cv2.copyMakeBorder(values, before, after, before, after, cv2.BORDER_REPLICATE)
    return bordered


@dataclass(frozen=True, slots=True, eq=False)
class _Features:
    """Maps of one image, ``(H, W)`` each."""

    saliency: Map
    gradient: Map
    m: Map
    n: Map


def _features(image: NDArray[np.uint8]) -> _Features:
    block_px = pooling_of(image.shape)
    saliency = _scaled(_saliency(image))
    luma, m, n = pooled_channels(_bordered(image, block_px), block_px, _LMN)
    return _Features(pooled(_bordered(saliency, block_px), block_px), gradient_magnitude(luma), m, n)


_reference_features: Final = LastImage(_features)


def _power(values: Map, exponent: float) -> Map:
    """Return the real part of a power, also of negative values."""
    turn = np.where(values < 0, math.cos(math.pi * exponent), 1.0).astype(np.float32)
    power: Map = np.abs(values)
    power **= exponent
    return turn * power


def vsi(reference: NDArray[np.uint8], distorted: NDArray[np.uint8]) -> float:
    """Return the similarity of saliency, gradient and colour, weighted by saliency.

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
    chroma = similarity(x.m, y.m, _C_CHROMA) * similarity(x.n, y.n, _C_CHROMA)
    local = similarity(x.saliency, y.saliency, _C_SALIENCY) * _power(chroma, _CHROMA_EXPONENT)
    local *= similarity(x.gradient, y.gradient, _C_GRADIENT) ** np.float32(_GRADIENT_EXPONENT)
    weight = np.maximum(x.saliency, y.saliency).astype(np.float64)
    return float(((local * weight).sum() + _EPSILON) / (weight.sum() + _EPSILON))
