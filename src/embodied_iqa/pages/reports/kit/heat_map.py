"""A matrix of numbers as a coloured SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.pages.reports.kit.render import render

_COLOURS_RGB: Final = np.array([[196.0, 60.0, 48.0], [250.0, 240.0, 210.0], [44.0, 123.0, 90.0]])
"""Of the lowest, the middle and the highest value."""
_UNKNOWN: Final = "#dddddd"


@dataclass(frozen=True, slots=True)
class _Cell:
    text: str
    colour: str


def heat_map(
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    values: NDArray[np.float64],
    *,
    low: float = 0.0,
    high: float = 1.0,
    slanted: bool = False,
) -> str:
    """Return an SVG with one coloured cell for each number; NaN is grey.

    Args:
        title: Above.
        rows: Labels on the left.
        columns: Labels above.
        values: ``(rows, columns)``.
        low: Value of the first colour, red.
        high: Value of the last colour, green.
        slanted: Turn the column labels, for long ones.
    """
    cells = [[_cell(float(value), low, high) for value in line] for line in values]
    return render(
        "heat_map.svg.j2",
        title=title,
        columns=columns,
        rows=list(zip(rows, cells, strict=True)),
        slanted=slanted,
    )


def _cell(value: float, low: float, high: float) -> _Cell:
    if math.isnan(value):
        return _Cell("-", _UNKNOWN)
    share = min(1.0, max(0.0, (value - low) / (high - low)))
    rgb = (np.interp(share, (0.0, 0.5, 1.0), channel) for channel in _COLOURS_RGB.T)
    return _Cell(f"{value:.2f}", "#" + "".join(f"{round(float(channel)):02x}" for channel in rgb))
