"""Whether an image is like those that a trained metric learned from."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from zipfile import BadZipFile

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, first_line
from embodied_iqa.base.files import write_whole

RANGE_FILE: Final = "training_range.npz"
_AXES: Final = 32
"""Principal axes that are kept, or a quarter of the images if these are fewer."""
_LIMIT_PERCENT: Final = 99.0
"""Of the validation images, which the network has not learned from, so many are within the limit."""
_CELLS: Final = 8
_LEAST_SPREAD: Final = 1e-3

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class TrainingRange:
    """The subspace in which the measured inputs of the training images lie.

    Attributes:
        mean: ``(D,)`` of the training images.
        spread: ``(D,)`` standard deviation.
        axes: ``(K, D)`` principal axes of the standardised inputs.
        limit: Mean square of what the axes leave unexplained, from which an image is outside.
    """

    mean: Array
    spread: Array
    axes: Array
    limit: float

    @classmethod
    def of(cls, learned: NDArray[Any], validation: NDArray[Any]) -> TrainingRange:
        """Fit the axes to the images that were learned, and the limit to those of validation.

        Args:
            learned: Measured inputs, ``(N, D)`` or ``(N, H, W, 3)`` uint8, N of 1 or more.
            validation: Of other references; if there is none, the limit is that of ``learned``.
        """
        known = described(learned)
        mean = known.mean(axis=0)
        spread = np.maximum(known.std(axis=0), _LEAST_SPREAD * np.maximum(1.0, np.abs(mean)))
        standard = (known - mean) / spread
        count = min(_AXES, max(1, len(known) // 4), known.shape[1])
        found = cls(mean, spread, np.ascontiguousarray(_principal_axes(standard)[:count]), 1.0)
        unexplained = found.distances(validation if len(validation) else learned)
        return cls(mean, spread, found.axes, float(max(np.percentile(unexplained, _LIMIT_PERCENT), 1e-9)))

    def distances(self, values: NDArray[Any]) -> Array:
        """Return ``(N,)``: above 1 for measured inputs that are outside."""
        standard = (described(values) - self.mean) / self.spread
        rest = standard - standard @ self.axes.T @ self.axes
        found: Array = np.square(rest).mean(axis=1) / self.limit
        return found

    def save(self, folder: Path) -> None:
        """Write the file, whole or not at all."""
        content = io.BytesIO()
        np.savez(content, mean=self.mean, spread=self.spread, axes=self.axes, limit=np.array(self.limit))
        write_whole(folder / RANGE_FILE, lambda fresh: fresh.write_bytes(content.getvalue()))


def _principal_axes(standard: Array) -> Array:
    """Return the axes as rows, the widest first; of fewer images than values, as many as there are images."""
    if len(standard) < standard.shape[1]:  # thousands of values of a few images: minutes by the other way
        axes: Array = np.linalg.svd(standard, full_matrices=False)[2]
        return axes
    return np.linalg.eigh(standard.T @ standard)[1][:, ::-1].T


def load_training_range(folder: Path) -> TrainingRange | None:
    """Read the file of a metric; None for a metric of an earlier version, which has none.

    Raises:
        InputError: The file is damaged.
    """
    if not (folder / RANGE_FILE).is_file():
        return None
    try:
        with (folder / RANGE_FILE).open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            arrays = [np.asarray(file[name], np.float64) for name in ("mean", "spread", "axes")]
            limit = float(file["limit"])
    except (OSError, EOFError, ValueError, KeyError, TypeError, BadZipFile) as error:
        raise InputError(f"cannot read {folder / RANGE_FILE}: {first_line(error)}") from error
    mean, spread, axes = arrays
    if axes.shape[1:] != mean.shape or mean.shape != spread.shape or not limit > 0:
        raise InputError(f"{folder / RANGE_FILE} is damaged", expected="arrays of one length")
    return TrainingRange(mean, spread, axes, limit)


def described(values: NDArray[Any]) -> Array:
    """Return measured inputs as ``(N, D)``; of images the means of cells and the contrast."""
    if values.ndim == 2:
        return np.asarray(values, np.float64)
    return np.stack([_of_image(image) for image in values])


def _of_image(image: NDArray[np.uint8]) -> Array:
    plane = np.asarray(image, np.float32)
    cells = cv2.resize(plane, (_CELLS, _CELLS), interpolation=cv2.INTER_AREA).ravel()
    steps = [np.abs(np.diff(plane, axis=axis)).mean() for axis in (0, 1)]
    return np.concatenate([cells, plane.std(axis=(0, 1)), steps]).astype(np.float64)
