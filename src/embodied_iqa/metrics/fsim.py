"""Feature similarity index with colour, FSIMc (Zhang, Zhang, Mou & Zhang 2011)."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.metrics.maps import gradient_magnitude, pooled, pooling_of, similarity, transformed
from embodied_iqa.metrics.phase_congruency import phase_congruency
from embodied_iqa.metrics.pictures import check_pair

_SMALLEST_PX: Final = 16
_YIQ: Final = np.array(
    [[0.299, 0.587, 0.114], [0.5959, -0.2746, -0.3213], [0.2115, -0.5227, 0.3112]], np.float32
)
_T_PHASE: Final = 0.85
_T_GRADIENT: Final = 160.0
_T_CHROMA: Final = 200.0
_CHROMA_EXPONENT: Final = 0.03


def fsim(reference: NDArray[np.uint8], distorted: NDArray[np.uint8]) -> float:
    """Return the similarity of phase congruency, gradient and colour, weighted by phase congruency.

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
    x, y = (pooled(transformed(picture, _YIQ), block_px) for picture in (reference, distorted))
    luma_x, luma_y = np.ascontiguousarray(x[..., 0]), np.ascontiguousarray(y[..., 0])
    phase_x, phase_y = phase_congruency(luma_x), phase_congruency(luma_y)
    chroma = similarity(x[..., 1], y[..., 1], _T_CHROMA) * similarity(x[..., 2], y[..., 2], _T_CHROMA)
    local = similarity(phase_x, phase_y, _T_PHASE) * np.abs(chroma) ** np.float32(_CHROMA_EXPONENT)
    local *= similarity(gradient_magnitude(luma_x), gradient_magnitude(luma_y), _T_GRADIENT)
    weight = np.maximum(phase_x, phase_y).astype(np.float64)
    whole = weight.sum()
    # Without any feature all pixels weigh the same, as in a flat picture.
    return float((local * weight).sum() / whole if whole else local.mean(dtype=np.float64))
