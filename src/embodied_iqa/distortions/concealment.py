"""Concealing lost blocks by interpolation from what was received around them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.distortions.blocks import BlockGrid, neighbour_planes
from embodied_iqa.distortions.image import FloatImage, Image, rounded

__all__ = ["interpolate_blocks"]


def interpolate_blocks(image: Image, grid: BlockGrid, lost: NDArray[np.intp]) -> Image:
    """Replace each lost block by the mean of its received border pixels, weighted by nearness.

    A pixel is ``sum(w_i p_i) / sum(w_i)`` over the neighbours that are there: ``p_i`` is the nearest pixel
    of neighbour ``i`` in the same row or column and ``w_i`` falls linearly to the opposite side (the
    spatial concealment of H.264's reference decoder). Larger holes close from their rim, ring by ring.

    Args:
        image: ``(H, W, 3)`` uint8.
        grid: The picture's blocks.
        lost: Flat indices of the lost blocks.
    """
    out = image.copy()
    blocks = grid.view(out)
    known = np.ones((grid.rows, grid.columns), dtype=np.bool_)
    known.reshape(-1)[lost] = False
    if not known.any():
        blocks[...] = 128
        return out
    while not known.all():
        planes = neighbour_planes(known)
        rows, columns = np.nonzero(~known & planes.any(axis=0))
        blocks[rows, :, columns] = _filled(blocks, planes[:, rows, columns], rows, columns)
        known[rows, columns] = True
    return out


def _filled(
    blocks: Image, present: NDArray[np.bool_], rows: NDArray[np.intp], columns: NDArray[np.intp]
) -> Image:
    """Return ``(n, side, side, 3)``: the interpolated blocks."""
    side = blocks.shape[1]
    left, upper = np.maximum(columns - 1, 0), np.maximum(rows - 1, 0)
    right = np.minimum(columns + 1, blocks.shape[2] - 1)
    lower = np.minimum(rows + 1, blocks.shape[0] - 1)
    borders = (
        blocks[rows, :, left, -1][:, :, None],
        blocks[upper, -1, columns][:, None, :],
        blocks[rows, :, right, 0][:, :, None],
        blocks[lower, 0, columns][:, None, :],
    )
    nearness = 1.0 - (np.arange(side, dtype=np.float32) + 1) / (side + 1)
    ramps = (nearness[None, :], nearness[:, None], nearness[::-1][None, :], nearness[::-1][:, None])
    total: FloatImage = np.zeros((len(rows), side, side, 3), np.float32)
    weight: FloatImage = np.zeros((len(rows), side, side, 1), np.float32)
    for there, border, ramp in zip(present, borders, ramps, strict=True):
        share = (there[:, None, None] * ramp)[..., None].astype(np.float32)
        total += share * border
        weight += share
    return rounded(total / weight)
