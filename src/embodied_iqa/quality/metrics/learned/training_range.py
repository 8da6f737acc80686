"""Whether an image is like those that a trained metric learned from."""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, first_line
from embodied_iqa.base.files import write_whole
from embodied_iqa.quality.metrics.learned.input_statistics import STATISTICS_VERSION, image_statistics

RANGE_FILE: Final = "training_range.npz"
_AXES: Final = 32
"""Principal axes that are kept, or a quarter of the images if these are fewer."""
_LIMIT_PERCENT: Final = 99.0
"""Of the validation images, which the network has not learned from, so many are within the limit."""
_MOST_IMAGES: Final = 8_000
"""So many, drawn at random, stand for all images of an input: to describe one takes milliseconds."""
_OF_IMAGES: Final = f"statistics {STATISTICS_VERSION}"
"""How images are described, and of which version; vectors are taken as they are."""
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
        description: How inputs that are images are described; empty for vectors.
    """

    mean: Array
    spread: Array
    axes: Array
    limit: float
    description: str = ""

    @classmethod
    def of(cls, learned: NDArray[Any], validation: NDArray[Any]) -> TrainingRange:
        """Fit the axes to the images that were learned, and the limit to those of validation.

        Args:
            learned: Measured inputs, ``(N, D)`` or ``(N, H, W, 3)`` uint8, N of 1 or more.
            validation: Of other references; if there is none, the limit is that of ``learned``.
        """
        learned, validation = _sample(learned), _sample(validation)
        known = _described(learned)
        mean = known.mean(axis=0)
        spread = np.maximum(known.std(axis=0), _LEAST_SPREAD * np.maximum(1.0, np.abs(mean)))
        standard = (known - mean) / spread
        count = min(_AXES, max(1, len(known) // 4), known.shape[1])
        axes = np.ascontiguousarray(_principal_axes(standard)[:count])
        found = cls(mean, spread, axes, 1.0, "" if learned.ndim == 2 else _OF_IMAGES)
        unexplained = found.distances(validation if len(validation) else learned)
        return replace(found, limit=float(max(np.percentile(unexplained, _LIMIT_PERCENT), 1e-9)))

    def distances(self, values: NDArray[Any]) -> Array:
        """Return ``(N,)``: above 1 for measured inputs that are outside."""
        standard = (_described(values) - self.mean) / self.spread
        rest = standard - standard @ self.axes.T @ self.axes
        found: Array = np.square(rest).mean(axis=1) / self.limit
        return found

    def save(self, folder: Path) -> None:
        """Write the file, whole or not at all."""
        content = io.BytesIO()
        limit, description = np.array(self.limit), np.array(self.description)
        np.savez(
            content, mean=self.mean, spread=self.spread, axes=self.axes, limit=limit, description=description
        )
        write_whole(folder / RANGE_FILE, lambda fresh: fresh.write_bytes(content.getvalue()))


def _principal_axes(standard: Array) -> Array:
    """Return the axes as rows, the widest first; of fewer images than values, as many as there are images."""
    if len(standard) < standard.shape[1]:  # thousands of values of a few images: minutes by the other way
        axes: Array = np.linalg.svd(standard, full_matrices=False)[2]
        return axes
    return np.linalg.eigh(standard.T @ standard)[1][:, ::-1].T


def load_training_range(folder: Path, *, of_images: bool) -> TrainingRange | None:
    """Read the file of a metric; None for a metric of an earlier version: none, or of another description.

    Args:
        folder: Of the metric.
        of_images: Its inputs are images, not vectors.

    Raises:
        InputError: The file is damaged.
    """
    if not (folder / RANGE_FILE).is_file():
        return None
    try:
        with (folder / RANGE_FILE).open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            arrays = [np.asarray(file[name], np.float64) for name in ("mean", "spread", "axes")]
            limit = float(file["limit"])
            description = str(file["description"]) if "description" in file.files else ""
    except (OSError, EOFError, ValueError, KeyError, TypeError, BadZipFile) as error:
        raise InputError(f"cannot read {folder / RANGE_FILE}: {first_line(error)}") from error
    mean, spread, axes = arrays
    if axes.shape[1:] != mean.shape or mean.shape != spread.shape or not limit > 0:
        raise InputError(f"{folder / RANGE_FILE} is damaged", expected="arrays of one length")
    if description != (_OF_IMAGES if of_images else ""):
        return None
    return TrainingRange(mean, spread, axes, limit, description)


def _described(values: NDArray[Any]) -> Array:
    """Return measured inputs as ``(N, D)``; of images their statistics."""
    if values.ndim == 2:
        return np.asarray(values, np.float64)
    return np.stack([image_statistics(image) for image in values]).astype(np.float64)


def _sample(values: NDArray[Any]) -> NDArray[Any]:
    """Return a draw of images; every fourth one would miss distortions, whose order repeats itself."""
    if values.ndim == 2 or len(values) <= _MOST_IMAGES:
        return values
    drawn = np.random.default_rng(0).choice(len(values), _MOST_IMAGES, replace=False)
    return values[np.sort(drawn)]
