"""Write the results page of machine-vision quality from a stored evaluation and its database.

python scripts/write_miqa_page.py EVALUATION MDB --log NAME=FILE ... --note TEXT --out docs/results/miqa.md

`EVALUATION` is a folder of `embodied-iqa evaluate miqa`; a log ends with the table of GNU time (`time -v`).
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import write_text_whole
from embodied_iqa.base.records import read_json
from embodied_iqa.models.vision.predictions import VisionTask
from embodied_iqa.pages.reports.kit.formatting import number
from embodied_iqa.pages.reports.kit.markdown import prose, titled_table
from embodied_iqa.pages.reports.kit.table import Column, Row, Table
from embodied_iqa.pages.reports.miqa.report import evaluation_chapters
from embodied_iqa.quality.metrics.learned.card import MetricCard, load_metric_card
from embodied_iqa.suites.miqa.database import MiqaDatabase, read_values
from embodied_iqa.suites.miqa.evaluation.results import EVALUATION_FILE, MiqaEvaluation
from embodied_iqa.suites.miqa.layout import TaskFolder
from embodied_iqa.suites.miqa.stability import PUBLISHED, Spread, stability_of

_LEAD = (
    "Labels by the embedded vision panel on rendered scenes of the simulated cell, and metrics trained on "
    "them from nothing ([miqa.md](../miqa.md)). Rows marked as published are numbers of the paper on other "
    "pictures, models and labels: orders may be compared, numbers may not. All numbers as found, with 95 % "
    "intervals from drawing the held-out references."
)
_LABELS = "Means over all distorted pictures; clean A: accuracy of the models on the references, by weight."
_STABILITY = "Labels of random parts of the models: mean (standard deviation) over 100 splits."
_TRAININGS = "Pictures and references of the training part, with those that choose the epoch."
_TIMES = (
    "Processor time of a process and its finished children as GNU time counts it, and the largest resident "
    "memory of one process. Minutes passed are those of two cores that other programs load."
)
_PUBLISHED: Final = "published"
_LONG: Final = 12
"""Rows of a table."""
_STATISTICS = ("SRCC", "PLCC", "RMSE")
_TIME: Final = re.compile(
    r"User time \(seconds\): (?P<user>[\d.]+).*?System time \(seconds\): (?P<system>[\d.]+)"
    r".*?Elapsed .*?: (?:(?P<hours>\d+):)?(?P<minutes>\d+):(?P<seconds>[\d.]+)\n"
    r".*?Maximum resident set size \(kbytes\): (?P<memory>\d+)",
    re.DOTALL,
)


def main() -> int:
    """Read, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("evaluation", type=Path, metavar="EVALUATION")
    add("database", type=Path, metavar="MDB")
    add("--log", action="append", default=[], metavar="NAME=FILE", help="what was run, and its log")
    add("--command", action="append", default=[], help="one of those that made the numbers")
    add("--note", action="append", default=[], help="a paragraph about the measurement")
    add("--out", type=Path, required=True)
    arguments = parser.parse_args()
    result = read_json(MiqaEvaluation, arguments.evaluation / EVALUATION_FILE, "an evaluation")
    logs = [log.partition("=") for log in arguments.log]
    tables = [times_table([(name, Path(file)) for name, _, file in logs])] if logs else []
    notes = [*map(prose, arguments.note), "\n".join(["```", *arguments.command, "```"])]
    parts = page(result, MiqaDatabase(arguments.database), tables, notes)
    write_text_whole(arguments.out, "\n\n".join(parts) + "\n")
    return 0


def page(
    result: MiqaEvaluation, database: MiqaDatabase, times: Sequence[Table], notes: Sequence[str]
) -> Iterator[str]:
    """Yield the paragraphs and tables of the page."""
    yield "# Machine-vision quality"
    yield prose(_LEAD)
    yield from notes
    yield prose("`scripts/write_miqa_page.py EVALUATION MDB --log NAME=FILE --out PAGE` writes this page.")
    yield "## Labels"
    yield titled_table(_labels_table(database))
    yield titled_table(_stability_table(database))
    yield "## Trainings"
    yield titled_table(_trainings_table(_cards(result)))
    yield from map(titled_table, times)
    for chapter in evaluation_chapters(result):
        yield f"## {chapter.title}"
        if chapter.lead:
            yield prose(chapter.lead)
        for table in (table for part in chapter.parts for table in part.tables):
            yield from map(titled_table, _unfolded(table))
    yield from map(prose, result.remarks)


def _unfolded(table: Table) -> Iterator[Table]:
    """Yield a table; the published rows of a long one follow in a folded table of their own."""
    own = [row for row in table.rows if not str(row[0]).startswith(_PUBLISHED)]
    if len(table.rows) <= _LONG:
        yield table
        return
    yield replace(table, rows=own)
    if others := [row for row in table.rows if row not in own]:
        yield replace(table, title=f"{table.title}, published", rows=others, note="", folded=True)


def times_table(logs: Sequence[tuple[str, Path]]) -> Table:
    """Return processor time, time passed and memory of commands from their logs.

    Raises:
        InputError: A log has no table of GNU time.
    """
    columns = (
        Column("Command"),
        Column("Processor min", 1),
        Column("Passed min", 1),
        Column("Memory MiB", 0),
    )
    rows: list[Row] = []
    for name, file in logs:
        found = _TIME.search(file.read_text(encoding="utf-8"))
        if found is None:
            raise InputError(f"{file} has no times", expected="a log of /usr/bin/time -v")
        used = {key: float(value or 0) for key, value in found.groupdict().items()}
        passed = 60 * used["hours"] + used["minutes"] + used["seconds"] / 60
        rows.append((name, (used["user"] + used["system"]) / 60, passed, used["memory"] / 1024))
    return Table("times", "Time and memory", columns, rows, _TIMES)


def _labels_table(database: MiqaDatabase) -> Table:
    columns = [Column("Task"), Column("References"), Column("Pictures"), Column("Models")]
    columns += [Column(title, 3) for title in ("C", "A", "Composite", "Clean A")]
    rows: list[Row] = []
    for task in database.tasks:
        manifest, found = database.manifest(task), database.rows(task)
        fields = ("weighted_consistency", "weighted_accuracy", "composite")
        means = [float(np.mean([getattr(row, name) for row in found])) for name in fields]
        counts = manifest.references, manifest.rows, len(manifest.models)
        rows.append((str(task), *counts, *means, _clean_accuracy(database, task)))
    return Table("labels", "Labels", columns, rows, _LABELS)


def _clean_accuracy(database: MiqaDatabase, task: VisionTask) -> float | None:
    """Return the weighted accuracy of the models on the references; None for imported labels."""
    weights = [model.weight for model in database.manifest(task).models]
    if not weights:
        return None
    names = dict.fromkeys(row.reference for row in database.rows(task))
    clean = [read_values(TaskFolder(database.path, task), name)[0] for name in names]
    return float(np.mean([np.dot(row.accuracy, weights) for row in clean]))


def _stability_table(database: MiqaDatabase) -> Table:
    columns = [Column("Task"), Column("Label"), *map(Column, _STATISTICS)]
    columns += [Column(f"published {name}", 3) for name in _STATISTICS]
    rows: list[Row] = []
    for task in (task for task in database.tasks if database.manifest(task).models):
        for row in stability_of(task, database.values(task)).rows:
            shown = map(_spread, (row.srcc, row.plcc, row.rmse))
            rows.append((str(task), row.label, *shown, *PUBLISHED[task, row.label]))
    return Table("stability", "Stability of the labels", columns, rows, _STABILITY)


def _spread(spread: Spread) -> str:
    return "undefined" if spread.mean is None else f"{number(spread.mean, 3)} ({number(spread.std, 3)})"


def _cards(result: MiqaEvaluation) -> dict[str, MetricCard]:
    """Return the cards of the trained metrics of an evaluation, by name."""
    trained = dict.fromkeys(row.metric for row in result.metrics if row.trained_on)
    return {name: load_metric_card(Path(name.removeprefix("trained:"))) for name in trained}


def _trainings_table(cards: dict[str, MetricCard]) -> Table:
    facts = {
        "Pictures": "pairs",
        "References": "references",
        "Epochs": "epochs",
        "Best epoch": "best_epoch",
        "Parameters": "parameters",
    }
    columns = [Column("Metric"), Column("Target"), *map(Column, facts), Column("Validation SRCC", 3)]
    rows: list[Row] = []
    for card in cards.values():
        numbers = (int(str(card.training[name])) for name in facts.values())
        chosen = card.training["validation_srcc"]
        rows.append((card.name, card.target, *numbers, float(str(chosen)) if chosen is not None else None))
    return Table("trainings", "Trained metrics", columns, rows, _TRAININGS)


if __name__ == "__main__":
    main()
