"""Token map of an image in a subject's features, as part of the input of a network."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError

Map = NDArray[np.float32]
TOKENS_VERSION: Final = "1"
"""Changes whenever a number can change."""
CELLS: Final = (5, 10)
"""Rows and columns to which a map is averaged: 36,900 images are 0.8 GB."""
CHANNELS: Final = 96
"""Fewer channels are filled up with zeros; more are projected."""
TOKEN_VALUES: Final = CELLS[0] * CELLS[1] * CHANNELS


def token_cells(tokens: Map) -> Map:
    """Return ``(TOKEN_VALUES,)``, a map averaged to `CELLS`, cell by cell and row by row.

    Args:
        tokens: ``(T, C)``, row by row of a grid of aspect 4:3; any other number counts as one row.

    Raises:
        InputError: Fewer tokens than cells, or no channel.
    """
    rows = max(1, round(math.sqrt(len(tokens) * 3 / 4)))
    rows = rows if len(tokens) % rows == 0 and rows >= CELLS[0] else 1
    if len(tokens) < CELLS[0] * CELLS[1] or not tokens.size:
        raise InputError("too few features", expected=f"{CELLS[0] * CELLS[1]} tokens", got=tokens.shape)
    if rows == 1:
        cells = np.stack([part.mean(0) for part in np.array_split(tokens, CELLS[0] * CELLS[1])])
    else:
        grid = tokens.reshape(rows, -1, tokens.shape[1])
        bands = np.stack([band.mean(0) for band in np.array_split(grid, CELLS[0])])
        parts = np.array_split(bands, CELLS[1], axis=1)
        cells = np.stack([part.mean(1) for part in parts], axis=1).reshape(-1, tokens.shape[1])
    if cells.shape[1] > CHANNELS:
        cells = cells @ _projection(cells.shape[1])
    filled = np.zeros((len(cells), CHANNELS), np.float32)
    filled[:, : cells.shape[1]] = cells
    return filled.ravel()


@lru_cache(maxsize=4)
def _projection(channels: int) -> Map:
    """Return ``(C, CHANNELS)``, random and always the same."""
    drawn = np.random.default_rng(0).standard_normal((channels, CHANNELS)) / math.sqrt(channels)
    return drawn.astype(np.float32)
