"""Progress and summary of `embodied-iqa build`."""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from embodied_iqa.base.jobs.engine import BlockReport
from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.cli.output import console, next_command, printable, table_of
from embodied_iqa.data.database.building.build_options import Step
from embodied_iqa.data.database.building.builder import BuildSummary
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.data.database.unanswered import unanswered, unseen_targets

_REASONS: Final = 5
"""Skipped candidates whose reasons are printed."""


class BuildProgress:
    """A bar per step: blocks, rows per second, time left."""

    def __init__(self, bars: ProgressBars) -> None:
        self._bars = bars
        self._total: Counter[Step] = Counter()
        self._blocks: Counter[Step] = Counter()
        self._rows: Counter[Step] = Counter()

    def begin(self, step: Step, blocks: int) -> None:
        """Add blocks to a step."""
        if blocks:
            self._total[step] += blocks
            self._bars.update(_bar(step), self._blocks[step], self._total[step])

    def advance(self, step: Step, report: BlockReport) -> None:
        """Count a finished block."""
        self._blocks[step] += 1
        self._rows[step] += report.rows
        rate = self._bars.per_second(_bar(step), self._rows[step])
        self._bars.update(_bar(step), self._blocks[step], note=f"{rate:,.3g} rows/s")


def _bar(step: Step) -> str:
    return f"{step}, in blocks of rows"


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
    return {
        "database": str(path),
        "steps": steps,
        "counts": summary.record.counts,
        "unseen_targets": asdict(unseen_targets(DatabaseStore(path)))["counts"],
        "skipped": summary.record.skipped,
        "skipped_reasons": [": ".join(row) for row in _skipped(path)[:_REASONS]],
        "megabytes": round(_size_bytes(path) / 1e6, 2),
    }


def print_summary(path: Path, summary: BuildSummary) -> None:
    """Print the work of each step, failures, and the size of the database."""
    tree = summary_tree(path, summary)
    numbers = ("rows", "seconds", "rows/s", "outside inference")
    table = table_of("step", *numbers, "failures", title=f"database {path}", right=numbers)
    counts = dict(tree["counts"])
    missing = {name: count for name, count in counts.pop("failures").items() if count}
    silent = unanswered(DatabaseStore(path), missing)
    idle = [name for one in silent for name in one.subjects]
    for step, item in tree["steps"].items():
        share = item["share_outside_inference"]
        failures = _failures(item["failures"], idle)
        cells = [f"{item['rows']:,}", f"{item['seconds']:.1f}", f"{item['rows_per_s']:,.0f}"]
        table.add_row(step, *cells, "-" if share is None else f"{share:.0%}", failures or "-")
    console().print(table)
    words = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    print(f"in all: {words}; {tree['megabytes']:,.1f} MB")
    if others := [f"{name} {count:,}" for name, count in missing.items() if name not in idle]:
        print(f"no answer: {', '.join(others)}")
    for one in silent:
        print(printable(str(one)))
    for remark in unseen_targets(DatabaseStore(path)).remarks:
        print(f"note: {remark}")
    if tree["skipped"]:
        skipped = ", ".join(f"{count:,} {kind}" for kind, count in tree["skipped"].items())
        print(f"skipped candidates (skipped.csv): {skipped}")
        rows = _skipped(path)
        for origin, reason in rows[:_REASONS]:
            print(f"  {printable(origin)}: {printable(reason)}")
        if len(rows) > _REASONS:
            print(f"  and {len(rows) - _REASONS:,} more")


def _failures(failures: Mapping[str, int], idle: Sequence[str]) -> str:
    """Return the failures of a step; subjects without any answer are counted, their reason is below."""
    own = {name: [key for key in failures if key == name or key.startswith(f"{name} has ")] for name in idle}
    reported = {key for keys in own.values() for key in keys}
    parts = [f"{name}: {count}" for name, count in failures.items() if name not in reported]
    if silent := sum(map(bool, own.values())):
        parts.append(f"{silent} subject{'s' if silent > 1 else ''} without answers")
    return ", ".join(parts)


def next_report(store: DatabaseStore) -> None:
    """Print the command that reports a database; an unfinished one is continued first."""
    if "scores" not in store.tables():
        print("not finished: the same command without --steps goes on")
        return
    made_for_views = True in store.scores(["own_view"])["own_view"].unique().to_pylist()
    next_command("report", store.path, *(() if made_for_views else ("--all-views",)))


def print_against(means: Mapping[str, Mapping[str, float | int | None]]) -> None:
    """Print how far decisions agree with recorded actions, by subject."""
    for subject, row in means.items():
        words = "not compared, see recorded_actions.csv"
        if row["score"] is not None:
            words = f"{row['score']:.3f}, on the references {row['reference_score']:.3f}"
        counts = f"{row['decisions']:,} decisions"
        if row["refused"] or row["reference_refused"]:
            counts += (
                f", {row['refused']:,} see no target, {row['reference_refused']:,} none on the reference"
            )
        print(f"against recorded actions: {subject} {words} ({counts})")


def _skipped(path: Path) -> list[tuple[str, str]]:
    """Return origin and reason of each candidate that was left out."""
    file = path / "skipped.csv"
    if not file.is_file():
        return []
    with file.open(encoding="utf-8", newline="") as lines:
        return [(row["origin"], row["reason"]) for row in csv.DictReader(lines)]


def _size_bytes(path: Path) -> int:
    return sum(
        os.path.getsize(Path(folder) / name)  # noqa: PTH202 - a tenth of the time for many files
        for folder, _, names in os.walk(path)
        for name in names
    )
