"""Fifteen fast no-reference statistics of an image.

Everything up to the last division is whole-number arithmetic on uint8 and int16 images, so that the numbers
are the same bit for bit for every number of threads, live and offline. None of them is a quality by itself: a
calibration (:mod:`embodied_iqa.quality.gate.calibration`) holds the ordinary range of a camera.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import Description, InputError
from embodied_iqa.quality.gate.image_filters import (
    CELL_PX,
    colour_planes,
    colourfulness,
    histogram,
    laplacian_energy,
    limited_sum,
    luminance_and_green,
    noise_response,
    odd_pixels,
    step_sums,
)

try:
    import cv2
except ModuleNotFoundError:  # the light install
    from embodied_iqa.quality.gate import portable_opencv as cv2  # type: ignore[no-redef]

STATISTICS_VERSION: Final = "2"
"""Changes whenever a number can change; calibrations of another version are refused."""

MIN_SIDE_PX: Final = 16
_GRID_PX: Final = 8
_BAND_PX: Final = 1 << 17
"""Pixels of a band, which with its filters' answers fits into the second cache of a core."""
_VIVID_IS_ONE_IN: Final = 200
_CALM_MEAN_PER_SIGMA: Final = 6.0 * 0.32466
"""Mean of ``|x| / sigma`` over its lower half for a Gaussian, times the norm of the noise mask."""
_SMALL: Final = 0.01
"""Grey levels added above and below a ratio, so that a uniform image has ratio 1."""

Gray = NDArray[np.uint8]


class Statistic(StrEnum):
    """The names of the statistics, as fields of :class:`ImageStatistics`."""

    SHARPNESS = "sharpness"
    EXPOSURE = "exposure"
    CLIPPED_DARK = "clipped_dark"
    CLIPPED_BRIGHT = "clipped_bright"
    CONTRAST = "contrast"
    NOISE = "noise"
    BLOCKINESS = "blockiness"
    DETAIL = "detail"
    SPECKS = "specks"
    TONES = "tones"
    REPEATED = "repeated"
    FLAT = "flat"
    CHROMA = "chroma"
    CHROMA_DETAIL = "chroma_detail"
    VIVIDNESS = "vividness"


@dataclass(frozen=True, slots=True)
class ImageStatistics:
    """The statistics of one image; luminance is ITU-R BT.601 luma in grey levels 0 to 255.

    Attributes:
        width_px: Of the image.
        height_px: Of the image.
        sharpness: Energy of fine detail: mean square of the Laplacian of luminance (grey levels squared).
            Higher is sharper, and noisier.
        exposure: Mean luminance, in [0, 1].
        clipped_dark: Share of pixels at black (luminance 0 or 1), in [0, 1].
        clipped_bright: Share of pixels at white (luminance 254 or 255), in [0, 1].
        contrast: Standard deviation of luminance, in [0, 0.5] (1 is the full range).
        noise: Standard deviation of noise (grey levels), from the calmer half of the responses to the mask
            ``(1 -2 1; -2 4 -2; 1 -2 1)`` (Immerkaer 1996, with the mean over all pixels replaced by the mean
            over the lower half, which edges and texture hardly reach).
        blockiness: Mean luminance step across the borders of the 8 x 8 grid over the mean step elsewhere; 1
            is none.
        detail: Laplacian energy at full over that at half resolution. Independent of how much there is to
            see: blur lowers it, noise and sharpening raise it.
        specks: Share of pixels further than 24 grey levels from the median of their 3 x 3 neighbours.
        tones: How evenly neighbouring levels of green are used, in [0, 1]: 1 minus a quarter of the second
            differences of the histogram. Quantised and bent tones leave gaps and peaks, which lower it.
        repeated: Share of rows and columns (nearly) equal to their neighbour, in [0, 1]: pixelation.
        flat: Share of 16 x 16 cells of the grid within which luminance does not change at all, in [0, 1].
        chroma: Mean distance of Cr and Cb from neutral, summed (grey levels).
        chroma_detail: Energy of fine detail of Cr and Cb, summed, over that of luminance, at half resolution.
            Shifted colour planes and colour noise raise it, smeared colours lower it.
        vividness: Distance of Cr and Cb from neutral, summed, that more than 0.5 % of the pixels reach, at
            half resolution (grey levels, at most 255). Unlike the mean it is that of the most colourful
            object, however small: where colours fade it falls, whatever the table looks like.
    """

    width_px: int
    height_px: int
    sharpness: float
    exposure: float
    clipped_dark: float
    clipped_bright: float
    contrast: float
    noise: float
    blockiness: float
    detail: float
    specks: float
    tones: float
    repeated: float
    flat: float
    chroma: float
    chroma_detail: float
    vividness: float

    def value(self, statistic: Statistic) -> float:
        """Return one of them by name."""
        return float(getattr(self, statistic.value))


def measure(rgb: NDArray[np.uint8]) -> ImageStatistics:
    """Measure an image; about 5 ms for 1280 x 720 on one core, without OpenCV 40 ms.

    Args:
        rgb: ``(H, W, 3)`` uint8, red first, both sides at least 16 pixels. Never changed.

    Raises:
        InputError: Not such an image.
    """
    return measure_halving(rgb)[0]


def measure_halving(rgb: NDArray[np.uint8]) -> tuple[ImageStatistics, NDArray[np.uint8]]:
    """Measure an image as `measure`, and return it at half its size, rounded down: the mean of each area."""
    _check(rgb)
    gray, green = _luminance_and_green(rgb)
    half = _half(rgb)
    sums = _Sums.of(gray)
    sharpness = sums.energy / gray.size
    coarse_gray = _half(gray)
    coarse = laplacian_energy(coarse_gray, slice(0, len(coarse_gray))) / coarse_gray.size
    chroma, chroma_detail, vividness = _chroma(half)
    exposure, contrast = _mean_and_deviation(gray)
    statistics = ImageStatistics(
        width_px=rgb.shape[1],
        height_px=rgb.shape[0],
        sharpness=sharpness,
        exposure=exposure,
        clipped_dark=sums.dark / gray.size,
        clipped_bright=sums.bright / gray.size,
        contrast=contrast,
        noise=_noise(sums.response),
        blockiness=_blockiness(sums.columns, sums.rows, gray.shape),
        detail=(sharpness + _SMALL) / (coarse + _SMALL),
        specks=sums.specks / gray.size,
        tones=_tones(green),
        repeated=_repeated(sums.columns, sums.rows),
        flat=sums.flat,
        chroma=chroma,
        chroma_detail=chroma_detail,
        vividness=vividness,
    )
    return statistics, half


def _bands(width_px: int, height_px: int) -> list[tuple[int, int]]:
    """Return the rows of parts of an image that stay in a processor's cache while they are measured."""
    rows = max(CELL_PX, _BAND_PX // width_px // CELL_PX * CELL_PX)
    tops = [*range(0, max(1, height_px - CELL_PX + 1), rows), height_px]
    return list(pairwise(tops))


def _overlapping(plane: Gray) -> Iterator[tuple[tuple[int, int], Gray, slice]]:
    """Yield bands with a row more on each side, which filters need, and where their own rows are."""
    for top, end in _bands(plane.shape[1], plane.shape[0]):
        before = min(top, 1)
        yield (top, end), plane[top - before : end + 1], slice(before, before + end - top)


def _luminance_and_green(rgb: NDArray[np.uint8]) -> tuple[Gray, NDArray[np.int64]]:
    gray: Gray = np.empty(rgb.shape[:2], np.uint8)
    green = np.zeros(256, np.int64)
    for top, end in _bands(rgb.shape[1], rgb.shape[0]):
        green += luminance_and_green(rgb[top:end], gray[top:end])
    return gray, green


def _half(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    size = image.shape[1] // 2, image.shape[0] // 2
    half: NDArray[np.uint8] = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    return half


@dataclass(slots=True)
class _Sums:
    """What is summed over the pixels of an image, band by band.

    Attributes:
        energy: Squares of the Laplacian.
        dark: Pixels at black.
        bright: Pixels at white.
        specks: Pixels far from the median of their neighbours.
        response: ``(H, W)`` magnitude of the response to the noise mask, at most 255.
        columns: ``(W - 1,)`` steps to the next column.
        rows: ``(H - 1,)`` steps to the next row.
        flat: Share of cells without a step.
    """

    energy: int
    dark: int
    bright: int
    specks: int
    response: Gray
    columns: NDArray[np.int32]
    rows: NDArray[np.int32]
    flat: float

    @classmethod
    def of(cls, gray: Gray) -> _Sums:
        height, width = gray.shape
        sums = cls(0, 0, 0, 0, np.empty_like(gray), np.zeros(width - 1, np.int32), np.zeros(0, np.int32), 0.0)
        rows, moving = [], 0
        for (top, end), band, own in _overlapping(gray):
            dark, bright, specks = odd_pixels(band, own)
            sums.dark += dark
            sums.bright += bright
            sums.specks += specks
            sums.energy += laplacian_energy(band, own)
            noise_response(band, own, sums.response[top:end])
            steps, cells = step_sums(band, own, sums.columns)
            rows.append(steps)
            moving += cells
        sums.rows = np.concatenate(rows)
        sums.flat = 1.0 - moving / ((height // CELL_PX) * (width // CELL_PX))
        return sums


def _check(rgb: NDArray[np.uint8]) -> None:
    is_array = isinstance(rgb, np.ndarray)  # it comes from a user's loop
    is_rgb = is_array and rgb.dtype == np.uint8 and rgb.ndim == 3 and rgb.shape[2] == 3
    if not is_rgb or min(rgb.shape[:2]) < MIN_SIDE_PX:
        raise InputError(
            "the image cannot be measured",
            expected=f"(H, W, 3) uint8 of at least {MIN_SIDE_PX} x {MIN_SIDE_PX}",
            got=Description(f"{rgb.shape} {rgb.dtype}") if is_array else type(rgb).__name__,
        )


def _mean_and_deviation(gray: Gray) -> tuple[float, float]:
    total, squares = int(cv2.sumElems(gray)[0]), round(cv2.norm(gray, cv2.NORM_L2SQR))  # both exact
    variance = (squares * gray.size - total * total) / (gray.size * gray.size)
    return total / gray.size / 255, float(np.sqrt(variance)) / 255


def _noise(response: Gray) -> float:
    """The sum of the smaller half of the responses is the highest of these, over all limits.

    It is so at the median, which a few rows nearly give; above and below it these are less.
    """
    half = (response.size + 1) // 2
    counts = np.cumsum(histogram(response[::_GRID_PX]))
    limit = int(np.searchsorted(counts, counts[-1] / 2))

    def calm(limit: int) -> int:
        return limited_sum(response, limit) - limit * (response.size - half)

    highest = calm(limit)
    for step in (1, -1):
        while 0 <= limit + step <= 255 and (value := calm(limit + step)) > highest:
            limit, highest = limit + step, value
    return highest / half / _CALM_MEAN_PER_SIGMA


def _blockiness(columns: NDArray[np.int32], rows: NDArray[np.int32], shape: tuple[int, ...]) -> float:
    across, elsewhere, n_across, n_elsewhere = 0, 0, 0, 0
    for steps, length in ((columns, shape[0]), (rows, shape[1])):
        border = int(steps[_GRID_PX - 1 :: _GRID_PX].sum(dtype=np.int64))
        n_border = len(steps) // _GRID_PX
        across += border
        n_across += n_border * length
        elsewhere += int(steps.sum(dtype=np.int64)) - border
        n_elsewhere += (len(steps) - n_border) * length
    return (across / n_across + _SMALL) / (elsewhere / n_elsewhere + _SMALL)


def _repeated(columns: NDArray[np.int32], rows: NDArray[np.int32]) -> float:
    """A row or column is repeated where it differs from the next by under 5 % of the mean difference."""
    repeated = sum(int(np.count_nonzero(steps * 20 < steps.mean())) for steps in (columns, rows))
    return repeated / (len(columns) + len(rows))


def _tones(green: NDArray[np.int64]) -> float:
    """Green, since the weighted sum of three planes fills the gaps that a bent tone curve leaves in each."""
    roughness = int(np.abs(2 * green[1:-1] - green[:-2] - green[2:]).sum())
    return 1.0 - roughness / (4 * int(green.sum()))


def _chroma(half: NDArray[np.uint8]) -> tuple[float, float, float]:
    counts, energies, total = np.zeros(256, np.int64), [0, 0, 0], 0
    for _, band, own in _overlapping(half):
        planes = colour_planes(band)
        for channel, plane in enumerate(planes):
            energies[channel] += laplacian_energy(plane, own)
        distances, distance = colourfulness(*(plane[own] for plane in planes[1:]))
        total += distances
        counts += histogram(distance)
    size = half.shape[0] * half.shape[1]
    above = np.cumsum(counts[::-1])[::-1]  # pixels at a level or above it
    vividness = int(np.count_nonzero(above * _VIVID_IS_ONE_IN > size)) - 1
    luminance, *colours = (energy / size for energy in energies)
    return total / size, (sum(colours) + _SMALL) / (luminance + _SMALL), float(vividness)
