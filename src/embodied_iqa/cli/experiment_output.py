"""What `embodied-iqa experiment` prints and writes for people and tables."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from embodied_iqa.cli.output import console
from embodied_iqa.errors import InputError
from embodied_iqa.experiment.scores import MeanRow
from embodied_iqa.scoring.execution import EXECUTION_RECIPE

__all__ = ["as_tree", "print_table", "write_csv"]

SCHEMA = 1
_COLUMNS = ("distortion_id", "distortion_name", "distortion_class", "runs", "left_out", "success_rate")
_MORE = ("emergency_stops", "score", "spread")


def as_tree(rows: Sequence[MeanRow]) -> dict[str, Any]:
    """Return the table as JSON has it."""
    return {
        "schema": SCHEMA,
        "recipe": EXECUTION_RECIPE,
        "distortions": [_tree(row) for row in rows if row.distortion_id != "all"],
        "all": next(_tree(row) for row in rows if row.distortion_id == "all"),
    }


def write_csv(rows: Sequence[MeanRow], path: Path) -> None:
    """Write the table, whole or not at all; an empty cell where nothing counts."""
    levels = _levels(rows)
    fresh = path.with_name(f".{path.name}.part")
    try:
        with fresh.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow([*_COLUMNS, *_MORE, *(f"score_level_{level}" for level in levels)])
            for row in rows:
                cells = [getattr(row, name) for name in (*_COLUMNS, *_MORE)]
                writer.writerow([*map(_cell, cells), *(_cell(row.by_level.get(level)) for level in levels)])
        os.replace(fresh, path)  # noqa: PTH105 - one call that says what it is for
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None


def print_table(rows: Sequence[MeanRow]) -> None:
    """Print the table."""
    from rich.table import Table  # noqa: PLC0415

    levels = _levels(rows)
    table = Table(title="mean execution score", title_justify="left", header_style="bold")
    table.add_column("distortion")
    for name in ("runs", "left out", "success", "e-stops", "score", "spread"):
        table.add_column(name, justify="right")
    for level in levels if len(levels) > 1 else ():
        table.add_column(f"level {level}", justify="right")
    for row in rows:
        name = "all" if row.distortion_id == "all" else f"{row.distortion_id} {row.distortion_name}"
        success = "-" if row.success_rate is None else f"{100 * row.success_rate:.0f} %"
        counts = [str(row.runs), str(row.left_out), success, str(row.emergency_stops)]
        numbers = [row.score, row.spread]
        if len(levels) > 1:
            numbers += [row.by_level.get(level) for level in levels]
        shown = ["-" if number is None else f"{number:.1f}" for number in numbers]
        table.add_row(name, *counts, *shown, end_section=row is rows[-2] if len(rows) > 1 else False)
    console().print(table)


def _levels(rows: Sequence[MeanRow]) -> list[int]:
    return sorted({level for row in rows for level in row.by_level})


def _tree(row: MeanRow) -> dict[str, Any]:
    tree = {name: getattr(row, name) for name in (*_COLUMNS, *_MORE)}
    return tree | {"by_level": {str(level): score for level, score in row.by_level.items()}}


def _cell(value: object) -> str:
    if value is None:
        return ""
    return repr(value) if isinstance(value, float) else str(value)
