"""Fifteen fast no-reference statistics of an image.

Everything up to the last division is whole-number arithmetic on uint8 and int16 images, so that the numbers
are the same bit for bit for every number of threads, live and offline. None of them is a quality by itself: a
calibration (:mod:`embodied_iqa.quality.gate.calibration`) holds the ordinary range of a camera.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError

try:
    import cv2
except ModuleNotFoundError:  # the light install
    from embodied_iqa.quality.gate import portable_opencv as cv2  # type: ignore[no-redef]

STATISTICS_VERSION: Final = "2"
"""Changes whenever a number can change; calibrations of another version are refused."""

MIN_SIDE_PX: Final = 16
_BLACK, _WHITE = 1, 254
_GRID_PX: Final = 8
_CELL_PX: Final = 16
_SPECK_GRAY: Final = 24
_VIVID_IS_ONE_IN: Final = 200
_CALM_MEAN_PER_SIGMA: Final = 6.0 * 0.32466
"""Mean of ``|x| / sigma`` over its lower half for a Gaussian, times the norm of the noise mask."""
_SMALL: Final = 0.01
"""Gray levels added above and below a ratio, so that a uniform image has ratio 1."""

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
    """The statistics of one image; luminance is ITU-R BT.601 luma in gray levels 0 to 255.

    Attributes:
        width_px: Of the image.
        height_px: Of the image.
        sharpness: Energy of fine detail: mean square of the Laplacian of luminance (gray levels squared).
            Higher is sharper, and noisier.
        exposure: Mean luminance, in [0, 1].
        clipped_dark: Share of pixels at black (luminance 0 or 1), in [0, 1].
        clipped_bright: Share of pixels at white (luminance 254 or 255), in [0, 1].
        contrast: Standard deviation of luminance, in [0, 0.5] (1 is the full range).
        noise: Standard deviation of noise (gray levels), from the calmer half of the responses to the mask
            ``(1 -2 1; -2 4 -2; 1 -2 1)`` (Immerkaer 1996, with the mean over all pixels replaced by the mean
            over the lower half, which edges and texture hardly reach).
        blockiness: Mean luminance step across the borders of the 8 x 8 grid over the mean step elsewhere; 1
            is none.
        detail: Laplacian energy at full over that at half resolution. Independent of how much there is to
            see: blur lowers it, noise and sharpening raise it.
        specks: Share of pixels further than 24 gray levels from the median of their 3 x 3 neighbours.
        tones: How evenly neighbouring levels of green are used, in [0, 1]: 1 minus a quarter of the second
            differences of the histogram. Quantised and bent tones leave gaps and peaks, which lower it.
        repeated: Share of rows and columns (nearly) equal to their neighbour, in [0, 1]: pixelation.
        flat: Share of 16 x 16 cells of the grid within which luminance does not change at all, in [0, 1].
        chroma: Mean distance of Cr and Cb from neutral, summed (gray levels).
        chroma_detail: Energy of fine detail of Cr and Cb, summed, over that of luminance, at half resolution.
            Shifted colour planes and colour noise raise it, smeared colours lower it.
        vividness: Distance of Cr and Cb from neutral, summed, that more than 0.5 % of the pixels reach, at
            half resolution (gray levels, at most 255). Unlike the mean it is that of the most colourful
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
    _check(rgb)
    gray: Gray = cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY)
    half: Gray = cv2.resize(gray, (gray.shape[1] // 2, gray.shape[0] // 2), interpolation=cv2.INTER_AREA)
    sharpness = _laplacian_energy(gray)
    steps_x: Gray = cv2.absdiff(gray[:, 1:], gray[:, :-1])
    steps_y: Gray = cv2.absdiff(gray[1:], gray[:-1])
    columns, rows = _sums(steps_x, axis=0), _sums(steps_y, axis=1)
    chroma, chroma_detail, vividness = _chroma(rgb)
    exposure, contrast = _mean_and_deviation(gray)
    return ImageStatistics(
        width_px=rgb.shape[1],
        height_px=rgb.shape[0],
        sharpness=sharpness,
        exposure=exposure,
        clipped_dark=int(np.count_nonzero(gray <= _BLACK)) / gray.size,
        clipped_bright=int(np.count_nonzero(gray >= _WHITE)) / gray.size,
        contrast=contrast,
        noise=_noise(gray),
        blockiness=_blockiness(columns, rows, gray.shape),
        detail=(sharpness + _SMALL) / (_laplacian_energy(half) + _SMALL),
        specks=_specks(gray),
        tones=_tones(rgb),
        repeated=_repeated(columns, rows),
        flat=_flat(steps_x, steps_y),
        chroma=chroma,
        chroma_detail=chroma_detail,
        vividness=vividness,
    )


def _check(rgb: NDArray[np.uint8]) -> None:
    if rgb.dtype != np.uint8 or rgb.ndim != 3 or rgb.shape[2] != 3 or min(rgb.shape[:2]) < MIN_SIDE_PX:
        raise InputError(
            "cannot measure this image",
            expected=f"(H, W, 3) uint8 of at least {MIN_SIDE_PX} x {MIN_SIDE_PX}",
            got=f"{rgb.shape} {rgb.dtype}",
        )


def _histogram(image: Gray, channel: int) -> NDArray[np.int64]:
    counts: NDArray[np.float32] = cv2.calcHist([image], [channel], None, [256], [0, 256])
    return counts.ravel().astype(np.int64)


def _mean_and_deviation(gray: Gray) -> tuple[float, float]:
    total, squares = int(cv2.sumElems(gray)[0]), round(cv2.norm(gray, cv2.NORM_L2SQR))  # both exact
    variance = (squares * gray.size - total * total) / (gray.size * gray.size)
    return total / gray.size / 255, float(np.sqrt(variance)) / 255


def _sums(steps: Gray, *, axis: int) -> NDArray[np.int32]:
    sums: NDArray[np.int32] = cv2.reduce(steps, axis, cv2.REDUCE_SUM, dtype=cv2.CV_32S)
    return sums.ravel()


def _laplacian_energy(image: Gray) -> float:
    laplacian = cv2.Laplacian(image, cv2.CV_16S)
    return float(cv2.norm(laplacian, cv2.NORM_L2SQR)) / image.size


def _noise(gray: Gray) -> float:
    response: Gray = cv2.convertScaleAbs(cv2.Sobel(gray, cv2.CV_16S, 2, 2, ksize=3))
    counts = _histogram(response, 0)
    half = (gray.size + 1) // 2
    before = np.minimum(np.concatenate([[0], np.cumsum(counts)]), half)
    calm = np.diff(before)  # the counts of the smallest half of the responses
    return int(calm @ np.arange(256)) / half / _CALM_MEAN_PER_SIGMA


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


def _specks(gray: Gray) -> float:
    far = cv2.absdiff(gray, cv2.medianBlur(gray, 3)) > _SPECK_GRAY
    return int(np.count_nonzero(far)) / gray.size


def _tones(rgb: NDArray[np.uint8]) -> float:
    """Green, since the weighted sum of three planes fills the gaps that a bent tone curve leaves in each."""
    green = _histogram(rgb, 1)
    roughness = int(np.abs(2 * green[1:-1] - green[:-2] - green[2:]).sum())
    return 1.0 - roughness / (4 * int(green.sum()))


def _flat(steps_x: Gray, steps_y: Gray) -> float:
    """A cell is flat where no step between two of its pixels differs from 0."""
    height, width = steps_x.shape[0] // _CELL_PX, (steps_x.shape[1] + 1) // _CELL_PX
    moving: Gray = np.zeros((height * _CELL_PX, width * _CELL_PX), np.uint8)
    moving[:, :-1] = steps_x[: moving.shape[0], : moving.shape[1] - 1]
    moving[:, _CELL_PX - 1 :: _CELL_PX] = 0  # across the cell's border
    inside_y = steps_y[: moving.shape[0] - 1, : moving.shape[1]].copy()
    inside_y[_CELL_PX - 1 :: _CELL_PX] = 0
    moving[:-1] |= inside_y
    by_columns = np.bitwise_or.reduce(moving.reshape(height, _CELL_PX, -1), axis=1)
    cells = by_columns.reshape(height, width, _CELL_PX).any(axis=2)
    return float(1.0 - cells.mean())


def _chroma(rgb: NDArray[np.uint8]) -> tuple[float, float, float]:
    half = cv2.resize(rgb, (rgb.shape[1] // 2, rgb.shape[0] // 2), interpolation=cv2.INTER_AREA)
    luminance, *colours = cv2.split(cv2.cvtColor(half, cv2.COLOR_RGB2YCrCb))
    neutral = np.full_like(luminance, 128)
    distances = [cv2.absdiff(plane, neutral) for plane in colours]
    chroma = sum(float(cv2.norm(distance, cv2.NORM_L1)) for distance in distances) / luminance.size
    detail = sum(_laplacian_energy(plane) for plane in colours)
    above = np.cumsum(_histogram(cv2.add(*distances), 0)[::-1])[::-1]  # pixels at a level or above it
    vividness = int(np.count_nonzero(above * _VIVID_IS_ONE_IN > luminance.size)) - 1
    return chroma, (detail + _SMALL) / (_laplacian_energy(luminance) + _SMALL), float(vividness)
