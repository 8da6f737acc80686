"""The grid of macro blocks that transmission loses, for pictures of any size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

__all__ = ["BlockGrid", "block_grid", "choose_blocks"]


@dataclass(frozen=True, slots=True)
class BlockGrid:
    """Whole blocks of one picture; what remains at the right and lower border belongs to no block.

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


def block_grid(shape: tuple[int, ...], side_px: int) -> BlockGrid:
    """Divide a picture into blocks of ``side_px``, or smaller ones where it has under four across."""
    side = max(4, min(side_px, min(shape[:2]) // 4))
    return BlockGrid(side, shape[0] // side, shape[1] // side)


def choose_blocks(grid: BlockGrid, fraction: float, rng: Generator) -> NDArray[np.intp]:
    """Choose a share of the blocks at random, at least one, without repetition, as sorted flat indices."""
    number = min(grid.count, max(1, round(fraction * grid.count)))
    return np.sort(rng.choice(grid.count, size=number, replace=False))
