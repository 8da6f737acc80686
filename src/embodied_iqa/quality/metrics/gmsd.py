"""Gradient magnitude similarity deviation (Xue, Zhang, Mou & Bovik 2014)."""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.quality.metrics.input_checks import check_pair
from embodied_iqa.quality.metrics.last_image import LastImage
from embodied_iqa.quality.metrics.maps import Map, length, luma_of, similarity

_C = 170.0
_PREWITT = np.array([[1, 0, -1], [1, 0, -1], [1, 0, -1]], np.float32) / 3


def _half(values: Map) -> Map:
    """Return the means of 2 x 2 values."""
    height, width = (side // 2 * 2 for side in values.shape[:2])
    even = values[:height, :width]
    half: Map = (even[::2, ::2] + even[1::2, ::2] + even[::2, 1::2] + even[1::2, 1::2]) * np.float32(0.25)
    return half


def _even(values: Map) -> Map:
    """Return a map with a row or column of zeros behind an odd side."""
    height, width = values.shape[:2]
    even: Map = cv2.copyMakeBorder(values, 0, height % 2, 0, width % 2, cv2.BORDER_CONSTANT, value=0)
    return even


def _gradient_magnitude(values: Map, border: int) -> Map:
    """Return Prewitt's gradient magnitude of each channel."""
    dx, dy = (cv2.filter2D(values, -1, kernel, borderType=border) for kernel in (_PREWITT, _PREWITT.T.copy()))
    return length(dx, dy)


def _gradient_of_luma(image: NDArray[np.uint8]) -> Map:
    return _gradient_magnitude(_half(_even(luma_of(image))), cv2.BORDER_CONSTANT)


def _gradient_of_channels(image: NDArray[np.uint8]) -> Map:
    return _gradient_magnitude(_half(image.astype(np.float32)), cv2.BORDER_DEFAULT)[1:-1, 1:-1]


_luma_of_reference: Final = LastImage(_gradient_of_luma)
_channels_of_reference: Final = LastImage(_gradient_of_channels)


def gmsd(reference: NDArray[np.uint8], distorted: NDArray[np.uint8]) -> float:
    """Return the standard deviation of the gradient magnitude similarity of the luma at half the resolution.

    ``GMS = (2 m_r m_d + c) / (m_r^2 + m_d^2 + c)``, ``c = 170``; beyond the border everything is 0.

    Args:
        reference: ``(H, W, 3)`` uint8 RGB, at least 8 x 8.
        distorted: The same shape.

    Returns:
        0 for equal images, about 0.35 for the worst; lower is better.

    Raises:
        InputError: Another type, shape or size.
    """
    check_pair(reference, distorted, 8)
    m_r, m_d = _luma_of_reference(reference), _gradient_of_luma(distorted)
    return float(similarity(m_r, m_d, _C).std(dtype=np.float64))


def gmsd_colour(reference: NDArray[np.uint8], distorted: NDArray[np.uint8]) -> float:
    """Return the deviation of each channel inside the border, averaged: a change of colour alone counts too.

    Args:
        reference: ``(H, W, 3)`` uint8 RGB, at least 8 x 8.
        distorted: The same shape.

    Returns:
        0 for equal images, about 0.35 for the worst; lower is better.

    Raises:
        InputError: Another type, shape or size.
    """
    check_pair(reference, distorted, 8)
    m_r, m_d = _channels_of_reference(reference), _gradient_of_channels(distorted)
    return float(similarity(m_r, m_d, _C).std(axis=(0, 1), dtype=np.float64).mean())
