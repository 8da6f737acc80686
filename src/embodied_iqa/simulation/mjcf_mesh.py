"""Surfaces that are a profile turned about the vertical."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from embodied_iqa.simulation.mjcf import numbers

__all__ = ["lathe_mesh"]

_TURNS = 40


def lathe_mesh(name: str, profile_m: ArrayLike) -> str:
    """Return a mesh asset.

    Args:
        name: Of the mesh.
        profile_m: ``(N, 2)``: radius and height along the surface, from the middle of the underside (radius
            0) around the rim to the middle of the inside (radius 0).
    """
    profile = np.asarray(profile_m, dtype=np.float64)
    theta = 2 * np.pi * np.arange(_TURNS) / _TURNS
    rows = [
        np.stack([radius * np.cos(theta), radius * np.sin(theta), np.full(_TURNS, z)], axis=1)
        for radius, z in profile[1:-1]
    ]
    vertices = np.concatenate([[[0.0, 0.0, profile[0, 1]]], *rows, [[0.0, 0.0, profile[-1, 1]]]])
    faces = _lathe_faces(len(rows), _TURNS)
    return (
        f'<mesh name="{name}" inertia="shell" vertex="{numbers(vertices.ravel())}" '
        f'face="{" ".join(str(corner) for corner in faces)}"/>'
    )


def _lathe_faces(rows: int, turns: int) -> list[int]:
    last = 1 + rows * turns
    faces: list[int] = []
    for turn in range(turns):
        after = (turn + 1) % turns
        faces += [0, 1 + after, 1 + turn]
        for row in range(rows - 1):
            a, b = 1 + row * turns + turn, 1 + row * turns + after
            c, d = a + turns, b + turns
            faces += [a, b, d, a, d, c]
        faces += [last - turns + turn, last - turns + after, last]
    return faces
