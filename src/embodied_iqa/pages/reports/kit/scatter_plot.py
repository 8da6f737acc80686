"""Scatter plots in percent; templates/figures.html.j2 draws them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from embodied_iqa.pages.reports.kit.figure import Tick

_LABEL_WIDTH, _LABEL_HEIGHT = 6.0, 4.0
"""Space that a label takes, percent."""
_WHOLE: Final = 100.0


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a scatter plot.

    Attributes:
        x: Value, or percent from the left.
        y: Value, or percent from the bottom.
        label: Beside the point; `place_points` drops those that would cover another one.
        description: Shown when the pointer is over the point.
    """

    x: float
    y: float
    label: str
    description: str


@dataclass(frozen=True, slots=True)
class ScatterPlot:
    """Points with ticks, in percent.

    Attributes:
        title: Above.
        kind: CSS class.
        x_label: Below.
        y_label: On the left.
        points: With values as coordinates before `place_points`, then in percent, the lower left ones first.
        x_ticks: Percent from the left.
        y_ticks: Percent from the bottom.
    """

    title: str
    kind: str
    x_label: str
    y_label: str
    points: tuple[Point, ...]
    x_ticks: tuple[Tick, ...] = ()
    y_ticks: tuple[Tick, ...] = ()


def place_points(plot: ScatterPlot, x_step: float, y_step: float) -> ScatterPlot | None:
    """Place points and ticks; None without a finite point.

    Args:
        plot: With values as coordinates; points that are not finite are left out.
        x_step: Distance of the ticks.
        y_step: Likewise.
    """
    finite = [point for point in plot.points if math.isfinite(point.x) and math.isfinite(point.y)]
    if not finite:
        return None
    x, y = _axis([point.x for point in finite], x_step), _axis([point.y for point in finite], y_step)
    placed: list[Point] = []
    # labels of the lowest points have priority
    for point in sorted(
        (replace(point, x=_percent(point.x, x), y=_percent(point.y, y)) for point in finite),
        key=lambda point: point.x + point.y,
    ):
        crowded = any(
            abs(other.x - point.x) < _LABEL_WIDTH and abs(other.y - point.y) < _LABEL_HEIGHT
            for other in placed
        )
        placed.append(replace(point, label="") if crowded else point)
    return replace(plot, points=tuple(placed), x_ticks=_ticks(x, x_step), y_ticks=_ticks(y, y_step))


def _axis(values: Sequence[float], step: float) -> tuple[float, ...]:
    """Return ticks around the values, at least two."""
    low, high = math.floor(min(values) / step), math.ceil(max(values) / step)
    return tuple(step * count for count in range(low, max(high, low + 1) + 1))


def _percent(value: float, axis: Sequence[float]) -> float:
    return round(_WHOLE * (value - axis[0]) / (axis[-1] - axis[0]), 2)


def _ticks(axis: Sequence[float], step: float) -> tuple[Tick, ...]:
    digits = max(0, -math.floor(math.log10(step)))
    return tuple(Tick(_percent(value, axis), f"{value:.{digits}f}") for value in axis)
