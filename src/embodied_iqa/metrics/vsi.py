"""Visual-saliency-induced index (Zhang, Shen & Li 2014)."""

from __future__ import annotations

import math
from functools import cache
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.metrics.maps import (
    Map,
    frequencies,
    gradient_magnitude,
    pooled,
    pooling_of,
    similarity,
    transformed,
)
from embodied_iqa.metrics.pictures import check_pair

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


def _lab(rgb: Map) -> Map:
    """Return CIE L*a*b* of ``(H, W, 3)`` sRGB in [0, 255], as the authors compute it (white D50)."""
    part = rgb / np.float32(255)
    linear = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4).astype(np.float32)
    share = cv2.transform(linear, _XYZ) / _WHITE
    root = np.where(share <= 0.008856, (903.3 * share + 16) / 116, np.cbrt(share)).astype(np.float32)
    lab: Map = cv2.transform(root, _LAB)
    lab[..., 0] -= 16
    return lab


def _scaled(values: Map, axes: tuple[int, int] = (0, 1)) -> Map:
    low, high = values.min(axis=axes, keepdims=True), values.max(axis=axes, keepdims=True)
    scaled: Map = (values - low) / (high - low + _EPSILON)
    return scaled


def _stretched(values: Map, length: int, axis: int) -> Map:
    """Return a map interpolated along an axis so that first and last values stay at the ends."""
    places = np.linspace(0, values.shape[axis] - 1, length)
    first = np.minimum(places.astype(np.intp), values.shape[axis] - 2)
    share = (places - first).astype(np.float32)
    share = share[:, None] if axis == 0 else share
    stretched: Map = values.take(first, axis) * (1 - share) + values.take(first + 1, axis) * share
    return stretched


def _saliency(picture: NDArray[np.uint8]) -> Map:
    """Return the saliency of every pixel (SDSP: frequency, colour and place), in [0, 1]."""
    small = cv2.resize(picture.astype(np.float32), (_SIDE_PX, _SIDE_PX), interpolation=cv2.INTER_LINEAR)
    lab = _lab(small)
    filtered = np.fft.ifft2(np.fft.fft2(lab, axes=(0, 1)) * _filter()[..., None], axes=(0, 1)).real
    colour = (_scaled(lab)[..., 1:] ** 2).sum(axis=2)
    salient = np.sqrt((filtered**2).sum(axis=2)) * _centre() * -np.expm1(-colour / _SIGMA_C**2)
    height, width = picture.shape[:2]
    return _scaled(_stretched(_stretched(salient.astype(np.float32), height, 0), width, 1))


def _pooled(values: Map, block_px: int) -> Map:
    before, after = block_px // 2, (block_px - 1) // 2
    return pooled(cv2.copyMakeBorder(values, before, after, before, after, cv2.BORDER_REPLICATE), block_px)


def _power(values: Map, exponent: float) -> Map:
    """Return the real part of a power, also of negative values."""
    turn = np.where(values < 0, math.cos(math.pi * exponent), 1.0).astype(np.float32)
    power: Map = np.abs(values)
    power **= exponent
    return turn * power


def vsi(reference: NDArray[np.uint8], distorted: NDArray[np.uint8]) -> float:
    """Return the similarity of saliency, gradient and colour, weighted by saliency.

    Pictures are reduced by block means until their shorter side is near 256 pixels.

    Args:
        reference: ``(H, W, 3)`` uint8 RGB, at least 16 x 16.
        distorted: The same shape.

    Returns:
        In [0, 1], higher is better; 1 for equal pictures.

    Raises:
        InputError: Another type, shape or size.
    """
    check_pair(reference, distorted, _SMALLEST_PX)
    block_px = pooling_of(reference.shape)
    seen_x, seen_y = (_pooled(_saliency(picture), block_px) for picture in (reference, distorted))
    x, y = (_pooled(transformed(picture, _LMN), block_px) for picture in (reference, distorted))
    slope_x, slope_y = (gradient_magnitude(np.ascontiguousarray(values[..., 0])) for values in (x, y))
    chroma = similarity(x[..., 1], y[..., 1], _C_CHROMA) * similarity(x[..., 2], y[..., 2], _C_CHROMA)
    local = similarity(seen_x, seen_y, _C_SALIENCY) * _power(chroma, _CHROMA_EXPONENT)
    local *= similarity(slope_x, slope_y, _C_GRADIENT) ** np.float32(_GRADIENT_EXPONENT)
    weight = np.maximum(seen_x, seen_y).astype(np.float64)
    return float(((local * weight).sum() + _EPSILON) / (weight.sum() + _EPSILON))
