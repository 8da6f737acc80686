"""Colour quantization with a palette and ordered dither."""

from __future__ import annotations

from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.imaging.distortions.image import Image, rounded

_SAMPLES_PX = 160
_CELLS = 32
_WORDS = 65536


def least_variance_palette(samples: NDArray[np.uint8], colors: int) -> Image:
    """Return ``(colors, 3)`` uint8, fewer where the image has fewer colours.

    The box of largest summed variance is split at its mean along its widest axis until there are enough
    (minimum variance quantization, Wan et al. 1990, as MATLAB's ``rgb2ind``).

    Args:
        samples: ``(N, 3)`` uint8.
        colors: Largest number of colours.
    """
    boxes = [samples.astype(np.float32)]
    spreads = [boxes[0].var(axis=0) * len(boxes[0])]
    while len(boxes) < colors:
        widest = int(np.argmax([spread.sum() for spread in spreads]))
        axis = int(np.argmax(spreads[widest]))
        if spreads[widest][axis] <= 0:
            break
        box = boxes[widest]
        above = box[:, axis] > box[:, axis].mean()
        halves = [box[~above], box[above]]
        boxes[widest : widest + 1] = halves
        spreads[widest : widest + 1] = [half.var(axis=0) * len(half) for half in halves]
    return rounded(np.array([box.mean(axis=0) for box in boxes]))


@lru_cache(maxsize=1)
def _cells() -> tuple[NDArray[np.float32], NDArray[np.uint16]]:
    """Return the centres of the 5-bit RGB cells and the word that OpenCV packs each into."""
    axis = np.arange(_CELLS, dtype=np.uint8) * np.uint8(256 // _CELLS) + np.uint8(128 // _CELLS)
    red, green, blue = np.meshgrid(axis, axis, axis, indexing="ij")
    centres = np.stack([red, green, blue], axis=-1).reshape(1, -1, 3)
    words = cv2.cvtColor(centres, cv2.COLOR_RGB2BGR555).view("<u2").reshape(-1)
    return centres.reshape(-1, 3).astype(np.float32), words


@lru_cache(maxsize=1)
def _bayer() -> NDArray[np.float32]:
    """Return the 8 x 8 matrix of Bayer's ordered dither, zero mean, in (-0.5, 0.5)."""
    matrix = np.zeros((1, 1))
    for _ in range(3):
        matrix = np.block([[4 * matrix, 4 * matrix + 2], [4 * matrix + 3, 4 * matrix + 1]])
    return ((matrix + 0.5) / matrix.size - 0.5).astype(np.float32)


def _dithered(image: Image, step: float) -> Image:
    """Add the ordered dither of peak-to-peak height ``step``, moved between channels."""
    tile = np.stack([np.roll(_bayer(), shift, axis=(0, 1)) for shift in (0, 3, 5)], axis=-1)
    height, width = image.shape[:2]
    pattern = np.rint(tile * step).astype(np.int16)
    field = np.tile(pattern, (-(-height // 8), -(-width // 8), 1))[:height, :width]
    return np.asarray(cv2.add(image, np.ascontiguousarray(field), dtype=cv2.CV_8U))


def _dither_step(palette: Image) -> float:
    """Return the mean distance of a colour to its nearest neighbour in the palette, per channel."""
    if len(palette) < 2:
        return 0.0
    difference = palette[:, None].astype(np.float32) - palette[None].astype(np.float32)
    distance = np.sqrt((difference**2).sum(axis=-1)) + np.eye(len(palette), dtype=np.float32) * 1e3
    return float(distance.min(axis=1).mean() / np.sqrt(3.0))


def quantize_colors(image: Image, colors: int) -> Image:
    """Return the image in at most ``colors`` colours, with Bayer's ordered dither."""
    scale = min(1.0, _SAMPLES_PX / min(image.shape[:2]))
    sample = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_NEAREST)
    palette = least_variance_palette(sample.reshape(-1, 3), colors)
    centres, words = _cells()
    values = palette.astype(np.float32)
    nearest = np.argmax(centres @ (2.0 * values.T) - (values**2).sum(axis=1), axis=1)
    table = np.zeros((1, _WORDS, 3), np.uint8)
    table[0, words] = palette[nearest]
    packed = cv2.cvtColor(_dithered(image, _dither_step(palette)), cv2.COLOR_RGB2BGR555).view("<u2")
    plane = packed.reshape(image.shape[:2])
    return np.asarray(cv2.LUT(cv2.merge([plane, plane, plane]), table))
