"""Mean execution scores of an experiment as a printed table, CSV and JSON."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from embodied_iqa.base.files import write_text_whole
from embodied_iqa.base.records import unstructure
from embodied_iqa.cli.output import breakable, console, table_of
from embodied_iqa.models.scoring.execution_score import EXECUTION_RECIPE
from embodied_iqa.runs.experiment.scores import MeanRow

if TYPE_CHECKING:
    from embodied_iqa.runs.experiment.gate_arms import Comparison, MeasuredArm
    from embodied_iqa.runs.peers.stored import ComparedDetectors

_SCHEMA: Final = 2
_ENDS: Final = {"emergency_stops": "e-stops", "held_by_gate": "held", "no_target": "refused"}
ALL_DISTORTED: Final = "all"
_COLUMNS: Final = tuple(item.name for item in fields(MeanRow))[:-1]


def as_tree(
    rows: Sequence[MeanRow], comparison: Comparison | None = None, peers: ComparedDetectors | None = None
) -> dict[str, Any]:
    """Return the table, and the comparisons of gates and detectors where there are any, as data for JSON."""
    compared = {} if comparison is None else {"gates": _finite(unstructure(comparison))}
    compared |= {} if peers is None else {"detectors": unstructure(peers)}
    return compared | {
        "schema": _SCHEMA,
        "recipe": EXECUTION_RECIPE,
        "distortions": [_tree(row) for row in rows if row.distortion_id != "all"],
        "all": next(_tree(row) for row in rows if row.distortion_id == "all"),
        "all_by_arm": [_tree(row) for row in rows if row.distortion_id == "all"],
    }


def write_csv(rows: Sequence[MeanRow], path: Path) -> None:
    """Write the table atomically; cells without a value are empty."""
    levels = _levels(rows)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*_COLUMNS, *(f"score_level_{level}" for level in levels)])
    for row in rows:
        cells = [getattr(row, name) for name in _COLUMNS]
        writer.writerow([*cells, *(row.by_level.get(level) for level in levels)])
    write_text_whole(path, text.getvalue())


def print_table(rows: Sequence[MeanRow]) -> None:
    """Print the table; kinds of ends that no run had get no column."""
    levels = _levels(rows)
    several = len({row.arm for row in rows}) > 1
    ends = [name for name in _ENDS if any(getattr(row, name) for row in rows)]
    numbers = ["runs", "left out", "success", *(_ENDS[name] for name in ends), "score", "spread"]
    numbers += [f"level {level}" for level in levels if len(levels) > 1]
    table = table_of("distortion", *numbers, title="mean execution score", right=numbers)
    for row in rows:
        name = f"{row.distortion_id} {row.distortion_name} {breakable(row.schedule)}".strip()
        name = f"{row.arm}: {name}" if several else name
        success = "-" if row.success_rate is None else f"{100 * row.success_rate:.0f} %"
        counts = [str(row.runs), str(row.left_out), success, *(str(getattr(row, name)) for name in ends)]
        values = [row.score, row.spread]
        if len(levels) > 1:
            values += [row.by_level.get(level) for level in levels]
        shown = ["-" if number is None else f"{number:.1f}" for number in values]
        table.add_row(name, *counts, *shown, end_section=row is rows[-2] if len(rows) > 1 else False)
    console().print(table)


def print_gates(comparison: Comparison) -> None:
    """Print each gate over all distorted runs: its value, and its difference to the gate off."""
    gates = [*comparison.arms]
    table = table_of("measure", *gates, title="gates on all distorted runs (difference to off)", right=gates)
    measured = [item for item in comparison.measured if item.group == ALL_DISTORTED]
    for measure in dict.fromkeys(item.measure for item in measured):
        cells = [_against_off(item) for item in measured if item.measure is measure]
        table.add_row(measure.replace("_", " "), *cells)
    console().print(table)


def print_detectors(compared: ComparedDetectors) -> None:
    """Print how well each detector sees wrong motions."""
    numbers = {
        "AUC": "auc",
        "first image": "auc_first",
        "clean alarms": "clean_alarms",
        "stopped": "stopped",
        "delay s": "detection_s",
        "ms": "cost_ms",
    }
    table = table_of("detector", *numbers, title="wrong motions, by detector", right=[*numbers])
    for one in compared.detectors:
        values = [getattr(one, name) for name in numbers.values()]
        table.add_row(one.name, *("-" if value is None else f"{value:.2f}" for value in values))
    console().print(table)


def _against_off(item: MeasuredArm) -> str:
    value = "-" if math.isnan(item.estimate.value) else f"{item.estimate.value:.2f}"
    if item.difference is None or math.isnan(item.difference.value):
        return value
    return f"{value} ({item.difference.value:+.2f})"


def _finite(tree: Any) -> Any:
    """Return plain data with None for numbers that are not finite, which JSON does not have."""
    match tree:
        case dict():
            return {key: _finite(item) for key, item in tree.items()}
        case list() | tuple():
            return [_finite(item) for item in tree]
        case float() if not math.isfinite(tree):
            return None
    return tree


def _levels(rows: Sequence[MeanRow]) -> list[int]:
    return sorted({level for row in rows for level in row.by_level})


def _tree(row: MeanRow) -> dict[str, Any]:
    tree = {name: getattr(row, name) for name in _COLUMNS}
    return tree | {"by_level": {str(level): score for level, score in row.by_level.items()}}
