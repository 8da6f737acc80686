"""Chapter: the gates compared on the runs of each policy."""

from __future__ import annotations

from typing import Final

from embodied_iqa.pages.reports.experiment.gate_arms import TITLES, estimate_text
from embodied_iqa.pages.reports.kit.page import Chapter, Part
from embodied_iqa.pages.reports.kit.table import Column, Row, Table
from embodied_iqa.runs.experiment.folder import StoredExperiment
from embodied_iqa.runs.experiment.gate_arms import ALL, CLEAN, Comparison, Measure, compare_arms

_LEAD: Final = (
    "Runs of each policy in the scenes in which it succeeds on undistorted images without a gate, with "
    "intervals at 95 % from drawing scenes. Time held is that of the camera behind the decisions."
)
_MEASURES: Final = (
    Measure.SUCCESS,
    Measure.WRONG_MOTIONS,
    Measure.EMERGENCY_STOPS,
    Measure.TIME_TO_FINISH,
    Measure.TIME_HELD,
    Measure.FALSE_HOLDS,
)


def chapter(stored: StoredExperiment) -> Chapter:
    """Return the chapter; for experiments with several policies."""
    arms = [arm.name for arm in stored.plan.arms]
    compared = {
        subject: compare_arms([row for row in stored.rows if row.subject == subject], arms)
        for subject in map(str, stored.plan.subjects)
    }
    tables = (
        _table(compared, ALL, "gate_policies", "All distorted runs"),
        _table(compared, CLEAN, "gate_policies_clean", "Undistorted runs"),
    )
    return Chapter("policies", "By policy", _LEAD, "", (Part("", tables),))


def _table(compared: dict[str, Comparison], group: str, name: str, title: str) -> Table:
    rows: list[Row] = []
    for subject, found in compared.items():
        known = {(item.group, item.arm, item.measure): item for item in found.measured}
        for arm in found.arms:
            measured = [known.get((group, arm, measure)) for measure in _MEASURES]
            values = (None if item is None else estimate_text(item.estimate) for item in measured)
            rows.append((subject, arm, 0 if measured[0] is None else measured[0].runs, *values))
    names = ["Policy", "Gate", "Runs", *(TITLES[measure] for measure in _MEASURES)]
    return Table(name, title, tuple(map(Column, names)), rows)
