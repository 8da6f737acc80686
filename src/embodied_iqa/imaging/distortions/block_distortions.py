"""Block distortions: exchange (23), loss (24), interpolation (25), repetition (26)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from embodied_iqa.imaging.distortions.entry import DistortionClass, calibrated
from embodied_iqa.imaging.distortions.image import FloatImage, Image, rounded

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


_LOST_SIDE_PX = 32
_EXCHANGED_SIDE_PX = 16


def block_exchange(image: Image, rng: Generator, fraction: float) -> Image:
    """Swap a share of the 16 x 16 blocks with one of their four neighbours each, one after the other."""
    grid = block_grid(image.shape, _EXCHANGED_SIDE_PX)
    chosen = choose_blocks(grid, fraction, rng)
    directions = rng.integers(0, len(NEIGHBOURS), size=len(chosen))
    source = list(range(grid.count))
    for block, direction in zip(chosen.tolist(), directions.tolist(), strict=True):
        other = _neighbour(grid, block, direction)
        source[block], source[other] = source[other], source[block]
    return rearrange(image, grid, np.array(source, dtype=np.intp))


def _neighbour(grid: BlockGrid, block: int, direction: int) -> int:
    """Return the neighbour in a direction, or in the opposite one at the border."""
    row, column = divmod(block, grid.columns)
    dy, dx = NEIGHBOURS[direction]
    if not (0 <= row + dy < grid.rows and 0 <= column + dx < grid.columns):
        dy, dx = -dy, -dx
    return (row + dy) * grid.columns + column + dx


def block_lost(image: Image, rng: Generator, fraction: float) -> Image:
    """Replace a share of the 32 x 32 macro blocks by a flat random colour each."""
    grid = block_grid(image.shape, _LOST_SIDE_PX)
    rows, columns = np.divmod(choose_blocks(grid, fraction, rng), grid.columns)
    colours = rng.integers(0, 255, size=(len(rows), 1, 1, 3), dtype=np.uint8, endpoint=True)
    out = image.copy()
    grid.view(out)[rows, :, columns] = colours
    return out


def block_interpolation(image: Image, rng: Generator, fraction: float) -> Image:
    """Lose a share of the 32 x 32 macro blocks and conceal each by interpolating between its borders."""
    grid = block_grid(image.shape, _LOST_SIDE_PX)
    return interpolated(image, grid, choose_blocks(grid, fraction, rng))


def interpolated(image: Image, grid: BlockGrid, lost: NDArray[np.intp]) -> Image:
    """Return a copy with each lost block replaced by the mean of its border pixels, weighted by nearness.

    A pixel is ``sum(w_i p_i) / sum(w_i)`` over the present neighbours: ``p_i`` is the nearest pixel
    of neighbour ``i`` in the same row or column and ``w_i`` falls linearly to the opposite side (the
    spatial concealment of H.264's reference decoder). Larger holes close from their rim, ring by ring.

    Args:
        image: ``(H, W, 3)`` uint8.
        grid: The image's blocks.
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


def block_repeat(image: Image, rng: Generator, fraction: float) -> Image:
    """Lose a share of the 32 x 32 macro blocks and conceal each by repeating a neighbour.

    The left neighbour is taken where it was received, else the upper, right or lower one; blocks amid a
    larger hole repeat a concealed neighbour.
    """
    grid = block_grid(image.shape, _LOST_SIDE_PX)
    source = np.arange(grid.count)
    known = np.ones(grid.count, dtype=np.bool_)
    known[choose_blocks(grid, fraction, rng)] = False
    if not known.any():
        known[0] = True
    steps = np.array([dy * grid.columns + dx for dy, dx in NEIGHBOURS])
    while not known.all():
        planes = neighbour_planes(known.reshape(grid.rows, grid.columns)).reshape(len(NEIGHBOURS), -1)
        ready = np.flatnonzero(~known & planes.any(axis=0))
        source[ready] = source[ready + steps[planes[:, ready].argmax(axis=0)]]
        known[ready] = True
    return rearrange(image, grid, source)


_SPATIAL = DistortionClass.SPATIAL
ENTRIES = (
    calibrated(
        "23",
        _SPATIAL,
        block_exchange,
        "fraction",
        "swaps per 16 x 16 block",
        "KADID-10k: 20, 40, 60, 80, 100 patches of a 512 x 384 image, 0.026 to 0.130",
    ),
    calibrated(
        "24",
        _SPATIAL,
        block_lost,
        "fraction",
        "share of the 32 x 32 blocks",
        "KADID-10k: 2, 4, 6, 8, 10 blocks of a 512 x 384 image, 0.010 to 0.052",
    ),
    calibrated(
        "25",
        _SPATIAL,
        block_interpolation,
        "fraction",
        "share of the 32 x 32 blocks",
        "the number 25 is printed in the paper; not in KADID-10k",
    ),
    calibrated("26", _SPATIAL, block_repeat, "fraction", "share of the 32 x 32 blocks", "not in KADID-10k"),
)
