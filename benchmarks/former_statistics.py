"""How the judges found their statistics before they were made faster, for `bench_gate.py`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from unittest.mock import patch

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.quality.gate import image_filters, image_statistics
from embodied_iqa.quality.metrics.learned import compiled_texture, fine_texture, input_statistics, texture
from embodied_iqa.quality.metrics.learned.inputs import NetworkInput

Plane = NDArray[np.float32]
_RINGS, _SECTORS = 12, 4


def noise_by_histogram(response: NDArray[np.uint8]) -> float:
    """See `image_statistics._noise`."""
    counts = cv2.calcHist([response], [0], None, [256], [0, 256]).ravel().astype(np.int64)
    half = (response.size + 1) // 2
    before = np.minimum(np.concatenate([[0], np.cumsum(counts)]), half)
    return float(np.diff(before) @ np.arange(256)) / half / (6.0 * 0.32466)


def spectrum_by_numpy(gray: Plane) -> Plane:
    """See `texture.spectrum`."""
    bins, counts = _bins(*gray.shape)
    waves = np.fft.rfft2(gray - gray.mean())
    power = (waves.real**2 + waves.imag**2) / gray.size
    table = np.bincount(bins, power.ravel(), _RINGS * (_SECTORS + 1)).reshape(_RINGS, _SECTORS + 1)
    sectors = table.sum(axis=0)[:_SECTORS]
    return np.concatenate([np.log1p(table.sum(axis=1) / counts), sectors / (sectors.sum() + 1e-6)])


@lru_cache
def _bins(height: int, width: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    fy, fx = np.meshgrid(np.fft.fftfreq(height), np.fft.rfftfreq(width), indexing="ij")
    bins = texture.bins_of(fy, fx).ravel()
    return bins, np.bincount(bins // (_SECTORS + 1), minlength=_RINGS)


@contextmanager
def former_statistics() -> Iterator[None]:
    """Find the statistics as before, inside of the block: of the whole image at once, and halved twice."""
    with ExitStack() as patched:
        for module in (input_statistics, fine_texture):
            patched.enter_context(patch.object(module, "spectrum", spectrum_by_numpy))
        patched.enter_context(patch.object(image_filters, "_kernels", None))
        patched.enter_context(patch.object(compiled_texture, "kernels", None))
        patched.enter_context(patch.object(image_statistics, "_noise", noise_by_histogram))
        patched.enter_context(patch.object(image_statistics, "_BAND_PX", 1 << 40))
        patched.enter_context(patch.object(NetworkInput, "halves", lambda *_: False))
        yield
