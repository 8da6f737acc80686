"""Rows of drawings over common axes, in percent of their width; templates/figures.html.j2 draws them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tick:
    """A labelled place on an axis, in the units of the figure."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Box:
    """Quantiles of one level, in percent of the width.

    Attributes:
        level: 1 to 5.
        p5: 5 % quantile; likewise the others.
    """

    level: int
    p5: float
    p25: float
    p50: float
    p75: float
    p95: float


@dataclass(frozen=True, slots=True)
class Dot:
    """A value with its interval, in percent of the width."""

    at: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Lane:
    """One drawing of a row.

    Attributes:
        title: What is drawn; also its CSS class.
        description: The drawing in words, for screen readers.
        text: The number beside the drawing; may be empty.
        boxes: Spreads by level.
        dot: A value, or None.
    """

    title: str
    description: str
    text: str = ""
    boxes: tuple[Box, ...] = ()
    dot: Dot | None = None


@dataclass(frozen=True, slots=True)
class FigureRow:
    """A row: its name, a remark below the name, and its lanes from left to right."""

    title: str
    remark: str
    lanes: tuple[Lane, ...]


@dataclass(frozen=True, slots=True)
class LaneFigure:
    """Rows of lanes over common axes.

    Attributes:
        heads: Title of each lane.
        ticks: Of every lane, in percent of its width.
        rows: From the top.
        boxes: Whether lanes hold boxes (wide, no number beside them) or a dot.
    """

    heads: tuple[str, ...]
    ticks: tuple[Tick, ...]
    rows: tuple[FigureRow, ...]
    boxes: bool = False

    @property
    def characters(self) -> int:
        """Length of the longest number beside a drawing: the lanes of all rows leave the same room for it."""
        return max((len(lane.text) for row in self.rows for lane in row.lanes), default=0)
