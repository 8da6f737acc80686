"""Whether this process measures the input of learned metrics by compiled code, in half of the time.

Both ways give the same numbers but for rounding to float32, so that the versions of the input hold for both.
"""

from __future__ import annotations

import importlib
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

kernels: ModuleType | None = None
"""The compiled code; None: OpenCV and NumPy alone."""


def use_compiled_texture() -> None:
    """Measure by compiled code from now on; needs numba.

    Call it before the first image: where set-up has not compiled the code, it takes several seconds.
    """
    global kernels  # noqa: PLW0603 - what is compiled is of the process, as an imported module is
    compiled = importlib.import_module("embodied_iqa.quality.metrics.learned.texture_kernels")
    plane, other, another = (np.zeros((4, 4), np.float32) for _ in range(3))
    compiled.edge_maps(plane, other, another)
    compiled.normalise(plane, plane, plane, other, another)
    compiled.normal_sums(plane, np.zeros(11))
    compiled.binned_power(plane, np.zeros(16, np.int64), np.zeros(1))
    gray = np.zeros((4, 12), np.uint8)
    compiled.noise_map(gray, np.zeros(gray.shape, np.float32))
    for rows in (gray, _read_only(gray)):
        compiled.narrow(rows, np.zeros((4, 9), np.uint8))
    kernels = compiled


def _read_only(gray: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return another type for the compiler: that of a received message."""
    copy = gray.copy()
    copy.flags.writeable = False
    return copy
