"""Figures as percentages of a width, which a template draws at any size."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from embodied_iqa.analysis.breakdowns import BreakdownRow
from embodied_iqa.analysis.distributions import Spread
from embodied_iqa.analysis.execution import ExecutionRow
from embodied_iqa.analysis.grid import TASKS_OF_SCALE, Group
from embodied_iqa.analysis.jnd import NEVER, LeavingLevel
from embodied_iqa.analysis.study import Study
from embodied_iqa.reports.database.score_tables import leaving_text, name_of, paper_says, value_name

__all__ = [
    "Box",
    "Dot",
    "Figure",
    "FigureRow",
    "Lane",
    "Point",
    "Scatter",
    "breakdown_figure",
    "distribution_figure",
    "jnd_figure",
    "scatter",
]

_WHOLE: Final = 100.0


@dataclass(frozen=True, slots=True)
class Box:
    """The spread of one level, all in percent of the width.

    Attributes:
        level: 1 to 5.
        low: 5 % quantile; likewise 25 %, 50 %, 75 %, 95 %.
    """

    level: int
    low: float
    first: float
    median: float
    third: float
    high: float


@dataclass(frozen=True, slots=True)
class Dot:
    """A number with its interval, in percent of the width."""

    at: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Lane:
    """What one kind of subject shows in a row.

    Attributes:
        title: The kind.
        words: The same as the drawing, for those who cannot see it.
        text: The number beside the drawing; empty for none.
        boxes: Spreads; or empty.
        dot: A number; or None.
    """

    title: str
    words: str
    text: str = ""
    boxes: tuple[Box, ...] = ()
    dot: Dot | None = None


@dataclass(frozen=True, slots=True)
class FigureRow:
    """A row: a name, what the paper says of it, and a lane a kind of subject."""

    title: str
    remark: str
    lanes: tuple[Lane, ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """Rows over common axes.

    Attributes:
        heads: Title of each lane.
        ticks: Places in percent and their labels.
        rows: From the top.
    """

    heads: tuple[str, ...]
    ticks: tuple[tuple[float, str], ...]
    rows: tuple[FigureRow, ...]


@dataclass(frozen=True, slots=True)
class Point:
    """A distortion in a scatter plot.

    Attributes:
        x: Percent from the left.
        y: Percent from the bottom.
        number: Stands beside it; empty where there is no room for it.
        words: All about it, for whoever points at it.
    """

    x: float
    y: float
    number: str
    words: str


@dataclass(frozen=True, slots=True)
class Scatter:
    """Mean scores of one kind, to the right, against execution, upwards.

    Attributes:
        title: Above.
        kind: Of subject.
        points: A distortion each.
        x_ticks: Places in percent and their labels.
        y_ticks: Likewise.
    """

    title: str
    kind: str
    points: tuple[Point, ...]
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]


_LABEL: Final = (6.0, 4.0)
"""Room that a number takes in a scatter plot, percent."""
_SCORE_TICKS: Final = tuple((_WHOLE * n / TASKS_OF_SCALE, str(n)) for n in range(TASKS_OF_SCALE + 1))
_LEVEL_TICKS: Final = tuple(
    (_WHOLE * (place - 0.5) / NEVER, "never" if place == NEVER else str(place))
    for place in range(1, NEVER + 1)
)


def distribution_figure(study: Study) -> Figure:
    """Draw the spread of every distortion and level."""
    by = [_by_distortion(found.spreads) for found in study.groups.values()]
    rows = tuple(
        FigureRow(
            name_of(number),
            paper_says(number),
            tuple(
                _spread_lane(group, found.get(number, ()))
                for group, found in zip(study.groups, by, strict=True)
            ),
        )
        for number in sorted(set().union(*by))
    )
    return Figure(_heads(study), _SCORE_TICKS, rows)


def jnd_figure(study: Study) -> Figure:
    """Draw where each distortion first leaves mild."""
    by = [{one.distortion_id: one for one in found.leaving} for found in study.groups.values()]
    rows = tuple(
        FigureRow(
            name_of(number),
            paper_says(number),
            tuple(_level_lane(group, found[number]) for group, found in zip(study.groups, by, strict=True)),
        )
        for number in sorted(set().union(*by))
    )
    return Figure(_heads(study), _LEVEL_TICKS, rows)


def breakdown_figure(study: Study, by: str) -> Figure:
    """Draw mean scores by one column."""
    found = [{row.value: row for row in one.breakdowns[by]} for one in study.groups.values()]
    values = dict.fromkeys(value for rows in found for value in rows)
    rows = tuple(
        FigureRow(
            value_name(by, value),
            paper_says(value) if by == "distortion" else "",
            tuple(
                _mean_lane(group, rows.get(value)) for group, rows in zip(study.groups, found, strict=True)
            ),
        )
        for value in values
    )
    return Figure(_heads(study), _SCORE_TICKS, rows)


def scatter(rows: Sequence[ExecutionRow], group: Group) -> Scatter | None:
    """Draw distortions by their mean score and execution; None where none has both."""
    scores = [row.cognition if group is Group.COGNITION else row.decision for row in rows]
    known = [(row, score) for row, score in zip(rows, scores, strict=True)
             if math.isfinite(score) and math.isfinite(row.execution)]  # fmt: skip
    if not known:
        return None
    x, y = _axis([score for _, score in known], 0.5), _axis([row.execution for row, _ in known], 10.0)
    points = _with_room(
        Point(
            _place(score, x),
            _place(row.execution, y),
            row.distortion_id,
            f"{name_of(row.distortion_id)}: {group} {score:.2f}, execution {row.execution:.1f}",
        )
        for row, score in known
    )
    title = f"{str(group).capitalize()} and execution"
    return Scatter(title, str(group), points, _ticks(x, 1), _ticks(y, 0))


def _with_room(points: Iterable[Point]) -> tuple[Point, ...]:
    """Drop the numbers that would cover others; those of the worst distortions stay."""
    placed: list[Point] = []
    for point in sorted(points, key=lambda one: one.x + one.y):
        crowded = any(abs(one.x - point.x) < _LABEL[0] and abs(one.y - point.y) < _LABEL[1] for one in placed)
        placed.append(replace(point, number="") if crowded else point)
    return tuple(placed)


def _axis(values: Sequence[float], step: float) -> tuple[float, ...]:
    """Return the ticks around the values, at most about ten."""
    low, high = math.floor(min(values) / step), math.ceil(max(values) / step)
    return tuple(step * number for number in range(low, max(high, low + 1) + 1))


def _place(value: float, axis: Sequence[float]) -> float:
    return round(_WHOLE * (value - axis[0]) / (axis[-1] - axis[0]), 2)


def _ticks(axis: Sequence[float], digits: int) -> tuple[tuple[float, str], ...]:
    return tuple((_place(value, axis), f"{value:.{digits}f}") for value in axis)


def _heads(study: Study) -> tuple[str, ...]:
    return tuple(str(group).capitalize() for group in study.groups)


def _by_distortion(found: Sequence[Spread]) -> dict[str, tuple[Spread, ...]]:
    ids = dict.fromkeys(one.distortion_id for one in found)
    return {number: tuple(one for one in found if one.distortion_id == number) for number in ids}


def _spread_lane(group: Group, found: Sequence[Spread]) -> Lane:
    known = [one for one in found if one.count]
    boxes = tuple(Box(one.level, *(_percent(value) for value in one.quantiles)) for one in known)
    words = ", ".join(f"level {one.level}: {one.mean:.2f}" for one in known) or "not scored"
    return Lane(str(group), f"{group}, mean at {words}" if known else words, boxes=boxes)


def _level_lane(group: Group, one: LeavingLevel) -> Lane:
    text = leaving_text(one)
    dot = None
    if one.level is not None and one.low is not None and one.high is not None:
        dot = Dot(*(round(_WHOLE * (place - 0.5) / NEVER, 2) for place in (one.level, one.low, one.high)))
    return Lane(str(group), f"{group}: {text}", text, dot=dot)


def _mean_lane(group: Group, row: BreakdownRow | None) -> Lane:
    if row is None or not math.isfinite(row.mean):
        return Lane(str(group), f"{group}: not scored", "not scored")
    low, high = (row.mean if math.isnan(end) else end for end in (row.low, row.high))
    words = f"{group}: {row.mean:.2f}, {low:.2f} to {high:.2f}, {row.count} pairs"
    return Lane(str(group), words, f"{row.mean:.2f}", dot=Dot(*map(_percent, (row.mean, low, high))))


def _percent(score: float) -> float:
    return round(_WHOLE * score / TASKS_OF_SCALE, 2)
