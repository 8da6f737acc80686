"""Feature similarity index with colour, FSIMc (Zhang, Zhang, Mou & Zhang 2011)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.quality.metrics.input_checks import check_pair
from embodied_iqa.quality.metrics.last_image import LastImage
from embodied_iqa.quality.metrics.maps import Map, gradient_magnitude, pooled_channels, pooling_of, similarity
from embodied_iqa.quality.metrics.phase_congruency import phase_congruency

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
