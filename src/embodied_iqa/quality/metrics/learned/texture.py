"""Statistics of texture: normalised luminance, the spectrum, and steps between neighbours."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.quality.metrics.learned import compiled_texture as fast

Vector = NDArray[np.float32]
Plane = NDArray[np.float32]
Gray = NDArray[np.uint8]
_WINDOW_PX: Final = 7
_SIGMA_PX: Final = 7 / 6
_RINGS: Final = 12
_SECTORS: Final = 4
_BINS: Final = _RINGS * (_SECTORS + 1)
_LANES: Final = 4
_SMALL: Final = 1e-6
_EQUAL: Final = (0, 1, 3)
"""Steps up to these count as (nearly) equal neighbours (grey levels)."""


def mscn_statistics(gray: Plane) -> Vector:
    """Return moments of mean-subtracted, contrast-normalised luminance and of its neighbours' products.

    The numbers behind BRISQUE's fits (Mittal et al. 2012), without the fits.
    """
    mean, square = _blur(gray), _blur(gray * gray)
    if fast.kernels is None:
        deviation, normal = _normalised(gray, mean, square)
        magnitude, power = cv2.norm(normal, cv2.NORM_L1), cv2.norm(normal, cv2.NORM_L2SQR)
        products = _product_statistics(normal)
    else:
        deviation, normal, sums = np.empty_like(gray), np.empty_like(gray), np.zeros(11)
        fast.kernels.normalise(gray, mean, square, deviation, normal)
        fast.kernels.normal_sums(normal, sums)
        magnitude, power = sums[:2]
        products = _products_of(sums[2:], *gray.shape)
    shape = _shape_of(magnitude / gray.size, power / gray.size)
    return np.array([*shape, *moments(cv2.log(deviation)), *products], np.float32)


def _normalised(gray: Plane, mean: Plane, square: Plane) -> tuple[Plane, Plane]:
    """Return local deviation, plus 1, and normalised luminance."""
    square -= mean * mean
    deviation = np.sqrt(np.maximum(square, 0.0, out=square), out=square)
    deviation += 1.0
    normal: Plane = cv2.subtract(gray, mean)
    normal /= deviation
    return deviation, normal


def _product_statistics(normal: Plane) -> list[float]:
    """Return, of the products with each of three neighbours, the mean and the roots of mean squares."""
    values = []
    for shifted, fixed in (
        (normal[:, 1:], normal[:, :-1]),
        (normal[1:], normal[:-1]),
        (normal[1:, 1:], normal[:-1, :-1]),
    ):
        product: Plane = cv2.multiply(shifted, fixed)
        above = cv2.max(product, 0.0)
        values += [cv2.mean(product)[0], _root(above), _root(cv2.subtract(product, above))]
    return values


def _products_of(sums: NDArray[np.float64], height: int, width: int) -> list[float]:
    """Return what `_product_statistics` does, of compiled sums."""
    sizes = (height * (width - 1), (height - 1) * width, (height - 1) * (width - 1))
    means = [part / size for part, size in zip(sums.reshape(3, 3), sizes, strict=True)]
    return [value for total, *squares in means for value in (total, *map(math.sqrt, squares))]


def moments(plane: Plane) -> tuple[float, float]:
    """Return mean and standard deviation."""
    mean = cv2.mean(plane)[0]  # three times as fast as `cv2.meanStdDev` of real numbers
    return moments_of(mean, cv2.norm(plane, cv2.NORM_L2SQR) / plane.size)


def moments_of(mean: float, square: float) -> tuple[float, float]:
    """Return mean and standard deviation, given the mean and that of the squares."""
    return mean, math.sqrt(max(square - mean * mean, 0.0))


def _blur(plane: Plane) -> Plane:
    blurred: Plane = cv2.GaussianBlur(plane, (_WINDOW_PX, _WINDOW_PX), _SIGMA_PX)
    return blurred


def _shape_of(magnitude: float, power: float) -> tuple[float, float, float]:
    """Return mean magnitude, deviation, and the ratio that sets the shape of a generalised Gaussian."""
    return magnitude, power**0.5, magnitude * magnitude / (power + _SMALL)


def _root(values: Plane) -> float:
    return float(cv2.norm(values, cv2.NORM_L2)) / math.sqrt(values.size)


def spectrum(gray: Plane) -> Vector:
    """Return the logarithm of the mean power in rings of frequency, and in sectors of direction."""
    bins = _frequency_bins(gray.shape[0], gray.shape[1])
    waves: Plane = cv2.dft(cv2.subtract(gray, cv2.mean(gray)[0]))  # a third of the time of `np.fft.rfft2`
    lanes = np.zeros(_LANES * _BINS)
    if fast.kernels is None:
        lanes += np.bincount(bins.packed, (waves * waves).ravel(), len(lanes))
    else:
        fast.kernels.binned_power(waves, bins.packed, lanes)
    power = lanes.reshape(_LANES, _BINS).sum(axis=0)
    power += np.bincount(bins.mirrored, np.square(waves[bins.mirrored_at]).ravel(), _BINS)
    table = (power / gray.size).reshape(_RINGS, _SECTORS + 1)
    sector_power = table.sum(axis=0)[:_SECTORS]
    share = sector_power / (sector_power.sum() + _SMALL)
    return np.concatenate([np.log1p(table.sum(axis=1) / bins.counts), share]).astype(np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class _FrequencyBins:
    """Where the power of each frequency belongs, by ring and sector.

    `cv2.dft` packs the transform of a real plane into a plane of the same size: one number for the real part
    of a frequency and one for the imaginary part. Of the first column, and of the last one of an even width,
    it leaves out the lower half, which mirrors the upper one and may lie in another sector.

    Attributes:
        packed: ``(H * W,)`` bin of each number. Neighbours are added up in different tables, `_LANES` of
            them: to add to one number again and again takes three times as long.
        mirrored: Bins of what is left out.
        mirrored_at: Where the numbers are that it mirrors.
        counts: ``(R,)`` frequencies in each ring.
    """

    packed: NDArray[np.int64]
    mirrored: NDArray[np.int64]
    mirrored_at: tuple[NDArray[np.int64], ...]
    counts: NDArray[np.int64]


@lru_cache(maxsize=16)
def _frequency_bins(height: int, width: int) -> _FrequencyBins:
    down, right = np.fft.fftfreq(height), np.fft.rfftfreq(width)
    rings = bins_of(*np.meshgrid(down, right, indexing="ij")) // (_SECTORS + 1)
    counts = np.bincount(rings.ravel(), minlength=_RINGS)
    row, column = ((np.arange(size) + 1) // 2 for size in (height, width))
    edges = np.array([0] if width % 2 else [0, width - 1])
    fy, fx = np.meshgrid(down, right[column], indexing="ij")
    fy[:, edges] = down[row, None]
    at = np.arange(1, height - 1 + height % 2)[:, None], edges
    packed = bins_of(fy, fx) + np.arange(width) % _LANES * _BINS
    return _FrequencyBins(packed.ravel(), bins_of(-fy[at], fx[at]).ravel(), at, np.maximum(counts, 1))


def bins_of(fy: NDArray[np.float64], fx: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the bin of each frequency; low ones are in a sector that is left out."""
    radius = np.hypot(fx, fy)
    ring = np.minimum(radius / 0.5 * _RINGS, _RINGS - 1).astype(np.int64)
    angle = np.mod(np.arctan2(fy, fx), np.pi) / np.pi * _SECTORS
    sector = np.where(radius > 0.1, np.minimum(angle, _SECTORS - 1).astype(np.int64), _SECTORS)
    bins: NDArray[np.int64] = ring * (_SECTORS + 1) + sector
    return bins


def steps(gray: Gray) -> Vector:
    """Return how many neighbours are (nearly) equal, by axis, and how unevenly rows and columns differ."""
    values: list[float] = []
    for axis in (0, 1):
        step = neighbour_steps(gray, axis)
        values += [np.count_nonzero(step <= limit) / step.size for limit in _EQUAL]
        line = mean_steps(step, axis)
        values += np.log1p([line.std(), line.max(), line.min()]).tolist()
    return np.array(values, np.float32)


def neighbour_steps(gray: Gray, axis: int) -> Gray:
    """Return how much neighbours differ along an axis."""
    later, earlier = (gray[1:], gray[:-1]) if axis == 0 else (gray[:, 1:], gray[:, :-1])
    steps: Gray = cv2.absdiff(later, earlier)
    return steps


def mean_steps(steps: Gray, axis: int) -> Vector:
    """Return the mean step along an axis between two rows, or two columns, and the next."""
    line: Vector = cv2.reduce(steps, 1 - axis, cv2.REDUCE_AVG, dtype=cv2.CV_32F).ravel()
    return line
