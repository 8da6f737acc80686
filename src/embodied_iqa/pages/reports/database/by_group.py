"""Labels, scales and figures that the chapters of a database's report share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeVar

from embodied_iqa.data.analysis.grid import TASKS_OF_SCALE, Group
from embodied_iqa.data.analysis.published_results import REMARKS
from embodied_iqa.data.analysis.study import GroupStudy, Study
from embodied_iqa.pages.reports.kit.figure import FigureRow, Lane, LaneFigure, Tick
from embodied_iqa.pages.reports.kit.formatting import distortion_label

T = TypeVar("T")
SCORE_RANGE: Final = (0.0, 5.0)
UNIT_RANGE: Final = (0.0, 1.0)
SCORE_TICKS: Final = tuple(Tick(100.0 * n / TASKS_OF_SCALE, str(n)) for n in range(TASKS_OF_SCALE + 1))


def paper_remark(distortion_id: str) -> str:
    """Return what the paper says about a distortion; empty if nothing."""
    return f"Paper: {REMARKS[distortion_id]}" if distortion_id in REMARKS else ""


def title_of(text: str) -> str:
    """Return a text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def across_groups(
    study: Study, rows_of: Callable[[GroupStudy], Iterable[tuple[str, T]]]
) -> dict[str, tuple[T | None, ...]]:
    """Return the rows of all groups by key, such as the distortion: one value for each group."""
    found = [dict(rows_of(group)) for group in study.groups.values()]
    return {key: tuple(rows.get(key) for rows in found) for rows in found for key in rows}


def lane_figure(
    study: Study,
    rows: Mapping[str, tuple[T | None, ...]],
    lane: Callable[[Group, T | None], Lane],
    label: Callable[[str], str] = distortion_label,
    ticks: tuple[Tick, ...] = SCORE_TICKS,
    *,
    boxes: bool = False,
) -> LaneFigure:
    """Draw rows with a lane for each group.

    Args:
        study: What was found.
        rows: From `across_groups`.
        lane: Draws one value of a group.
        label: Name of a row; rows of distortions get the paper's remark.
        ticks: Of each lane.
        boxes: Whether the lanes hold boxes.
    """
    remark = paper_remark if label is distortion_label else lambda _: ""
    drawn = tuple(
        FigureRow(
            label(key),
            remark(key),
            tuple(lane(group, one) for group, one in zip(study.groups, values, strict=True)),
        )
        for key, values in rows.items()
    )
    return LaneFigure(tuple(group.title() for group in study.groups), ticks, drawn, boxes)


def score_percent(score: float) -> float:
    """Return the place of a mean opinion on its axis, percent."""
    return round(100.0 * score / TASKS_OF_SCALE, 2)
