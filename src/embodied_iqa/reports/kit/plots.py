"""Line plots as numbers that a template can draw: ticks, labels and SVG point lists."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["Axis", "Curve", "Plot", "Tick", "line_plot"]

Array = NDArray[np.float64]

WIDTH, HEIGHT = 420, 300
"""Of a plot, in the units of its viewBox; the text is sized for these."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 22, 12, 44
_MOST_POINTS: Final = 240
_MARGIN: Final = 0.06
_TICKS: Final = 5


@dataclass(frozen=True, slots=True)
class Axis:
    """What an axis shows.

    Attributes:
        label: With the unit.
        least_span: Shorter ranges are widened to this, so that noise does not fill the plot.
    """

    label: str
    least_span: float


@dataclass(frozen=True, slots=True)
class Tick:
    """A labelled place on an axis.

    Attributes:
        at: In viewBox units.
        text: The number.
    """

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Curve:
    """One run's line.

    Attributes:
        points: For the attribute of an SVG polyline.
        start: First point ``(x, y)`` in viewBox units.
        end: Last point.
    """

    points: str
    start: tuple[float, float]
    end: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Plot:
    """A whole plot; everything in viewBox units, y downwards.

    Attributes:
        width: Of the viewBox.
        height: Of the viewBox.
        left: Left edge of the frame; likewise right, top and bottom.
        x_label: Below the frame.
        y_label: Left of it.
        reference: The reference run's line, or None.
        distorted: The distorted run's line, or None.
    """

    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int
    x_label: str
    y_label: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    reference: Curve | None
    distorted: Curve | None


def line_plot(
    reference: Array | None, distorted: Array | None, x: Axis, y: Axis, *, equal: bool = False
) -> Plot | None:
    """Lay out one or two lines.

    Args:
        reference: ``(N, 2)`` x and y, or None.
        distorted: ``(M, 2)`` or None.
        x: The horizontal axis.
        y: The vertical axis.
        equal: The same scale on both axes, as on a map.

    Returns:
        None where no line has a finite point.
    """
    kept = [_finite(line) for line in (reference, distorted)]
    known = [line for line in kept if line is not None]
    if not known:
        return None
    every = np.concatenate(known)
    frame = (_LEFT, WIDTH - _RIGHT, _TOP, HEIGHT - _BOTTOM)
    x_range, y_range = _range(every[:, 0], x.least_span), _range(every[:, 1], y.least_span)
    if equal:
        x_range, y_range = _same_scale(x_range, y_range, (frame[1] - frame[0]) / (frame[3] - frame[2]))
    curves = [None if line is None else _curve(line, x_range, y_range, frame) for line in kept]
    return Plot(
        width=WIDTH,
        height=HEIGHT,
        left=frame[0],
        right=frame[1],
        top=frame[2],
        bottom=frame[3],
        x_label=x.label,
        y_label=y.label,
        x_ticks=_ticks(x_range, frame[0], frame[1]),
        y_ticks=_ticks(y_range, frame[3], frame[2]),
        reference=curves[0],
        distorted=curves[1],
    )


def _finite(line: Array | None) -> Array | None:
    if line is None:
        return None
    kept = line[np.isfinite(line).all(axis=1)]
    return kept if len(kept) else None


def _range(values: Array, least_span: float) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    middle = (low + high) / 2
    half = max(high - low, least_span) / 2 * (1 + 2 * _MARGIN)
    return middle - half, middle + half


def _same_scale(
    x: tuple[float, float], y: tuple[float, float], aspect: float
) -> tuple[tuple[float, float], tuple[float, float]]:
    width = max(x[1] - x[0], (y[1] - y[0]) * aspect)
    height = width / aspect
    x_middle, y_middle = sum(x) / 2, sum(y) / 2
    return (x_middle - width / 2, x_middle + width / 2), (y_middle - height / 2, y_middle + height / 2)


def _curve(
    line: Array, x: tuple[float, float], y: tuple[float, float], frame: tuple[int, int, int, int]
) -> Curve:
    chosen = line[np.unique(np.linspace(0, len(line) - 1, min(len(line), _MOST_POINTS)).round().astype(int))]
    left, right, top, bottom = frame
    across = left + (chosen[:, 0] - x[0]) / (x[1] - x[0]) * (right - left)
    down = bottom - (chosen[:, 1] - y[0]) / (y[1] - y[0]) * (bottom - top)
    places = [(round(float(a), 1), round(float(b), 1)) for a, b in zip(across, down, strict=True)]
    return Curve(" ".join(f"{a},{b}" for a, b in places), places[0], places[-1])


def _ticks(limits: tuple[float, float], low_at: float, high_at: float) -> tuple[Tick, ...]:
    low, high = limits
    step = _round_step((high - low) / _TICKS)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    numbers: Sequence[int] = range(math.ceil(low / step), math.floor(high / step) + 1)
    return tuple(
        Tick(
            round(low_at + (number * step - low) / (high - low) * (high_at - low_at), 1),
            f"{number * step:.{digits}f}".replace("-", "\N{MINUS SIGN}"),
        )
        for number in numbers
    )


def _round_step(step: float) -> float:
    """Return the next of 1, 2, 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= step * (1 - 1e-9))
