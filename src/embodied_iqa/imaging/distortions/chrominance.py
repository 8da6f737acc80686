"""Chrominance: diffusion (04), shift (05), quantization (06), HSV saturation (07), Lab saturation (08)."""

from __future__ import annotations

import math
from functools import lru_cache

import cv2
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from embodied_iqa.imaging.distortions.entry import DistortionClass, calibrated, kadid
from embodied_iqa.imaging.distortions.image import FloatImage, Image, lab_of, rgb_of_lab, rounded

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


_EDGE_BLUR_PX = 4.0
_COARSE = 4
_COARSE_FROM_PX = 8.0


def _blur_plane(plane: FloatImage, sigma_px: float) -> FloatImage:
    """Blur with a Gaussian; wide ones at a quarter of the resolution, where no detail is lost."""
    if sigma_px < _COARSE_FROM_PX or min(plane.shape[:2]) < 16 * _COARSE:
        return np.asarray(cv2.GaussianBlur(plane, (0, 0), sigma_px, borderType=cv2.BORDER_REFLECT))
    height, width = plane.shape[:2]
    small = cv2.resize(plane, (width // _COARSE, height // _COARSE), interpolation=cv2.INTER_AREA)
    small = cv2.GaussianBlur(small, (0, 0), sigma_px / _COARSE, borderType=cv2.BORDER_REFLECT)
    return np.asarray(cv2.resize(small, (width, height), interpolation=cv2.INTER_LINEAR))


def color_diffusion(image: Image, _: Generator, amount: float) -> Image:
    """Blur Lab's a and b with a Gaussian of ``1.5 amount + 2`` px and multiply them by ``amount``."""
    lab = lab_of(image)
    for channel in (1, 2):
        spread = _blur_plane(np.asarray(cv2.extractChannel(lab, channel)), 1.5 * amount + 2.0)
        cv2.insertChannel(np.multiply(spread, np.float32(amount), out=spread), lab, channel)
    return rgb_of_lab(lab)


def edge_mask(image: Image) -> FloatImage:
    """Return the blurred gradient magnitude, its 1st and 99th percentile mapped to 0 and 1."""
    gray = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    dx, dy = (cv2.Sobel(gray, cv2.CV_32F, x, 1 - x, ksize=1, scale=0.5) for x in (1, 0))
    # not `cv2.magnitude`, which rounds differently from one address to another
    slope = np.sqrt(dx * dx + dy * dy)
    edges = cv2.GaussianBlur(slope, (0, 0), _EDGE_BLUR_PX, borderType=cv2.BORDER_REFLECT)
    step = max(1, min(edges.shape) // 128)
    low, high = np.percentile(edges[::step, ::step], (1, 99))
    if high <= low:
        return np.zeros_like(edges)
    mask: FloatImage = np.clip((edges - np.float32(low)) * np.float32(1.0 / (high - low)), 0, 1)
    return mask


def color_shift(image: Image, rng: Generator, distance_px: float) -> Image:
    """Move the green plane by ``distance_px`` down and to the right at a random angle, near edges only."""
    angle = rng.uniform(0.0, math.pi / 2)
    down, right = round(distance_px * math.sin(angle)), round(distance_px * math.cos(angle))
    red, green, blue = cv2.split(image)
    padded = cv2.copyMakeBorder(green, down, 0, right, 0, cv2.BORDER_REFLECT)
    moved = padded[: green.shape[0], : green.shape[1]]
    mask = edge_mask(image)
    change = cv2.multiply(cv2.subtract(moved, green, dtype=cv2.CV_32F), mask)
    return np.asarray(cv2.merge([red, cv2.add(green, change, dtype=cv2.CV_8U), blue]))


def color_quantization(image: Image, _: Generator, colors: float) -> Image:
    """Reduce to a palette of ``colors`` colours of least variance, with dither."""
    return quantize_colors(image, round(colors))


def hsv_saturation(image: Image, _: Generator, factor: float) -> Image:
    """Multiply the saturation of HSV; a negative factor inverts the hue.

    With hue and value held, ``c = V - S V k(H)`` is linear in S, so a channel becomes ``V - factor (V - c)``.
    """
    red, green, blue = cv2.split(image)
    value = cv2.max(cv2.max(red, green), blue)
    gray = cv2.cvtColor(value, cv2.COLOR_GRAY2RGB)
    return np.asarray(cv2.addWeighted(image, factor, gray, 1.0 - factor, 0.0))


def lab_saturation(image: Image, _: Generator, factor: float) -> Image:
    """Multiply Lab's a and b."""
    lab = lab_of(image)
    return rgb_of_lab(cv2.multiply(lab, (1.0, factor, factor, 1.0)))


_CHROMINANCE = DistortionClass.CHROMINANCE
ENTRIES = (
    kadid(
        "04",
        _CHROMINANCE,
        color_diffusion,
        "factor of Lab a, b; blur sigma is 1.5 x amount + 2 px",
        amount=(1, 3, 6, 8, 12),
    ),
    kadid("05", _CHROMINANCE, color_shift, "px", distance=(1, 3, 6, 8, 12), coherent=True),
    kadid(
        "06",
        _CHROMINANCE,
        color_quantization,
        "colours",
        "ordered dither; KADID-10k's error diffusion runs pixel after pixel",
        colors=(64, 48, 32, 16, 8),
    ),
    kadid("07", _CHROMINANCE, hsv_saturation, "factor of HSV saturation", factor=(0.4, 0.2, 0.1, 0.0, -0.4)),
    calibrated(
        "08",
        _CHROMINANCE,
        lab_saturation,
        "factor",
        "factor of Lab a, b",
        "KADID-10k: 1, 2, 3, 6, 9; its level 1 is an identity",
    ),
)
