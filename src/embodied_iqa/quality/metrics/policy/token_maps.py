"""Distance of two token maps."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError

_SMALLEST: Final = 1e-12
_LEVELS: Final = (10, 25, 50, 75, 90, 99)
_STRONGEST_ONE_IN: Final = 10


def token_distances(first: NDArray[np.float32], second: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return ``(T,)``, one minus the cosine of each token with the token at its place, in [0, 2].

    Two tokens of zeros are equal; one of them is at a right angle to any other.

    Args:
        first: ``(T, C)``.
        second: The same shape.

    Raises:
        InputError: The shapes differ.
    """
    if first.shape != second.shape:
        raise InputError(
            "the features of the two images differ in shape", expected=str(first.shape), got=second.shape
        )
    a, b = first.astype(np.float64), second.astype(np.float64)
    norms = np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=1)
    product = norms[0] * norms[1]
    cosine = (a * b).sum(axis=1) / np.maximum(product, _SMALLEST)
    both_zero = (norms[0] < _SMALLEST) & (norms[1] < _SMALLEST)
    distances: NDArray[np.float64] = np.clip(1.0 - np.where(both_zero, 1.0, cosine), 0.0, 2.0)
    return distances


def map_distance(first: NDArray[np.float32], second: NDArray[np.float32]) -> float:
    """Return one minus the cosine of two token maps ``(T, C)``, each taken as one vector, in [0, 2].

    A token counts by its length: what the subject responds to strongly weighs more.

    Raises:
        InputError: The shapes differ.
    """
    return float(token_distances(first.reshape(1, -1), second.reshape(1, -1))[0])


def token_statistics(first: NDArray[np.float32], second: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return ``(14,)`` statistics of the distance of two token maps ``(T, C)``.

    The distance of the maps; mean, deviation and percentiles over tokens; the distance of the reference's
    strongest tokens, which are where objects are; the change of length.

    Args:
        first: Of the reference.
        second: Of the distorted image.

    Raises:
        InputError: The shapes differ.
    """
    distances = token_distances(first, second)
    length, other = (np.linalg.norm(one.astype(np.float64), axis=1) for one in (first, second))
    strongest = np.argsort(length)[-max(1, len(length) // _STRONGEST_ONE_IN) :]
    change = np.linalg.norm(first.astype(np.float64) - second, axis=1)
    values = [
        map_distance(first, second),
        distances.mean(),
        distances.std(),
        *np.percentile(distances, _LEVELS),
        distances[strongest].mean(),
        change.mean() / (length.mean() + _SMALLEST),
        change.max() / (length.mean() + _SMALLEST),
        np.log((other.mean() + _SMALLEST) / (length.mean() + _SMALLEST)),
        np.log((other[strongest].mean() + _SMALLEST) / (length[strongest].mean() + _SMALLEST)),
    ]
    return np.array(values, np.float32)
