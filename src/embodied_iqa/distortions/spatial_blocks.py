"""Spatial distortions of blocks: exchange (23), lost (24), interpolation (25), repeat (26)."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from embodied_iqa.distortions.blocks import (
    NEIGHBOURS,
    BlockGrid,
    block_grid,
    choose_blocks,
    neighbour_planes,
    rearrange,
)
from embodied_iqa.distortions.calibrated import calibrated_levels
from embodied_iqa.distortions.concealment import interpolate_blocks
from embodied_iqa.distortions.entry import DistortionClass, Entry, Source
from embodied_iqa.distortions.image import Image

__all__ = ["ENTRIES", "block_exchange", "block_interpolation", "block_lost", "block_repeat"]

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
    return interpolate_blocks(image, grid, choose_blocks(grid, fraction, rng))


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


ENTRIES = (
    Entry(
        "23",
        "block-exchange",
        DistortionClass.SPATIAL,
        ("fraction",),
        calibrated_levels("23"),
        "swaps per 16 x 16 block",
        Source.CALIBRATION,
        block_exchange,
        "KADID-10k: 20, 40, 60, 80, 100 patches of a 512 x 384 picture, 0.026 to 0.130",
    ),
    Entry(
        "24",
        "block-lost",
        DistortionClass.SPATIAL,
        ("fraction",),
        calibrated_levels("24"),
        "share of the 32 x 32 blocks",
        Source.CALIBRATION,
        block_lost,
        "KADID-10k: 2, 4, 6, 8, 10 blocks of a 512 x 384 picture, 0.010 to 0.052",
    ),
    Entry(
        "25",
        "block-interpolation",
        DistortionClass.SPATIAL,
        ("fraction",),
        calibrated_levels("25"),
        "share of the 32 x 32 blocks",
        Source.CALIBRATION,
        block_interpolation,
        "the number 25 is printed in the paper; not in KADID-10k",
    ),
    Entry(
        "26",
        "block-repeat",
        DistortionClass.SPATIAL,
        ("fraction",),
        calibrated_levels("26"),
        "share of the 32 x 32 blocks",
        Source.CALIBRATION,
        block_repeat,
        "not in KADID-10k",
    ),
)
