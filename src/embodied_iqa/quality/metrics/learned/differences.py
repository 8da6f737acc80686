"""Differences of an image from its reference at the policy's input size: input of ``embodied-fr``."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.quality.metrics.learned.input_statistics import (
    Small,
    Vector,
    cell_means,
    gradient,
    image_statistics,
    percentiles,
    small_image,
)

DIFFERENCES_VERSION: Final = "1"
"""Changes whenever a number can change."""
_SCALES: Final = 3
_WINDOW_PX: Final = 7
_C1, _C2 = (0.01 * 255.0) ** 2, (0.03 * 255.0) ** 2
_C_EDGE: Final = 10.0
_SMALL: Final = 1e-3
_LEVELS: Final = (1, 10, 50)

Plane = NDArray[np.float32]


def image_differences(distorted: NDArray[np.uint8], reference: NDArray[np.uint8]) -> Vector:
    """Return ``(D,)`` float32, finite.

    Errors by pixel, by cell and where the reference is colourful; similarity of structure and edges at three
    scales; the shift between the two; what the statistics of `embodied-nr` changed by.

    Args:
        distorted: ``(H, W, 3)`` uint8.
        reference: The same shape.
    """
    seen, wanted = small_image(distorted), small_image(reference)
    grays = [cv2.cvtColor(one, cv2.COLOR_RGB2GRAY).astype(np.float32) for one in (seen, wanted)]
    parts = [_errors(seen, wanted), _after_fit(*grays), _shift(*grays)]
    for _ in range(_SCALES):
        parts += [_similarity(*grays), _edge_similarity(*grays)]
        size = grays[0].shape[1] // 2, grays[0].shape[0] // 2
        grays = [cv2.resize(gray, size, interpolation=cv2.INTER_AREA) for gray in grays]
    change = image_statistics(seen) - _statistics_of(wanted.tobytes(), wanted.shape)
    return np.concatenate([*parts, change]).astype(np.float32)


@lru_cache(maxsize=4)
def _statistics_of(content: bytes, shape: tuple[int, ...]) -> Vector:
    """Return the statistics of a reference, which usually has several distorted images in turn."""
    return image_statistics(np.frombuffer(content, np.uint8).reshape(shape))


def _errors(seen: Small, wanted: Small) -> Vector:
    """Root mean squares of the error: in all, by channel, by cell, and where the reference is colourful."""
    error = seen.astype(np.float32) - wanted.astype(np.float32)
    squares = (error * error).mean(axis=2)
    by_cell = np.sqrt(cell_means(squares))
    saturation = cv2.cvtColor(wanted, cv2.COLOR_RGB2HSV)[..., 1].astype(np.float32)
    vivid = saturation * saturation
    edges = gradient(cv2.cvtColor(wanted, cv2.COLOR_RGB2GRAY).astype(np.float32))
    weighted = [float((weight * squares).sum() / (weight.sum() + _SMALL)) for weight in (vivid, edges)]
    roots = np.sqrt([float(squares.mean()), *weighted, *(error * error).mean(axis=(0, 1))])
    values = [roots, by_cell, np.sort(by_cell)[::4], np.sqrt(percentiles(squares))]
    signed = [error.mean(axis=(0, 1)), [float((vivid[..., None] * error).sum() / (vivid.sum() + _SMALL))]]
    return np.concatenate([np.log1p(np.concatenate(values)), *signed]).astype(np.float32)


def _after_fit(seen: Plane, wanted: Plane) -> Vector:
    """Correlation, gain and offset of luminance, and the error that they do not explain."""
    a, b = seen.ravel() - seen.mean(), wanted.ravel() - wanted.mean()
    gain = float(a @ b / (b @ b + _SMALL))
    rest = a - gain * b
    alike = float(a @ b / np.sqrt((a @ a) * (b @ b) + _SMALL))
    error = np.log1p(float(np.sqrt(rest @ rest / rest.size)))
    return np.array([alike, gain, float(seen.mean() - wanted.mean()), error], np.float32)


def _shift(seen: Plane, wanted: Plane) -> Vector:
    """Shift between the images by phase correlation (pixels), and how clear it is."""
    (x, y), clear = cv2.phaseCorrelate(wanted, seen)
    return np.nan_to_num(np.array([np.log1p(np.hypot(x, y)), clear], np.float32))


def _similarity(seen: Plane, wanted: Plane) -> Vector:
    """Luminance, contrast and structure as in SSIM: mean and low percentiles."""

    def mean(values: Plane) -> Plane:
        blurred: Plane = cv2.blur(values, (_WINDOW_PX, _WINDOW_PX))
        return blurred

    a, b = mean(seen), mean(wanted)
    variance_a, variance_b = mean(seen * seen) - a * a, mean(wanted * wanted) - b * b
    covariance = mean(seen * wanted) - a * b
    light = (2 * a * b + _C1) / (a * a + b * b + _C1)
    contrast = (2 * covariance + _C2) / (variance_a + variance_b + _C2)
    energy = np.log((variance_a.mean() + 1.0) / (variance_b.mean() + 1.0))
    return np.concatenate([_low(light), _low(contrast), [energy]]).astype(np.float32)


def _edge_similarity(seen: Plane, wanted: Plane) -> Vector:
    """Gradient similarity, its deviation (as GMSD), and the lost and the added edges."""
    a, b = gradient(seen), gradient(wanted)
    alike = (2 * a * b + _C_EDGE) / (a * a + b * b + _C_EDGE)
    change = a - b
    scale = float(b.mean()) + 1.0
    lost, added = (float(np.maximum(sign * change, 0).mean()) / scale for sign in (-1, 1))
    return np.concatenate([_low(alike), [float(alike.std()), np.log1p(lost), np.log1p(added)]]).astype(
        np.float32
    )


def _low(values: Plane | NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean and low percentiles."""
    flat = values.ravel()
    places = [round(level / 100 * (flat.size - 1)) for level in _LEVELS]
    return np.array([flat.mean(), *np.partition(flat, places)[places]], np.float64)
