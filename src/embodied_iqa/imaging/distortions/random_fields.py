"""Random fields, drawn fast and reproducibly from a NumPy generator."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

import cv2
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

_WORDS = 65536
_LARGEST = 2**64 - 1


@lru_cache(maxsize=1)
def normal_quantiles() -> NDArray[np.float64]:
    """Return the mid-quantiles of the unit normal for 65,536 equally likely words, scaled to variance 1.

    The tails end at 4.3 standard deviations, beyond which an image of a million values has some twenty.
    """
    normal = NormalDist()
    half = np.array([normal.inv_cdf((word + 0.5) / _WORDS) for word in range(_WORDS // 2)])
    quantiles = np.concatenate([half, -half[::-1]])
    result: NDArray[np.float64] = quantiles / quantiles.std()
    return result


@lru_cache(maxsize=64)
def _gaussian_table(sigma: float) -> NDArray[np.int16]:
    result: NDArray[np.int16] = np.rint(normal_quantiles() * sigma).astype(np.int16)
    return result


def uniform_words(rng: Generator, shape: tuple[int, ...]) -> NDArray[np.uint16]:
    """Return independent uniform 16-bit words.

    Four come from each 64-bit word of the generator, the lowest first, as NumPy draws them but faster.
    """
    count = math.prod(shape)
    if count % 4 or rng.bit_generator.state.get("has_uint32", 1):  # NumPy would keep, or has kept, a part
        return rng.integers(0, _WORDS - 1, size=shape, dtype=np.uint16, endpoint=True)
    words = rng.integers(0, _LARGEST, size=count // 4, dtype=np.uint64, endpoint=True)
    return words.astype("<u8", copy=False).view("<u2").reshape(shape)


def gaussian_field(rng: Generator, shape: tuple[int, ...], sigma: float) -> NDArray[np.int16]:
    """Return zero-mean Gaussian noise of standard deviation ``sigma`` rounded to whole grey values.

    Rounding before adding loses nothing where the image is whole-valued: ``round(x + n) = x + round(n)``.

    Args:
        rng: Random generator.
        shape: ``(H, W, C)`` or ``(H, W)``.
        sigma: In grey values, 0 to 7,000.
    """
    field: NDArray[np.int16] = cv2.LUT(uniform_words(rng, shape), _gaussian_table(sigma))
    return field.reshape(shape)
