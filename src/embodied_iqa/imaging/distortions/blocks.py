"""Grid of macro blocks, for images of any size."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from embodied_iqa.imaging.distortions.image import Image

_KADID_AREA_PX = 512 * 384
_SMALLEST_SIDE_PX = 4
NEIGHBOURS = ((0, -1), (-1, 0), (0, 1), (1, 0))
"""Row and column steps to the left, upper, right and lower block."""


@dataclass(frozen=True, slots=True)
class BlockGrid:
    """Whole blocks of one image; the rest at the right and lower border is in no block.

    Attributes:
        side_px: Side of a block.
        rows: Blocks from top to bottom.
        columns: Blocks from left to right.
    """

    side_px: int
    rows: int
    columns: int

    @property
    def count(self) -> int:
        """Number of blocks."""
        return self.rows * self.columns

    def view(self, image: Image) -> Image:
        """Return ``(rows, side, columns, side, 3)``: the blocks, without a copy."""
        side = self.side_px
        inside = image[: self.rows * side, : self.columns * side]
        return inside.reshape(self.rows, side, self.columns, side, 3)


def block_grid(shape: tuple[int, ...], side_px: int) -> BlockGrid:
    """Divide an image into blocks of ``side_px``.

    An image smaller than KADID-10k's 512 x 384 gets smaller blocks instead of fewer, so that a share of the
    blocks means the same; no block is smaller than 4 px.
    """
    scale = min(1.0, math.sqrt(shape[0] * shape[1] / _KADID_AREA_PX))
    side = max(_SMALLEST_SIDE_PX, round(side_px * scale))
    return BlockGrid(side, shape[0] // side, shape[1] // side)


def choose_blocks(grid: BlockGrid, fraction: float, rng: Generator) -> NDArray[np.intp]:
    """Choose a share of the blocks at random, at least one, without repetition, as flat indices.

    With the same generator a larger share holds every block of a smaller one, in the same order.
    """
    number = min(grid.count, max(1, round(fraction * grid.count)))
    return rng.permutation(grid.count)[:number]


def neighbour_planes(known: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return ``(4, rows, columns)``: whether the left, upper, right and lower neighbour is known."""
    framed = np.pad(known, 1)
    rows, columns = known.shape
    return np.stack([framed[1 + dy : 1 + dy + rows, 1 + dx : 1 + dx + columns] for dy, dx in NEIGHBOURS])


def rearrange(image: Image, grid: BlockGrid, source: NDArray[np.intp]) -> Image:
    """Return a copy in which block ``i`` is block ``source[i]`` of ``image``."""
    out = image.copy()
    changed = np.flatnonzero(source != np.arange(grid.count))
    rows, columns = np.divmod(changed, grid.columns)
    from_rows, from_columns = np.divmod(source[changed], grid.columns)
    grid.view(out)[rows, :, columns] = grid.view(image)[from_rows, :, from_columns]
    return out
