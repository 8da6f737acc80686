"""Line plots in SVG coordinates: ticks, labels and point lists; templates/figures.html.j2 draws them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.pages.reports.kit.figure import Tick

Array = NDArray[np.float64]

_MAX_POINTS: Final = 240
_MARGIN: Final = 0.06
_TICKS: Final = 5


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis.

    Attributes:
        label: Quantity and unit.
        least_span: Shorter ranges are widened to this, so that noise does not fill the plot.
    """

    label: str
    least_span: float


@dataclass(frozen=True, slots=True)
class Curve:
    """A line in viewBox units: ``x,y`` pairs for a polyline, and its first and last point."""

    points: str
    start: tuple[float, float]
    end: tuple[float, float]


@dataclass(frozen=True, slots=True)
class LinePlot:
    """A plot of one or two lines in viewBox units, y downwards; `left` to `bottom` is the frame."""

    width: ClassVar = 420
    height: ClassVar = 300
    left: ClassVar = 70
    right: ClassVar = 398
    top: ClassVar = 12
    bottom: ClassVar = 256

    x_label: str
    y_label: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    reference: Curve | None
    distorted: Curve | None


class _Scale(NamedTuple):
    """A range of values and where it is drawn, in viewBox units."""

    low: float
    high: float
    low_at: float
    high_at: float

    def place(self, values: Array) -> Array:
        share = (values - self.low) / (self.high - self.low)
        return self.low_at + share * (self.high_at - self.low_at)

    def ticks(self) -> tuple[Tick, ...]:
        step = _round_step((self.high - self.low) / _TICKS)
        digits = max(0, -math.floor(math.log10(step) + 1e-9))
        values: Array = step * np.arange(math.ceil(self.low / step), math.floor(self.high / step) + 1.0)
        texts = (f"{value:.{digits}f}".replace("-", "\N{MINUS SIGN}") for value in values)
        return tuple(
            Tick(round(float(at), 1), text) for at, text in zip(self.place(values), texts, strict=True)
        )


def line_plot(
    reference: Array | None, distorted: Array | None, x: Axis, y: Axis, *, equal: bool = False
) -> LinePlot | None:
    """Lay out one or two lines.

    Args:
        reference: ``(N, 2)`` x and y, or None.
        distorted: ``(M, 2)`` or None.
        x: The horizontal axis.
        y: The vertical axis.
        equal: The same scale on both axes, as on a map.

    Returns:
        None if no line has a finite point.
    """
    lines = [_finite(line) for line in (reference, distorted)]
    known = [line for line in lines if line is not None]
    if not known:
        return None
    points = np.concatenate(known)
    x_range, y_range = _range(points[:, 0], x.least_span), _range(points[:, 1], y.least_span)
    if equal:
        aspect = (LinePlot.right - LinePlot.left) / (LinePlot.bottom - LinePlot.top)
        x_range, y_range = _same_scale(x_range, y_range, aspect)
    across = _Scale(*x_range, LinePlot.left, LinePlot.right)
    up = _Scale(*y_range, LinePlot.bottom, LinePlot.top)
    curves = [None if line is None else _curve(line, across, up) for line in lines]
    return LinePlot(x.label, y.label, across.ticks(), up.ticks(), *curves)


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


def _curve(line: Array, across: _Scale, up: _Scale) -> Curve:
    chosen = line[np.unique(np.linspace(0, len(line) - 1, min(len(line), _MAX_POINTS)).round().astype(int))]
    xs, ys = across.place(chosen[:, 0]), up.place(chosen[:, 1])
    places = [(round(float(x), 1), round(float(y), 1)) for x, y in zip(xs, ys, strict=True)]
    return Curve(" ".join(f"{x},{y}" for x, y in places), places[0], places[-1])


def _round_step(step: float) -> float:
    """Return the next of 1, 2, 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= step * (1 - 1e-9))
