"""How the learned judge found its statistics before they were made faster, for `bench_gate.py`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.quality.metrics.learned import input_statistics, texture

Small = NDArray[np.uint8]
Plane = NDArray[np.float32]
Array = NDArray[np.float64]


def covariance_at_once(small: Small, mean: Array) -> Array:
    """See `covariance_of`."""
    centred: Plane = cv2.subtract(small, (*mean, 0.0), dtype=cv2.CV_32F).reshape(-1, 3)
    return (centred.T @ centred / len(centred)).astype(np.float64)


def laplacian_in_float(plane: Small) -> Plane:
    """See `laplacian_of`."""
    fine: Plane = cv2.Laplacian(plane, cv2.CV_32F)
    return fine


def moments_by_opencv(plane: Plane) -> tuple[float, float]:
    """See `moments`."""
    mean, deviation = cv2.meanStdDev(plane)
    return mean.item(), deviation.item()


@contextmanager
def former_statistics() -> Iterator[None]:
    """Find the statistics as before, inside of the block."""
    with (
        patch.object(input_statistics, "covariance_of", covariance_at_once),
        patch.object(input_statistics, "laplacian_of", laplacian_in_float),
        patch.object(input_statistics, "moments", moments_by_opencv),
        patch.object(texture, "moments", moments_by_opencv),
    ):
        yield
