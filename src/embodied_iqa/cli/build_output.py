"""What `embodied-iqa build` shows while it works and when it is done."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

from embodied_iqa.cli.output import console
from embodied_iqa.database.building.builder import BuildSummary
from embodied_iqa.database.building.engine import BlockReport
from embodied_iqa.database.building.settings import Step

__all__ = ["ProgressBars", "print_summary", "summary_tree"]


class ProgressBars:
    """A bar a step: blocks, rows a second, time left."""

    def __init__(self) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
        )
        self._bars = Progress(*columns, console=Console(stderr=True))
        self._lines: dict[Step, TaskID] = {}
        self._rows: dict[Step, int] = {}

    def begin(self, step: Step, blocks: int) -> None:
        """Add blocks to a step."""
        if not blocks:
            return
        if step not in self._lines:
            self._lines[step] = self._bars.add_task(str(step), total=0, rate="")
            self._rows[step] = 0
        line = self._lines[step]
        self._bars.update(line, total=(self._bars.tasks[line].total or 0) + blocks)

    def advance(self, step: Step, report: BlockReport) -> None:
        """Move a step's bar on."""
        self._rows[step] += report.rows
        line = self._lines[step]
        elapsed_s = max(self._bars.tasks[line].elapsed or 0.0, 1e-3)
        self._bars.update(line, advance=1, rate=f"{self._rows[step] / elapsed_s:,.0f} rows/s")

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()


def summary_tree(path: Path, summary: BuildSummary) -> dict[str, Any]:
    """Return the summary as JSON has it."""
    steps = {
        str(step): {
            "blocks": item.blocks,
            "rows": item.rows,
            "seconds": round(item.seconds, 3),
            "rows_per_s": round(item.rows_per_s, 1),
            "share_outside_inference": None if item.share_outside is None else round(item.share_outside, 4),
            "failures": dict(sorted(item.failures.items())),
        }
        for step, item in summary.steps.items()
    }
    record = summary.record
    return {
        "database": str(path),
        "steps": steps,
        "counts": record["counts"],
        "skipped": record["skipped"],
        "megabytes": round(_size_bytes(path) / 1e6, 2),
    }


def print_summary(path: Path, summary: BuildSummary) -> None:
    """Print what was done, what failed, and how large the database is."""
    tree = summary_tree(path, summary)
    table = Table(title=f"database {path}", title_justify="left", header_style="bold")
    table.add_column("step")
    for name in ("rows", "seconds", "rows/s", "outside inference"):
        table.add_column(name, justify="right")
    table.add_column("failures")
    for step, item in tree["steps"].items():
        share = item["share_outside_inference"]
        failures = ", ".join(f"{name}: {count}" for name, count in item["failures"].items())
        cells = [f"{item['rows']:,}", f"{item['seconds']:.1f}", f"{item['rows_per_s']:,.0f}"]
        table.add_row(step, *cells, "-" if share is None else f"{share:.0%}", failures or "-")
    console().print(table)
    counts = dict(tree["counts"])
    missing = {name: count for name, count in counts.pop("failures").items() if count}
    words = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    print(f"in all: {words}; {tree['megabytes']:,.1f} MB")
    if missing:
        print("no answer: " + ", ".join(f"{name} {count:,}" for name, count in missing.items()))
    if tree["skipped"]:
        skipped = ", ".join(f"{count:,} {kind}" for kind, count in tree["skipped"].items())
        print(f"skipped candidates (skipped.csv): {skipped}")


def _size_bytes(path: Path) -> int:
    return sum(
        os.path.getsize(Path(folder) / name)  # noqa: PTH202 - a tenth of the time for many files
        for folder, _, names in os.walk(path)
        for name in names
    )
