"""Masks of COCO: polygons, run lengths, and run lengths as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError

_SHIFT = 48
_MOST_POINTS = 100_000


def runs_of(mask: NDArray[np.bool_]) -> tuple[int, ...]:
    """Return the run lengths of a mask, column by column, the first of false pixels."""
    flat = np.concatenate([[False], mask.ravel(order="F")])
    changes = np.flatnonzero(flat[1:] != flat[:-1])
    return tuple(np.diff(np.concatenate([[0], changes, [mask.size]])).tolist())


def mask_of_runs(counts: Sequence[int], height_px: int, width_px: int) -> NDArray[np.bool_]:
    """Return the ``(H, W)`` mask of run lengths.

    Raises:
        InputError: They do not fill the picture.
    """
    runs = np.asarray(counts, np.int64)
    if (runs < 0).any() or int(runs.sum()) != height_px * width_px:
        raise InputError("run lengths of a mask do not fill its picture", expected=f"{height_px * width_px}")
    values = np.arange(len(runs)) % 2 == 1
    return np.asarray(np.repeat(values, runs).reshape((height_px, width_px), order="F"))


def counts_of_text(text: str) -> list[int]:
    """Return the run lengths of COCO's compressed form: 5 bits a character, differences from the third on.

    Raises:
        InputError: It ends within a number, or holds another character.
    """
    counts: list[int] = []
    value = shift = 0
    for character in text:
        bits = ord(character) - _SHIFT
        if not 0 <= bits < 64 or shift > 60:
            raise InputError("run lengths of a mask are damaged", got=text[:40])
        value |= (bits & 0x1F) << shift
        shift += 5
        if bits & 0x20:
            continue
        if bits & 0x10:
            value -= 1 << shift
        counts.append(value + counts[-2] if len(counts) > 2 else value)
        value = shift = 0
    if shift:
        raise InputError("run lengths of a mask are damaged", got=text[:40])
    return counts


def mask_of(segmentation: Any, height_px: int, width_px: int) -> NDArray[np.bool_]:
    """Return the ``(H, W)`` mask of a COCO segmentation: polygons, or run lengths.

    Raises:
        InputError: It has another form, or is of another size than the picture.
    """
    if isinstance(segmentation, dict):
        if segmentation.get("size") != [height_px, width_px]:
            raise InputError(
                "a mask has another size than its picture",
                expected=[height_px, width_px].__repr__(),
                got=segmentation.get("size"),
            )
        counts = segmentation.get("counts")
        if isinstance(counts, str):
            counts = counts_of_text(counts)
        if not isinstance(counts, list) or not all(type(count) is int for count in counts):
            raise InputError("a mask has no run lengths", expected="a list or text in `counts`")
        return mask_of_runs(counts, height_px, width_px)
    return _filled(segmentation, height_px, width_px)


def _filled(polygons: Any, height_px: int, width_px: int) -> NDArray[np.bool_]:
    mask = np.zeros((height_px, width_px), np.uint8)
    try:
        rings = [np.asarray(polygon, np.float64).reshape(-1, 2) for polygon in polygons]
    except (TypeError, ValueError):
        raise InputError("a polygon has another form", expected="lists of x and y") from None
    total = sum(len(ring) for ring in rings)
    if total > _MOST_POINTS or any(not np.isfinite(ring).all() for ring in rings):
        raise InputError("a polygon is not usable", expected=f"finite, at most {_MOST_POINTS} points")
    limit = 4.0 * max(height_px, width_px)
    for ring in rings:
        points = np.clip(np.floor(ring), -limit, limit).astype(np.int32)
        if len(points) >= 3:
            cv2.fillPoly(mask, [points], 1)
    return mask.astype(bool)
