"""Masks of COCO: polygons, run lengths, and run lengths as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError

_SHIFT = 48
_MOST_POINTS = 100_000
_FINER = 5
_MOST_BORDER = 1 << 26
"""Longest border of a ring, on the finer grid: some seconds of work."""
_PART = 1 << 18
"""So many points of a border are held at a time."""


def runs_of(mask: NDArray[np.bool_]) -> tuple[int, ...]:
    """Return the run lengths of a mask, column by column, the first of false pixels."""
    flat = np.concatenate([[False], mask.ravel(order="F")])
    changes = np.flatnonzero(flat[1:] != flat[:-1])
    return tuple(np.diff(np.concatenate([[0], changes, [mask.size]])).tolist())


def mask_of_runs(counts: Sequence[int], height_px: int, width_px: int) -> NDArray[np.bool_]:
    """Return the ``(H, W)`` mask of run lengths that fill it."""
    runs = np.asarray(counts, np.int64)
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
        InputError: It has another form, or is of another size than the image.
    """
    if isinstance(segmentation, dict):
        return mask_of_runs(counts_of(segmentation, height_px, width_px), height_px, width_px)
    return _filled(segmentation, height_px, width_px)


def counts_of(segmentation: Mapping[str, Any], height_px: int, width_px: int) -> list[int]:
    """Return the run lengths of a COCO segmentation.

    Raises:
        InputError: It has another form, or is of another size than the image.
    """
    if segmentation.get("size") != [height_px, width_px]:
        raise InputError(
            "a mask has another size than its image",
            expected=[height_px, width_px].__repr__(),
            got=segmentation.get("size"),
        )
    counts = segmentation.get("counts")
    if isinstance(counts, str):
        counts = counts_of_text(counts)
    if not isinstance(counts, list) or not all(type(count) is int for count in counts):
        raise InputError("a mask has no run lengths", expected="a list or text in `counts`")
    if min(counts, default=0) < 0 or sum(counts) != height_px * width_px:
        raise InputError("run lengths of a mask do not fill its image", expected=f"{height_px * width_px}")
    return counts


def rings_of(polygons: Any) -> list[NDArray[np.float64]]:
    """Return the rings of a segmentation, each ``(N, 2)`` px.

    Raises:
        InputError: They have another form, are not finite or have too many points.
    """
    try:
        rings = [np.asarray(polygon, np.float64).reshape(-1, 2) for polygon in polygons]
    except (TypeError, ValueError):
        raise InputError("a polygon has another form", expected="lists of x and y") from None
    total = sum(len(ring) for ring in rings)
    if total > _MOST_POINTS or any(not np.isfinite(ring).all() for ring in rings):
        raise InputError("a polygon is not usable", expected=f"finite, at most {_MOST_POINTS} points")
    return rings


def _filled(polygons: Any, height_px: int, width_px: int) -> NDArray[np.bool_]:
    """Return the union of polygons as the COCO API fills them.

    A pixel belongs to a ring where its centre does: rings that touch share no pixel, and a square of 9 px has
    81. A ring that crosses itself is filled by parity.
    """
    rings = rings_of(polygons)
    limit = 4.0 * max(height_px, width_px)
    mask = np.zeros((height_px, width_px), bool)
    for ring in rings:
        if len(ring) >= 3:
            mask |= _inside(np.clip(ring, -limit, limit), height_px, width_px)
    return mask


def _inside(ring: NDArray[np.float64], height_px: int, width_px: int) -> NDArray[np.bool_]:
    """Return the mask of one ring, ``(N, 2)`` px: the centre line of each column crosses its border."""
    # Of `rleFrPoly` in cocoapi's maskApi.c: the border on a grid five times as fine.
    points = np.trunc(_FINER * ring + 0.5).astype(np.int64)
    ends = np.roll(points, -1, axis=0)
    lengths = np.abs(ends - points).max(axis=1) + 1
    if int(lengths.sum()) > _MOST_BORDER:
        raise InputError("a polygon has too long a border", expected=f"at most {_MOST_BORDER // _FINER} px")
    changes = np.zeros(height_px * width_px + 1, np.int64)
    for part in np.split(np.arange(len(points)), _places(lengths)):
        # Parts need not overlap: a line begins where the one before has ended.
        border = np.concatenate([_line(points[k], ends[k]) for k in part.tolist()])
        np.add.at(changes, _crossings(border, height_px, width_px), 1)
    changes = changes[:-1]
    return np.asarray((np.cumsum(changes) % 2 == 1).reshape((height_px, width_px), order="F"))


def _places(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where to split the lines of a border into parts of about `_PART` points."""
    return np.flatnonzero(np.diff(np.cumsum(lengths) // _PART)) + 1


def _crossings(border: NDArray[np.int64], height_px: int, width_px: int) -> NDArray[np.int64]:
    """Return the pixels, numbered column by column, at which the border crosses the centre of a column."""
    (u, v), (u_before, v_before) = border[1:].T, border[:-1].T
    x = (np.minimum(u, u_before) + 0.5) / _FINER - 0.5
    on_centre = (u != u_before) & (x == np.floor(x)) & (x >= 0) & (x <= width_px - 1)
    y = np.ceil(np.clip((np.minimum(v, v_before) + 0.5) / _FINER - 0.5, 0, height_px))
    return np.asarray((x * height_px + y)[on_centre].astype(np.int64))


def _line(start: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the grid points from start to end, both included; the same ones in both directions."""
    length = int(np.abs(end - start).max())
    along = int(np.abs(end[0] - start[0]) < np.abs(end[1] - start[1]))
    low, high = (start, end) if start[along] <= end[along] else (end, start)
    steps = np.arange(length + 1)
    across = 1 - along
    slope = float(high[across] - low[across]) / max(length, 1)
    line = np.empty((length + 1, 2), np.int64)
    line[:, along] = low[along] + steps
    line[:, across] = np.trunc(low[across] + slope * steps + 0.5)
    return line if low is start else line[::-1]
