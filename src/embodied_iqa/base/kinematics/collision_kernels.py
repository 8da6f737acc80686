"""Compiled distances between capsules (m), for `collision`."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.kinematics.kernels import compiled

Array = NDArray[np.float64]
Pairs = NDArray[np.int64]
Vector = tuple[float, float, float]


@compiled
def _clamp(value: float) -> float:
    """Return the value limited to [0, 1]."""
    return min(1.0, max(0.0, value))


@compiled
def _dot(a: Array, b: Array) -> float:
    return float(a[0] * b[0] + a[1] * b[1] + a[2] * b[2])


@compiled
def _way(start: Array, end: Array) -> Vector:
    """Return a difference as a tuple, which needs no memory: an array of three costs more than the sums."""
    return end[0] - start[0], end[1] - start[1], end[2] - start[2]


@compiled
def _product(a: Vector, b: Vector) -> float:
    return float(a[0] * b[0] + a[1] * b[1] + a[2] * b[2])


@compiled
def segment_distance(p1: Array, q1: Array, p2: Array, q2: Array) -> float:
    """Distance of two segments (Ericson, Real-Time Collision Detection, 2005, 5.1.9)."""
    d1, d2, r = _way(p1, q1), _way(p2, q2), _way(p2, p1)
    a, e, f = _product(d1, d1), _product(d2, d2), _product(d2, r)
    if a < 1e-18 and e < 1e-18:
        s, t = 0.0, 0.0
    elif a < 1e-18:
        s, t = 0.0, _clamp(f / e)
    else:
        c = _product(d1, r)
        if e < 1e-18:
            s, t = _clamp(-c / a), 0.0
        else:
            b = _product(d1, d2)
            denominator = a * e - b * b
            s = _clamp((b * f - c * e) / denominator) if denominator > 1e-18 else 0.0
            t = (b * s + f) / e
            if t < 0.0:
                s, t = _clamp(-c / a), 0.0
            elif t > 1.0:
                s, t = _clamp((b - c) / a), 1.0
    gap = (
        r[0] + s * d1[0] - t * d2[0],
        r[1] + s * d1[1] - t * d2[1],
        r[2] + s * d1[2] - t * d2[2],
    )
    return math.sqrt(_product(gap, gap))


@compiled
def clearances(  # noqa: PLR0917 - compiled code takes arrays, not records
    frames: Array, part_frames: Pairs, ends: Array, radii: Array, pairs: Pairs, planes: Array, skips: Pairs
) -> tuple[Array, Pairs]:
    """Return the smallest clearance of each configuration and which check gave it.

    ``frames`` (N, 7, 4, 4); part p has ``radii[p]`` about segment ``ends[p]`` (2, 3) in ``part_frames[p]``;
    ``pairs`` (M, 2) are the parts to compare; ``planes`` (L, 4) rows ``(normal, offset)`` with free space at
    ``normal . x > offset``; parts below ``skips[l]`` are not compared with plane l. Check numbers: 0..M-1 are
    pairs, then M + l P + p is part p against plane l.
    """
    count, parts = frames.shape[0], radii.shape[0]
    smallest, which = np.empty(count), np.empty(count, np.int64)
    world = np.empty((parts, 2, 3))
    for n in range(count):
        smallest[n], which[n] = np.inf, -1
        for p in range(parts):
            T = frames[n, part_frames[p]]
            for end in range(2):
                for row in range(3):
                    world[p, end, row] = _dot(T[row], ends[p, end]) + T[row, 3]
        for m in range(pairs.shape[0]):
            i, j = pairs[m, 0], pairs[m, 1]
            gap = segment_distance(world[i, 0], world[i, 1], world[j, 0], world[j, 1]) - radii[i] - radii[j]
            if gap < smallest[n]:
                smallest[n], which[n] = gap, m
        for plane in range(planes.shape[0]):
            for p in range(skips[plane], parts):
                low = min(_dot(planes[plane], world[p, 0]), _dot(planes[plane], world[p, 1]))
                gap = low - planes[plane, 3] - radii[p]
                if gap < smallest[n]:
                    smallest[n], which[n] = gap, pairs.shape[0] + plane * parts + p
    return smallest, which
