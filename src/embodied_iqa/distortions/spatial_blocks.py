"""Spatial distortions of blocks: block lost (24)."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from embodied_iqa.distortions.blocks import block_grid, choose_blocks
from embodied_iqa.distortions.calibrated import calibrated_levels
from embodied_iqa.distortions.entry import DistortionClass, Entry, Source
from embodied_iqa.distortions.image import Image

__all__ = ["ENTRIES", "block_lost"]

_LOST_SIDE_PX = 32


def block_lost(image: Image, rng: Generator, fraction: float) -> Image:
    """Replace a share of the 32 x 32 macro blocks by a flat random colour each."""
    grid = block_grid(image.shape, _LOST_SIDE_PX)
    blocks = choose_blocks(grid, fraction, rng)
    colours = rng.integers(0, 255, size=(len(blocks), 3), dtype=np.uint8, endpoint=True)
    out = image.copy()
    side = grid.side_px
    for block, colour in zip(blocks.tolist(), colours, strict=True):
        y, x = (block // grid.columns) * side, (block % grid.columns) * side
        out[y : y + side, x : x + side] = colour
    return out


ENTRIES = (
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
)
