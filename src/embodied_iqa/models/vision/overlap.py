"""Overlap of boxes and masks: intersection over union (IoU)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError


def box_overlap(
    predicted_px: NDArray[np.float64], true_px: NDArray[np.float64], crowd: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the IoU of boxes.

    Args:
        predicted_px: ``(P, 4)`` left, top, right, bottom.
        true_px: ``(T, 4)``.
        crowd: ``(T,)``: with these the intersection is divided by the area of the prediction.

    Returns:
        ``(P, T)`` in [0, 1]; 0 for a box without area.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        low = np.maximum(predicted_px[:, None, :2], true_px[:, :2])
        size = (np.minimum(predicted_px[:, None, 2:], true_px[:, 2:]) - low).clip(0.0)
        shared = size[..., 0] * size[..., 1]
        return _ratio(shared, _areas(predicted_px), _areas(true_px), crowd)


def mask_overlap(
    predicted: NDArray[np.bool_], true: NDArray[np.bool_], crowd: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the IoU of masks.

    Args:
        predicted: ``(P, H, W)``.
        true: ``(T, H, W)``.
        crowd: ``(T,)``: with these the intersection is divided by the area of the prediction.

    Returns:
        ``(P, T)`` in [0, 1]; 0 for an empty mask.

    Raises:
        InputError: The masks differ in size.
    """
    if predicted.shape[1:] != true.shape[1:]:
        size = "{1} x {0}".format
        raise InputError(
            "masks differ in size", expected=size(*true.shape[1:]), got=size(*predicted.shape[1:])
        )
    left, right = _packed(predicted), _packed(true)
    shared = np.stack([_number_of_bits(left & row) for row in right], axis=1)
    return _ratio(shared, _number_of_bits(left), _number_of_bits(right), crowd)


def _areas(boxes_px: NDArray[np.float64]) -> NDArray[np.float64]:
    return (boxes_px[:, 2] - boxes_px[:, 0]) * (boxes_px[:, 3] - boxes_px[:, 1])


def _ratio(
    shared: NDArray[np.float64],
    predicted: NDArray[np.float64],
    true: NDArray[np.float64],
    crowd: NDArray[np.bool_],
) -> NDArray[np.float64]:
    whole = np.where(crowd, predicted[:, None], predicted[:, None] + true - shared)
    ratio = np.divide(shared, whole, out=np.zeros_like(shared), where=(shared > 0) & (whole > 0))
    return np.asarray(np.where(np.isfinite(ratio), ratio, 0.0))


def _packed(masks: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Return ``(N, words)``: 64 pixels a word."""
    octets = np.packbits(masks.reshape(len(masks), -1), axis=1)
    missing = -octets.shape[1] % 8
    if missing:
        octets = np.pad(octets, ((0, 0), (0, missing)))
    return octets.view(np.uint64)


def _number_of_bits(words: NDArray[np.uint64]) -> NDArray[np.float64]:
    return np.asarray(np.bitwise_count(words).sum(axis=1, dtype=np.uint32), np.float64)
