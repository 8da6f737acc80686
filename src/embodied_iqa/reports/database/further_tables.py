"""Tables beside the scores: low-level attributes of the pictures, and execution."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

import numpy as np

from embodied_iqa.analysis.attributes import AttributeTable
from embodied_iqa.analysis.ceiling import Ceiling
from embodied_iqa.analysis.correlation import Correlation
from embodied_iqa.analysis.execution import ExecutionTable
from embodied_iqa.analysis.grid import Group
from embodied_iqa.analysis.published import DECISION_EXECUTION
from embodied_iqa.reports.database.score_tables import name_of
from embodied_iqa.reports.database.tables import Cell, Column, Table

__all__ = ["attribute_correlations", "attribute_means", "execution_means", "execution_rows"]

_SCALE: Final = (0.0, 5.0)
_UNIT: Final = (0.0, 1.0)
_PERCENT: Final = (0.0, 100.0)


def attribute_means(found: AttributeTable) -> Table:
    """Mean change of every attribute by distortion, as a share of the references' mean."""
    base = np.array(found.rows[0].means)
    titles = [name.replace("_", " ").capitalize() for name in found.names]
    columns = [Column("Distortion"), Column("Pictures")]
    columns += [
        Column(f"{t}, %", 0, name=f"{n}_change_percent") for t, n in zip(titles, found.names, strict=True)
    ]
    columns += [Column(name, name=f"{name}_mean", shown=False) for name in found.names]
    rows: list[tuple[Cell, ...]] = []
    for row in found.rows:
        title = name_of(row.distortion_id) if row.distortion_id else "References"
        with np.errstate(divide="ignore", invalid="ignore"):
            changes = 100 * np.array(row.changes) / np.abs(base)
        rows.append((title, row.count, *(float(value) for value in changes), *row.means))
    note = (
        "Mean change of each attribute from the reference to the distorted picture, in percent of the "
        "references' mean; all levels together. Sharpness falls where blur grows. The CSV file has the "
        "means too."
    )
    return Table("attributes", "Low-level attributes", tuple(columns), tuple(rows), note)


def attribute_correlations(found: AttributeTable, ceilings: Mapping[Group, Ceiling]) -> Table:
    """How the change of each attribute goes with the mean opinions."""
    columns = [
        Column("Attribute"),
        *(Column(str(group).capitalize(), name=f"{group}_srcc") for group in found.correlations),
    ]
    rows: list[tuple[Cell, ...]] = [
        (name.replace("_", " ").capitalize(), *(every[index].value for every in found.correlations.values()))
        for index, name in enumerate(found.names)
    ]
    # what is measured without noise can at most reach the root of the other side's reliability
    limits = (ceilings[group].corrected for group in found.correlations)
    rows.append(("Noise ceiling", *(math.sqrt(limit) if limit >= 0 else math.nan for limit in limits)))
    note = (
        "SRCC of the absolute change of an attribute with the mean opinion, over all pairs; negative where a "
        "larger change means a lower score. Noise ceiling: the root of the subjects' own, the largest size "
        "that a correlation with their mean opinion can have."
    )
    return Table("attributes_srcc", "Attributes against scores", tuple(columns), tuple(rows), note)


def execution_means(found: ExecutionTable) -> Table:
    """The correlations of the whole experiment, beside the paper's."""
    columns = (
        Column("Against execution"),
        Column("SRCC", heat=_UNIT),
        Column("Number", name="count"),
        Column("Noise ceiling", heat=_UNIT),
        Column("The paper", name="paper"),
    )
    decision = f"{DECISION_EXECUTION} (above 0.6)"
    rows = (
        _line(
            "Cognition, mean of each distortion", found.cognition_means, found.cognition_ceiling, "below 0.5"
        ),
        _line("Decision, mean of each distortion", found.decision_means, found.decision_ceiling, decision),
        _line("Cognition of the run itself", found.cognition_runs, math.nan, ""),
        _line("Decision of the run itself", found.decision_runs, math.nan, ""),
    )
    note = (
        "Over distortions: the database's mean opinion at the levels that were run, against the mean "
        "execution score. "
        "Its noise ceiling: the geometric mean of both sides' own, over the same distortions; a side with "
        "one subject has none. "
        "Over runs: first decision or answer against the score of the same run."
    )
    return Table("execution", "Execution", columns, rows, note)


def execution_rows(found: ExecutionTable) -> Table:
    """Execution by distortion."""
    columns = (
        Column("Distortion"),
        Column("Runs"),
        Column("Left out"),
        Column("Execution", 1, heat=_PERCENT),
        Column("Cognition", heat=_SCALE),
        Column("Decision", heat=_SCALE),
        Column("SRCC of cognition", name="cognition_srcc"),
        Column("SRCC of decision", name="decision_srcc"),
    )
    rows = tuple(
        (name_of(row.distortion_id), row.runs, row.left_out, row.execution, row.cognition, row.decision,
         row.cognition_srcc.value, row.decision_srcc.value)
        for row in found.rows
    )  # fmt: skip
    note = (
        "Left out: runs held against a reference run that failed. Cognition and decision: mean opinion in "
        "the database; their SRCC: over the runs of the distortion, with execution."
    )
    return Table("execution_by_distortion", "Execution by distortion", columns, rows, note, folded=True)


def _line(title: str, one: Correlation, ceiling: float, paper: str) -> tuple[Cell, ...]:
    return title, one.value, one.count, ceiling, paper
