"""A distortion of your own: horizontal lines of noise. Word: python:own_distortion:scan_lines:LEVEL"""

import numpy as np
from numpy.random import Generator

from embodied_iqa import DistortionClass, DistortionEntry, DistortionSource


def _scan_lines(image: np.ndarray, rng: Generator, share: float) -> np.ndarray:
    """Replace a share of the rows, drawn from ``rng``, by noise; the input is never changed."""
    rows = rng.random(image.shape[0]) < share
    distorted = image.copy()
    distorted[rows] = rng.integers(0, 256, distorted[rows].shape, np.uint8)
    return distorted


scan_lines = DistortionEntry(
    id="own",
    name="scan-lines",
    distortion_class=DistortionClass.NOISE,
    parameter_names=("share",),
    parameters=((0.01,), (0.03,), (0.1,), (0.2,), (0.4,)),
    unit="share of the rows",
    source=DistortionSource.OWN,
    operator=_scan_lines,
)
