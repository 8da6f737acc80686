"""Statistics of the features of a LeRobot data set, as policies normalise with them.

Those of images are by channel, of values in [0, 1]; quantiles are of all values, not of a sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

QUANTILES: Final = {"q01": 0.01, "q10": 0.10, "q50": 0.50, "q90": 0.90, "q99": 0.99}
_LEVELS: Final = np.arange(256) / 255.0


class ImageCounts:
    """How often each of the 256 levels occurs in each channel, and in how many images."""

    def __init__(self) -> None:
        self._counts: NDArray[np.int64] = np.zeros((3, 256), np.int64)
        self._images = 0

    def add(self, rgb: NDArray[np.uint8]) -> None:
        """Count an image, ``(H, W, 3)`` uint8."""
        self._counts += np.stack([np.bincount(rgb[..., c].ravel(), minlength=256) for c in range(3)])
        self._images += 1

    def merge(self, other: ImageCounts) -> None:
        """Count the images of another one, too."""
        self._counts += other._counts
        self._images += other._images

    def statistics(self) -> dict[str, Any]:
        """Return each statistic as nested lists, ``(3, 1, 1)``."""
        shares = self._counts / self._counts.sum(axis=1, keepdims=True)
        mean = shares @ _LEVELS
        spread = np.sqrt(np.maximum(0.0, shares @ _LEVELS**2 - mean**2))
        present = self._counts > 0
        found = {
            "min": _LEVELS[present.argmax(axis=1)],
            "max": _LEVELS[255 - present[:, ::-1].argmax(axis=1)],
            "mean": mean,
            "std": spread,
        }
        below = np.cumsum(shares, axis=1)
        for name, share in QUANTILES.items():
            found[name] = _LEVELS[(below >= share - 1e-12).argmax(axis=1)]
        planes = {name: values.reshape(3, 1, 1).tolist() for name, values in found.items()}
        return planes | {"count": [self._images]}


def as_numbers(rows: Sequence[Any]) -> NDArray[np.float64] | None:
    """Return numbers, one entry a row, ``(N, ...)`` with two axes or more.

    None for values that are not numbers, or rows of different lengths.
    """
    try:
        values = np.asarray(rows)
    except ValueError:
        return None
    if values.dtype.kind not in "biuf":  # such as digits in a text, or nothing
        return None
    numbers = values.astype(np.float64)
    return numbers.reshape(len(numbers), -1) if numbers.ndim < 2 and numbers.size else numbers


def joined(parts: Sequence[NDArray[np.float64] | None]) -> NDArray[np.float64] | None:
    """Return the rows of all parts; None where one holds no numbers, or rows of another length."""
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or len({part.shape[1:] for part in known}) != 1:
        return None
    return np.concatenate(known)


def statistics_of(values: NDArray[np.float64] | None) -> dict[str, Any] | None:
    """Return the statistics of numbers, ``(N, ...)``, each a list as long as a row.

    Numbers that are not finite count for nothing. None without numbers, or for a column without finite ones.
    """
    if values is None or not values.size:
        return None
    finite = np.isfinite(values)
    if not finite.any(axis=0).all():
        return None
    known = values if finite.all() else np.where(finite, values, np.nan)
    found = {
        "min": np.nanmin(known, axis=0),
        "max": np.nanmax(known, axis=0),
        "mean": np.nanmean(known, axis=0),
        "std": np.nanstd(known, axis=0),
    }
    for name, share in QUANTILES.items():
        found[name] = np.nanquantile(known, share, axis=0)
    return {name: value.tolist() for name, value in found.items()} | {"count": [len(values)]}
