"""Console and tables of the sub-commands."""

from __future__ import annotations

import sys
from typing import Any, Final

from rich.console import Console
from rich.table import Table

_FILE_WIDTH: Final = 200


def console() -> Console:
    """Return a console as wide as the terminal, or wide enough for every table in a file or pipe."""
    return Console(width=None if sys.stdout.isatty() else _FILE_WIDTH)


def results_table(scores: dict[str, Any]) -> None:
    """Print the runs of a scores.json, one table per task."""
    tables: dict[str, Table] = {}
    for run in scores["runs"]:
        if run["task"] not in tables:
            title = f"{run['task']} (scene {run['scene_seed']})"
            table = tables[run["task"]] = Table(title=title, title_justify="left", header_style="bold")
            table.add_column("run")
            for name in ("cognition", "decision", "execution", "pass/hold/reject", "lost"):
                table.add_column(name, justify="right")
            table.add_column("outcome")
        tables[run["task"]].add_row(*_cells(run))
    for table in tables.values():
        console().print(table)


def _cells(run: dict[str, Any]) -> list[str]:
    distortion, gate, execution = run["distortion"], run["gate"], run["execution"]
    name = "reference"
    if distortion is not None:
        name = f"{distortion['id']}:{distortion['level']} {distortion['name']}"
    return [
        name,
        _number(run["cognition"], "score", 3),
        _number(run["decision"], "score", 3),
        _number(execution, "score", 1),
        f"{gate['pass']}/{gate['hold']}/{gate['reject']}",
        str(run["frames"]["lost"]),
        (execution["outcome"] or "not executed").replace("_", " "),
    ]


def _number(part: dict[str, Any] | None, key: str, digits: int) -> str:
    if part is None or part[key] is None:
        return "-"
    return f"{part[key]:.{digits}f}"
