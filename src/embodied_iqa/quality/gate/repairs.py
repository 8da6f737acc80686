"""Fast repairs of an image with OpenCV; which one serves, and how strong it is, follows from its faults.

Whole-number and table arithmetic with fixed patterns: the same image and faults give the same repaired
image. A repair restores no lost information, so that only the judge says whether its image may be used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.lazy import INSTALL_DATA, Later
from embodied_iqa.quality.gate.bounds import Fault
from embodied_iqa.quality.gate.image_statistics import Statistic

cv2: Any = Later("cv2", INSTALL_DATA)

Image = NDArray[np.uint8]
_Faults: TypeAlias = Mapping[Statistic, Fault]

_MOST_GAIN: Final = 4.0
_PARTS: Final = 16
"""Of a grey level, while tones are stretched."""
_BLOCK_STEP: Final = 40
"""A larger step across the 8 x 8 grid is an edge of the scene [grey levels]."""
_THRESHOLD_PER_SIGMA: Final = 1.5
_NEUTRAL: Final = 128


class Repair(StrEnum):
    """A repair of an image, in the order in which they are tried."""

    EXPOSURE = "exposure"
    """Gain and offset of all tones, with dither against gaps between them."""
    WHITE_BALANCE = "white_balance"
    """Shift of Cr and Cb to a neutral median, and their gain."""
    DENOISE = "denoise"
    """Median against specks; small detail below the noise is removed; smoother colours if noisy."""
    DEBLOCK = "deblock"
    """Smoother steps across the 8 x 8 grid."""
    SHARPEN = "sharpen"
    """Unsharp mask."""


_SIGNS: Final[dict[Repair, frozenset[tuple[Statistic, bool]]]] = {
    Repair.EXPOSURE: frozenset(
        (statistic, low) for statistic in (Statistic.EXPOSURE, Statistic.CONTRAST) for low in (True, False)
    ),
    Repair.WHITE_BALANCE: frozenset(
        (statistic, low) for statistic in (Statistic.CHROMA, Statistic.VIVIDNESS) for low in (True, False)
    ),
    Repair.DENOISE: frozenset({(Statistic.NOISE, False), (Statistic.SPECKS, False)}),
    Repair.DEBLOCK: frozenset({(Statistic.BLOCKINESS, False)}),
    Repair.SHARPEN: frozenset(
        (statistic, True) for statistic in (Statistic.SHARPNESS, Statistic.DETAIL, Statistic.NOISE)
    ),
}
"""Statistics that each repair answers, and whether below (True) or above their ordinary range."""

_LOST: Final = frozenset(
    {Statistic.CLIPPED_DARK, Statistic.CLIPPED_BRIGHT, Statistic.FLAT, Statistic.REPEATED}
)
"""What is out here is lost: a repair could only hide it from the judge."""


def next_repair(faults: Sequence[Fault], allowed: Sequence[Repair]) -> Repair | None:
    """Return the repair to try, or None.

    Args:
        faults: Statistics that are out of their ordinary range.
        allowed: Repairs that may be tried.

    Returns:
        The first in the order of `Repair` that answers a fault. None where none does, or where a fault says
        that parts of the image are lost.
    """
    if any(fault.statistic in _LOST for fault in faults):
        return None
    signs = {(fault.statistic, fault.is_low) for fault in faults}
    return next((repair for repair in Repair if repair in allowed and _SIGNS[repair] & signs), None)


def apply_repair(repair: Repair, rgb: Image, faults: Sequence[Fault]) -> Image:
    """Return a repaired image.

    Args:
        repair: Which repair.
        rgb: ``(H, W, 3)`` uint8, red first. Never changed.
        faults: Of this image; the repair aims at the middle of the ordinary ranges.

    Returns:
        ``(H, W, 3)`` uint8, a new array.
    """
    return _REPAIRS[repair](rgb, {fault.statistic: fault for fault in faults})


def _exposure(rgb: Image, faults: _Faults) -> Image:
    mean, exposure = float(cv2.mean(cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY))[0]), faults.get(Statistic.EXPOSURE)
    target = mean if exposure is None else 255 * exposure.target
    contrast = faults.get(Statistic.CONTRAST)
    gain = _bounded(target / max(mean, 1.0) if contrast is None else contrast.gain)
    levels = (np.arange(256) - mean) * gain + target
    half = gain / 2 if gain > 1 else 0.0  # the tones between two stretched ones
    tones = np.clip((levels + half) * _PARTS, 0, 65535).round().astype(np.uint16)
    dither = (np.arange(256) / 255 * 2 * half * _PARTS).round().astype(np.uint16)
    stretched = cv2.LUT(rgb, tones)
    if half:
        stretched = cv2.subtract(stretched, cv2.LUT(_pattern(rgb.shape[0], rgb.shape[1]), dither))
    return np.asarray(cv2.convertScaleAbs(stretched, alpha=1 / _PARTS), np.uint8)


@lru_cache(maxsize=4)
def _pattern(height: int, width: int) -> Image:
    """Return ``(H, W, 3)`` uniform noise, equal in the three colours."""
    plane = np.random.default_rng(0).integers(0, 256, (height, width, 1), dtype=np.uint8)
    pattern = np.repeat(plane, 3, axis=2)
    pattern.setflags(write=False)
    return pattern


def _white_balance(rgb: Image, faults: _Faults) -> Image:
    colours = cv2.cvtColor(rgb, cv2.COLOR_RGB2YCrCb)
    fault = faults.get(Statistic.CHROMA) or faults[Statistic.VIVIDNESS]
    histograms = [cv2.calcHist([colours], [channel], None, [256], [0, 256]).ravel() for channel in (1, 2)]
    middles = [_NEUTRAL if fault.is_low else _median(counts) for counts in histograms]
    gain = fault.gain
    if not fault.is_low and fault.statistic is Statistic.CHROMA:  # without the cast it may be right
        levels = np.arange(256)
        left = sum(
            float(counts @ np.abs(levels - middle)) / (rgb.shape[0] * rgb.shape[1])
            for counts, middle in zip(histograms, middles, strict=True)
        )
        gain = 1.0 if left <= fault.high else fault.target / left
    table = np.tile(np.arange(256.0)[:, None], 3)
    for channel, middle in enumerate(middles, start=1):
        table[:, channel] = _NEUTRAL + (table[:, channel] - middle) * _bounded(gain)
    balanced = cv2.LUT(colours, np.clip(table, 0, 255).round().astype(np.uint8)[:, None, :])
    return np.asarray(cv2.cvtColor(balanced, cv2.COLOR_YCrCb2RGB), np.uint8)


def _median(counts: NDArray[np.float32]) -> int:
    return int(np.searchsorted(np.cumsum(counts), counts.sum() / 2))


def _denoise(rgb: Image, faults: _Faults) -> Image:
    if Statistic.SPECKS in faults:
        rgb = np.asarray(cv2.medianBlur(rgb, 3), np.uint8)
    if noise := faults.get(Statistic.NOISE):
        sigma = math.sqrt(max(noise.value**2 - noise.target**2, 0.0))
        rgb = _without_small_detail(rgb, _THRESHOLD_PER_SIGMA * sigma)
    if Statistic.CHROMA_DETAIL in faults:
        luminance, *colours = cv2.split(cv2.cvtColor(rgb, cv2.COLOR_RGB2YCrCb))
        smooth = [_coarser(plane) for plane in colours]
        rgb = np.asarray(cv2.cvtColor(cv2.merge([luminance, *smooth]), cv2.COLOR_YCrCb2RGB), np.uint8)
    return rgb


def _coarser(plane: Image) -> Image:
    height, width = plane.shape
    small = cv2.resize(plane, (width // 3, height // 3), interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.resize(small, (width, height), interpolation=cv2.INTER_LINEAR), np.uint8)


def _without_small_detail(rgb: Image, threshold: float) -> Image:
    """Remove from the fine detail what is below a threshold, and as much from the rest."""
    smooth = cv2.GaussianBlur(rgb, (5, 5), 0)
    left = np.clip(np.arange(256) - threshold, 0, 255).round().astype(np.uint8)
    above = cv2.LUT(cv2.subtract(rgb, smooth), left)
    below = cv2.LUT(cv2.subtract(smooth, rgb), left)
    return np.asarray(cv2.subtract(cv2.add(smooth, above), below), np.uint8)


def _with_detail(rgb: Image, gain: float) -> Image:
    """Multiply the fine detail by a gain."""
    smooth = cv2.GaussianBlur(rgb, (5, 5), 1.5)
    return np.asarray(cv2.addWeighted(rgb, gain, smooth, 1 - gain, 0), np.uint8)


def _deblock(rgb: Image, _faults: _Faults) -> Image:
    smooth = rgb.copy()
    _smooth_borders(smooth)
    turned = np.asarray(cv2.transpose(smooth), np.uint8)  # rows are contiguous, columns are slow
    _smooth_borders(turned)
    return np.asarray(cv2.transpose(turned), np.uint8)


def _smooth_borders(image: Image) -> None:
    """Replace the step between the rows 8 k - 1 and 8 k by a ramp over four rows, in place."""
    n_borders = (image.shape[0] - 2) // 8
    rows = [image[place : place + 8 * n_borders : 8] for place in (6, 7, 8, 9)]
    step = rows[2].astype(np.int16) - rows[1]
    step[np.abs(step) > _BLOCK_STEP] = 0
    for row, eighths in zip(rows, (1, 3, -3, -1), strict=True):
        row[:] = np.clip(row + ((step * eighths) >> 3), 0, 255)


def _sharpen(rgb: Image, faults: _Faults) -> Image:
    found = [faults[s] for s in (Statistic.DETAIL, Statistic.SHARPNESS, Statistic.NOISE) if s in faults]
    fault = next(fault for fault in found if fault.is_low)
    gain = fault.gain if fault.statistic is Statistic.NOISE else math.sqrt(fault.gain)
    return _with_detail(rgb, _bounded(gain))


def _bounded(gain: float) -> float:
    return min(max(gain, 1 / _MOST_GAIN), _MOST_GAIN)


_REPAIRS: Final[dict[Repair, Callable[[Image, _Faults], Image]]] = {
    Repair.EXPOSURE: _exposure,
    Repair.WHITE_BALANCE: _white_balance,
    Repair.DENOISE: _denoise,
    Repair.DEBLOCK: _deblock,
    Repair.SHARPEN: _sharpen,
}
