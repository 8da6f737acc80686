"""Chapter: cognition and decision against execution, the scores of a joined experiment."""

from __future__ import annotations

from typing import Final

from embodied_iqa.data.analysis.execution_correlation import ExecutionRow, ExecutionTable
from embodied_iqa.data.analysis.grid import Group
from embodied_iqa.data.analysis.published_results import DECISION_EXECUTION, EXECUTION_REMARK
from embodied_iqa.data.analysis.study import Study
from embodied_iqa.pages.reports.database.by_group import SCORE_RANGE, UNIT_RANGE
from embodied_iqa.pages.reports.kit.formatting import distortion_label
from embodied_iqa.pages.reports.kit.page import Chapter, Part
from embodied_iqa.pages.reports.kit.scatter_plot import Point, ScatterPlot, place_points
from embodied_iqa.pages.reports.kit.table import Column, Row, Table

_PERCENT: Final = (0.0, 100.0)
_PAPER: Final = {Group.COGNITION: "below 0.5", Group.DECISION: f"{DECISION_EXECUTION} (above 0.6)"}
_SCORE_STEP, _EXECUTION_STEP = 0.5, 10.0


def chapter(study: Study, database: str) -> Chapter:
    """Return the chapter; without an experiment it shows the command that joins one."""
    title, found = "Does it matter to the arm?", study.execution
    if found is None:
        lead = "No experiment was joined. Run embodied-iqa experiment, then join its folder:"
        command = f"embodied-iqa db join-execution {database} EXPERIMENT"
        return Chapter("execution", title, lead, EXECUTION_REMARK, (), command)
    lead = "What the arm did in the joined experiment, against what subjects understood and decided."
    plots = (_scatter(found.rows, group) for group in study.groups)
    scatters = tuple(plot for plot in plots if plot is not None)
    parts = (
        Part("Correlations", (_correlations(found),)),
        Part("By distortion", (_by_distortion(found),), scatters=scatters),
    )
    return Chapter("execution", title, lead, EXECUTION_REMARK, parts)


def _scatter(rows: tuple[ExecutionRow, ...], group: Group) -> ScatterPlot | None:
    points = tuple(
        Point(
            row.opinions[group],
            row.execution,
            row.distortion_id,
            f"{distortion_label(row.distortion_id)}: {group} {row.opinions[group]:.2f}, "
            f"execution {row.execution:.1f}",
        )
        for row in rows
    )
    title = f"{group.title()} and execution"
    plot = ScatterPlot(title, str(group), "mean score in the database", "execution", points)
    return place_points(plot, _SCORE_STEP, _EXECUTION_STEP)


def _correlations(table: ExecutionTable) -> Table:
    """Correlations over the whole experiment, beside the paper's."""
    columns = (
        Column("Against execution"),
        Column("SRCC", heat=UNIT_RANGE),
        Column("Number", name="count"),
        Column("Noise ceiling", heat=UNIT_RANGE),
        Column("The paper", name="paper"),
    )
    rows: list[Row] = []
    for group, one in table.over_distortions.items():
        title = f"{group.title()}, mean of each distortion"
        rows.append((title, one.value, one.count, table.ceilings[group], _PAPER[group]))
    for group, one in table.over_runs.items():
        rows.append((f"{group.title()} of the run itself", one.value, one.count, None, ""))
    note = (
        "Over distortions: the database's mean opinion at the levels that were run, against the mean "
        "execution score. "
        "Its noise ceiling: the product of both sides' own, over the same distortions; a side with "
        "one subject has none. "
        "Over runs: first decision or answer against the score of the same run."
    )
    return Table("execution", "Execution", columns, rows, note)


def _by_distortion(table: ExecutionTable) -> Table:
    columns = (
        Column("Distortion"),
        Column("Runs"),
        Column("Left out"),
        Column("Execution", 1, heat=_PERCENT),
        Column("Cognition", heat=SCORE_RANGE),
        Column("Decision", heat=SCORE_RANGE),
        Column("SRCC of cognition", name="cognition_srcc"),
        Column("SRCC of decision", name="decision_srcc"),
    )
    rows: list[Row] = [
        (
            distortion_label(row.distortion_id),
            row.runs,
            row.left_out,
            row.execution,
            *row.opinions.values(),
            *(one.value for one in row.correlations.values()),
        )
        for row in table.rows
    ]
    note = (
        "Left out: runs whose reference run failed. Cognition and decision: mean opinion in "
        "the database; their SRCC: over the runs of the distortion, with execution."
    )
    return Table("execution_by_distortion", "Execution by distortion", columns, rows, note, folded=True)
