"""The path of the tool during an action chunk, and its projection into a picture."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.images.frame import Intrinsics
from embodied_iqa.kinematics import chain_increments, invert

__all__ = ["chunk_points_m", "project_path"]

Array = NDArray[np.float64]

_NEAR_M: Final = 0.01
"""Nothing nearer to the camera is drawn: the projection has its pole at 0."""


def chunk_points_m(T_base_tool: Array, increments: Array) -> Array:
    """Return the path of the tool: ``(K + 1, 3)`` float64 in the base frame (m), the start first.

    Args:
        T_base_tool: ``(4, 4)``, the tool at the start (m).
        increments: ``(K, 7)``, see `subjects.protocols.ActionChunk`.

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
    """Project a path of straight lines into a picture.

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
        cut = _in_front(start, end)
        if cut is None:
            continue
        if pieces and np.array_equal(pieces[-1][-1], cut[0]):
            pieces[-1].append(cut[1])
        else:
            pieces.append([cut[0], cut[1]])
    return [_pixels(np.array(piece), intrinsics) for piece in pieces]


def _in_front(start: Array, end: Array) -> tuple[Array, Array] | None:
    """Return the part of a line that is in front of the near plane."""
    if max(start[2], end[2]) < _NEAR_M:
        return None
    if start[2] < _NEAR_M:
        start = _at_plane(start, end)
    elif end[2] < _NEAR_M:
        end = _at_plane(end, start)
    return start, end


def _at_plane(behind: Array, before: Array) -> Array:
    share = (_NEAR_M - behind[2]) / (before[2] - behind[2])
    return np.asarray(behind + share * (before - behind), dtype=np.float64)


def _pixels(points_m: Array, k: Intrinsics) -> Array:
    u = k.fx_px * points_m[:, 0] / points_m[:, 2] + k.cx_px
    v = k.fy_px * points_m[:, 1] / points_m[:, 2] + k.cy_px
    return np.stack([u, v], axis=1)
