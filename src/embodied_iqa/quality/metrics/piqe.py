"""PIQE: noticeable artefacts and noise of active blocks (Venkatanath et al. 2015)."""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.quality.metrics.input_checks import check_image
from embodied_iqa.quality.metrics.natural_scenes import Array, normalised

_SMALLEST_PX: Final = 16
_BLOCK_PX: Final = 16
_SEGMENT_PX: Final = 6
_ACTIVE: Final = 0.1
_IMPAIRED: Final = 0.1
_CENTRE: Final = [7, 8]
_SURROUND: Final = [*range(7), 8, *range(10, 16)]
"""Columns around the centre; 8 is in and 9 is out, as in MATLAB's implementation."""


def _deviation(values: Array, axes: tuple[int, ...]) -> Array:
    deviation: Array = values.std(axis=axes, ddof=1)
    return deviation


def _impaired(blocks: Array) -> NDArray[np.bool_]:
    """Return for each block ``(n,)`` whether a segment of its border is nearly constant."""
    edges = np.stack((blocks[:, 0], blocks[:, -1], blocks[:, :, 0], blocks[:, :, -1]), axis=1)
    starts = _BLOCK_PX - _SEGMENT_PX + 1
    # One array for each place in a segment: sums over six arrays, not over an axis of six values.
    places = [edges[..., place : place + starts] for place in range(_SEGMENT_PX)]
    mean = sum(places[1:], places[0]) / _SEGMENT_PX
    squares = sum(((values - mean) ** 2 for values in places[1:]), (places[0] - mean) ** 2)
    impaired: NDArray[np.bool_] = np.sqrt(squares.min(axis=(1, 2)) / (_SEGMENT_PX - 1)) < _IMPAIRED
    return impaired


def _noisy(blocks: Array, deviation: Array) -> NDArray[np.bool_]:
    """Return for each block ``(n,)`` whether its centre varies as its surround does."""
    centre, surround = (_deviation(blocks[:, :, columns], (1, 2)) for columns in (_CENTRE, _SURROUND))
    ratio = np.divide(centre, surround, out=np.zeros_like(centre), where=surround > 0)
    noisy: NDArray[np.bool_] = deviation > 2 * np.abs(deviation - ratio) / np.maximum(deviation, ratio)
    return noisy


def piqe(distorted: NDArray[np.uint8]) -> float:
    """Return the share of visible distortion in the active blocks.

    Args:
        distorted: ``(H, W, 3)`` uint8 RGB, at least 16 x 16.

    Returns:
        About 0 to 100, lower is better; 100 for an image without an active block.

    Raises:
        InputError: Another type, shape or size.
    """
    check_image(distorted, _SMALLEST_PX)
    grey = cv2.cvtColor(distorted, cv2.COLOR_RGB2GRAY).astype(np.float64)
    missing = [-side % _BLOCK_PX for side in grey.shape]
    grey = np.pad(grey, [(0, missing[0]), (0, missing[1])], mode="symmetric")
    grey = np.rint(255 * (grey / max(grey.max(), 1.0)))
    values = normalised(grey, cv2.BORDER_REPLICATE)
    rows, columns = (side // _BLOCK_PX for side in values.shape)
    grid = values.reshape(rows, _BLOCK_PX, columns, _BLOCK_PX).swapaxes(1, 2)
    blocks: Array = grid.reshape(-1, _BLOCK_PX, _BLOCK_PX)
    variance = blocks.var(axis=(1, 2), ddof=1)
    active = variance > _ACTIVE
    blocks, variance = blocks[active], variance[active]
    impaired, noisy = _impaired(blocks), _noisy(blocks, np.sqrt(variance))
    distortion = np.where(impaired, 1 - variance, 0.0) + np.where(noisy, variance, 0.0)
    return float(100 * (distortion.sum() + 1) / (len(blocks) + 1))
