"""The path of the tool during an action chunk, and its projection into an image."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.kinematics import chain_increments, invert
from embodied_iqa.imaging.images.frame import Intrinsics

Array = NDArray[np.float64]

_NEAR_M: Final = 0.01
"""Nothing nearer to the camera is drawn: the projection has its pole at 0."""


def chunk_points_m(T_base_tool: Array, increments: Array) -> Array:
    """Return the path of the tool: ``(K + 1, 3)`` float64 in the base frame (m), the start first.

    Args:
        T_base_tool: ``(4, 4)``, the tool at the start (m).
        increments: ``(K, 7)``, see `world.protocols.ActionChunk`.

    Returns:
        Empty if a number is not finite.
    """
    if not (np.isfinite(T_base_tool).all() and np.isfinite(increments).all()):
        return np.empty((0, 3))
    start = T_base_tool[None, :3, 3]
    if len(increments) == 0:
        return start.copy()
    return np.concatenate([start, chain_increments(T_base_tool, increments)[:, :3, 3]])


def project_path(points_m: Array, intrinsics: Intrinsics, T_base_camera: Array) -> list[Array]:
    """Project a path of straight lines into an image.

    A pinhole keeps lines straight, so the projected corners are enough. The path is clipped at a plane 1 cm
    in front of the camera.

    Args:
        points_m: ``(N, 3)`` in the base frame.
        intrinsics: Of the camera.
        T_base_camera: ``(4, 4)``, the camera's optical frame in the base frame (m).

    Returns:
        Connected pieces, each ``(M, 2)`` float64 pixels ``(u, v)`` with M at least 2.
    """
    model = (intrinsics.fx_px, intrinsics.fy_px, intrinsics.cx_px, intrinsics.cy_px)
    if len(points_m) < 2 or not (np.isfinite(T_base_camera).all() and np.isfinite(model).all()):
        return []
    T_camera_base = invert(T_base_camera)
    seen = points_m @ T_camera_base[:3, :3].T + T_camera_base[:3, 3]
    pieces: list[list[Array]] = []
    for start, end in pairwise(seen):
        if max(start[2], end[2]) < _NEAR_M:
            continue
        first, last = _clipped(start, end), _clipped(end, start)
        if pieces and np.array_equal(pieces[-1][-1], first):
            pieces[-1].append(last)
        else:
            pieces.append([first, last])
    return [_pixels(np.array(piece), intrinsics) for piece in pieces]


def _clipped(point: Array, other: Array) -> Array:
    """Move a point behind the near plane along its line to the plane."""
    if point[2] >= _NEAR_M:
        return point
    share = (_NEAR_M - point[2]) / (other[2] - point[2])
    return np.asarray(point + share * (other - point), dtype=np.float64)


def _pixels(points_m: Array, k: Intrinsics) -> Array:
    u = k.fx_px * points_m[:, 0] / points_m[:, 2] + k.cx_px
    v = k.fy_px * points_m[:, 1] / points_m[:, 2] + k.cy_px
    return np.stack([u, v], axis=1)
