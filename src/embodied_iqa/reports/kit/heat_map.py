"""A table of numbers as a coloured SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["heat_map"]

_CELL_X, _CELL_Y, _LABEL_X, _TOP = 46, 18, 150, 42
_LOW_RGB: Final = np.array([196.0, 60.0, 48.0])
_MIDDLE_RGB: Final = np.array([250.0, 240.0, 210.0])
_HIGH_RGB: Final = np.array([44.0, 123.0, 90.0])


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
    """Return an SVG with one coloured cell a number; what is no number stays grey.

    Args:
        title: Above.
        rows: Labels on the left.
        columns: Labels above.
        values: ``(rows, columns)``.
        low: The value that is all red.
        high: The value that is all green.
        slanted: Turn the column labels, where they are long.
    """
    top = _TOP + (90 if slanted else 0)
    width, height = _LABEL_X + _CELL_X * len(columns) + 70 * slanted + 10, top + _CELL_Y * len(rows) + 10
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
        'font-size="11"><rect width="100%" height="100%" fill="white"/>'
        f'<text x="8" y="16" font-weight="bold" font-size="13">{escape(title)}</text>'
    )
    parts = [head]
    for index, column in enumerate(columns):
        x, y = _LABEL_X + (index + 0.5) * _CELL_X, top - 6
        turned = f' transform="rotate(-45 {x} {y})"' if slanted else ' text-anchor="middle"'
        parts.append(f'<text x="{x}" y="{y}"{turned}>{escape(column)}</text>')
    for row, label in enumerate(rows):
        y = top + row * _CELL_Y
        parts.append(f'<text x="{_LABEL_X - 6}" y="{y + 13}" text-anchor="end">{escape(label)}</text>')
        parts += [
            _cell(_LABEL_X + column * _CELL_X, y, float(values[row, column]), low, high)
            for column in range(len(columns))
        ]
    return "".join([*parts, "</svg>\n"])


def _cell(x: float, y: float, value: float, low: float, high: float) -> str:
    if math.isnan(value):
        colour, text = "#dddddd", "-"
    else:
        share = min(1.0, max(0.0, (value - low) / (high - low)))
        colour, text = _colour(share), f"{value:.2f}"
    return (
        f'<rect x="{x}" y="{y}" width="{_CELL_X - 2}" height="{_CELL_Y - 2}" fill="{colour}"/>'
        f'<text x="{x + _CELL_X / 2 - 1}" y="{y + 12}" text-anchor="middle" font-size="10">{text}</text>'
    )


def _colour(share: float) -> str:
    if share < 0.5:
        rgb = _LOW_RGB + (_MIDDLE_RGB - _LOW_RGB) * 2 * share
    else:
        rgb = _MIDDLE_RGB + (_HIGH_RGB - _MIDDLE_RGB) * (2 * share - 1)
    red, green, blue = (round(float(value)) for value in rgb)
    return f"#{red:02x}{green:02x}{blue:02x}"
