"""Chapter: the just-noticeable difference of each distortion."""

from __future__ import annotations

from typing import Final

from embodied_iqa.data.analysis.grid import Group
from embodied_iqa.data.analysis.jnd import NEVER, LeavingLevel, Third
from embodied_iqa.data.analysis.published_results import REMARKS
from embodied_iqa.data.analysis.resampling import FEWEST_REFERENCES
from embodied_iqa.data.analysis.study import Study
from embodied_iqa.imaging.distortions.spec import LEVELS
from embodied_iqa.pages.reports.database.by_group import across_groups, lane_figure
from embodied_iqa.pages.reports.kit.figure import Dot, Lane, Tick
from embodied_iqa.pages.reports.kit.formatting import distortion_label
from embodied_iqa.pages.reports.kit.page import Chapter, Part
from embodied_iqa.pages.reports.kit.table import Cell, Column, Row, Table

_TITLE: Final = "First level that is not mild"


def chapter(study: Study) -> Chapter:
    """Return the chapter."""
    rows = across_groups(study, lambda found: [(one.distortion_id, one) for one in found.leaving])
    ticks = tuple(Tick(_place(level), _level(level)) for level in range(1, NEVER + 1))
    return Chapter(
        "jnd",
        "The robot's just-noticeable difference",
        "All pairs are cut in thirds by their mean opinion: mild, medium, severe. A distortion is noticed "
        "from the first level on at which fewer than half of the pairs are mild. Dot: that level; line: its "
        "95 % interval.",
        "It grades images mild, medium and severe too; its levels for single distortions are not available.",
        (
            Part(_TITLE, (_levels(study, rows),), lane_figure(study, rows, _lane, ticks=ticks)),
            Part("The thirds", (_thirds(study),)),
        ),
    )


def _place(level: int) -> float:
    return round(100 * (level - 0.5) / NEVER, 2)


def _level(level: int) -> str:
    return "never" if level == NEVER else str(level)


def _lane(group: Group, level: LeavingLevel | None) -> Lane:
    text = _with_interval(level)
    dot = None
    if level is not None and level.level is not None:
        ends = (level.level if end is None else end for end in (level.low, level.high))
        dot = Dot(_place(level.level), *map(_place, ends))
    return Lane(str(group), f"{group}: {text}", text, dot=dot)


def _with_interval(leaving: LeavingLevel | None) -> str:
    """Return such as "3 (2 to never)"."""
    if leaving is None or leaving.level is None:
        return "not scored"
    if leaving.low is None or leaving.high is None:
        return f"{_level(leaving.level)} (no interval)"
    level, low, high = map(_level, (leaving.level, leaving.low, leaving.high))
    return level if low == high == level else f"{level} ({low} to {high})"


def _levels(study: Study, rows: dict[str, tuple[LeavingLevel | None, ...]]) -> Table:
    columns = [Column("Distortion")]
    more = ("level", "low", "high", *(f"mild_level_{level}" for level in LEVELS))
    for group in study.groups:
        columns.append(Column(group.title(), name=f"{group}_text"))
        columns += [Column(what, name=f"{group}_{what}", shown=False) for what in more]
    columns.append(Column("The paper", name="paper"))
    lines: list[Row] = [
        (distortion_label(number), *(cell for one in found for cell in _cells(one)), REMARKS.get(number, ""))
        for number, found in rows.items()
    ]
    note = (
        "Lowest level at which fewer than half of the pairs are mild, with its 95 % interval "
        "(references drawn again 500 times, the cut held). never: at none of the five levels. "
        f"Fewer than {FEWEST_REFERENCES} references have no interval."
    )
    return Table("jnd", _TITLE, columns, lines, note, folded=True)


def _cells(level: LeavingLevel | None) -> tuple[Cell, ...]:
    if level is None:
        return _with_interval(level), *(None,) * (3 + len(LEVELS))
    return _with_interval(level), level.level, level.low, level.high, *level.shares


def _thirds(study: Study) -> Table:
    columns = (
        Column("Kind"),
        Column("Severe below", name="lower"),
        Column("Mild from", name="upper"),
        *(Column(third.title(), name=str(third)) for third in Third),
        Column("No score", name="unscored"),
    )
    rows: list[Row] = [
        (str(group), cut.lower, cut.upper, *(cut.counts[third] for third in Third), cut.unscored)
        for group, cut in ((group, found.thirds) for group, found in study.groups.items())
    ]
    note = "Scores cut at their 1/3 and 2/3 quantiles. Equal scores stay together: ties make thirds unequal."
    return Table("thirds", "Mild, medium, severe", columns, rows, note)
