"""Draws the figures of docs/results that show a row for each gate, metric or fault, from their tables.

.venv/bin/python scripts/draw_results.py [NAME ...]

A figure has a dot for the value of each row, a line for its interval, and a bar at its goal.
"""

from __future__ import annotations

import csv
import math
import sys
import time
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Final

RESULTS: Final = Path(__file__).resolve().parents[1] / "docs/results"
_WIDTH, _LEFT, _ROW, _TOP = 720, 250, 16, 8
_STEPS: Final = (1, 2, 5, 10)
_MOST_STEPS: Final = 6


@dataclass(frozen=True, slots=True)
class Figure:
    """What a figure shows.

    Attributes:
        table: CSV file, from docs/results.
        axis: Quantity and unit.
        value: Column of the dots.
        low: Column of the lower ends of the intervals; empty without any.
        high: Column of the upper ends.
        goal: Column of the goals; empty without any.
    """

    table: str
    axis: str
    value: str
    low: str = ""
    high: str = ""
    goal: str = ""


FIGURES: Final = {
    "full-build": Figure(
        "details/tables/full-build-database-losses-by-class.csv",
        "loss of the decision score, 0 to 5; dot: by wrong motions, bar: by refusals",
        "Loss by wrong motion",
        goal="Loss by refusal",
    ),
    "gate": Figure("tables/gate.csv", "%; bar: goal, line: 95 % interval", "Measured", "Low", "High", "Goal"),
    "manipulation": Figure(
        "details/tables/manipulation-planner-classical-success-by-distortion-and-level.csv",
        "change of success at level 5, percentage points; line: 95 % interval",
        "Change at the highest",
        "Low",
        "High",
    ),
    "metrics": Figure(
        "tables/metrics.csv",
        "SRCC on decision, mean of ten splits; line: 95 % interval, bar: noise ceiling",
        "SRCC",
        "Low",
        "High",
        "Noise ceiling",
    ),
    "miqa": Figure("tables/miqa.csv", "SRCC; line: 95 % interval", "SRCC", "Low", "High"),
    "reliability": Figure(
        "tables/reliability.csv",
        "ms; dot: p99, end of the line: largest, bar: goal for p99",
        "p99 [ms]",
        "p99 [ms]",
        "Largest [ms]",
        "Goal p99 [ms]",
    ),
    "static": Figure(
        "tables/static.csv",
        "score; line: 95 % interval, bar: chance",
        "Score",
        "Low",
        "High",
        "Chance",
    ),
}


def svg(figure: Figure) -> str:
    """Return a figure as SVG."""
    with (RESULTS / figure.table).open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    names = [name for name in (figure.value, figure.low, figure.high, figure.goal) if name]
    numbers = [{name: _number(row[name]) for name in names} for row in rows]
    known = [value for row in numbers for value in row.values() if value is not None]
    ticks = _ticks(min(0.0, *known), max(0.0, *known))
    bottom = _TOP + _ROW * len(rows)
    at = {value: round(_place(value, ticks), 1) for value in (*ticks, *known)}
    parts = [
        f'<line x1="{at[tick]}" y1="{_TOP}" x2="{at[tick]}" y2="{bottom}" stroke="#ddd"/>'
        f'<text x="{at[tick]}" y="{bottom + 16}" text-anchor="middle">{tick:g}</text>'
        for tick in ticks
    ]
    parts.append(f'<text x="{_LEFT}" y="{bottom + 36}">{escape(figure.axis)}</text>')
    for index, (row, values) in enumerate(zip(rows, numbers, strict=True)):
        y = _TOP + _ROW * (index + 0.5)
        label = escape(next(iter(row.values())))
        parts.append(f'<text x="{_LEFT - 10}" y="{y + 4}" text-anchor="end">{label}</text>')
        parts += _marks({name: at[value] for name, value in values.items() if value is not None}, figure, y)
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {bottom + 44}" '
        f'font-family="sans-serif" font-size="11">\n'
        f'<rect width="100%" height="100%" fill="#fff"/>\n{body}\n</svg>\n'
    )


def _marks(at: dict[str, float], figure: Figure, y: float) -> list[str]:
    marks: list[str] = []
    if figure.goal in at:
        marks.append(f'<path d="M{at[figure.goal]} {y - 7}v14" stroke="#c60" stroke-width="3"/>')
    if figure.low in at and figure.high in at:
        marks.append(f'<path d="M{at[figure.low]} {y}H{at[figure.high]}" stroke="#036" stroke-width="2"/>')
    if figure.value in at:
        marks.append(f'<circle cx="{at[figure.value]}" cy="{y}" r="4" fill="#036"/>')
    return marks


def _number(cell: str) -> float | None:
    return float(cell) if cell else None


def _ticks(low: float, high: float) -> list[float]:
    """Return up to eight round numbers that hold a range."""
    size = 10.0 ** math.floor(math.log10((high - low) / _MOST_STEPS))
    step = next(size * one for one in _STEPS if size * one * _MOST_STEPS >= high - low)
    first, last = int(low // step), -int(-high // step)
    return [round(step * count, 6) for count in range(first, last + 1)]


def _place(value: float, ticks: list[float]) -> float:
    return _LEFT + (_WIDTH - _LEFT - 20) * (value - ticks[0]) / (ticks[-1] - ticks[0])


def main() -> None:
    """Draw the figures that are named, or all."""
    for name in sys.argv[1:] or FIGURES:
        began_s = time.monotonic()
        path = RESULTS / "images" / f"{name}.svg"
        path.write_text(svg(FIGURES[name]), encoding="utf-8")
        print(f"wrote {path} in {time.monotonic() - began_s:.2f} s")


if __name__ == "__main__":
    main()
