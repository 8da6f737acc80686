"""The report of a database of machine vision: its labels, and how they change with the models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from embodied_iqa.models.vision.predictions import VisionTask
from embodied_iqa.pages.reports.kit.chapters import ChapterPage, tables_folder
from embodied_iqa.pages.reports.kit.formatting import number, plural
from embodied_iqa.pages.reports.kit.page import Chapter, Part
from embodied_iqa.pages.reports.kit.table import Column, Row, Table
from embodied_iqa.suites.miqa.database import MiqaDatabase, read_values
from embodied_iqa.suites.miqa.layout import TaskFolder
from embodied_iqa.suites.miqa.stability import PUBLISHED, Spread, stability_of

_LABELS = "Means over all distorted images; clean A: accuracy of the models on the references, by weight."
_STABILITY = "Labels of random parts of the models: mean (standard deviation) over 100 splits."
_STATISTICS = ("SRCC", "PLCC", "RMSE")


def has_labels(folder: Path) -> bool:
    """Whether a folder is one of `embodied-iqa miqa build` or `miqa import` with finished labels."""
    return any(TaskFolder(folder, task).manifest_file.is_file() for task in VisionTask)


def page_of(folder: Path, out: Path) -> ChapterPage:
    """Return the page of a database of machine vision, to be written to ``out``.

    Raises:
        InputError: The labels are damaged.
    """
    database = MiqaDatabase(folder)
    labels = _labels_table(database)
    counts = [f"{plural(database.manifest(task).rows, 'image')} of {task}" for task in database.tasks]
    chapters = [Chapter("labels", "Labels", "", "", (Part("", (labels,)),)), *_stability_chapters(database)]
    files = (TaskFolder(folder, task).manifest_file for task in database.tasks)
    return ChapterPage(
        name=folder.resolve().name,
        headline=f"Labels of machine vision: {', '.join(counts)}.",
        tiles=(),
        remarks=(),
        lead="",
        chapters=tuple(chapters),
        record_text="\n".join(file.read_text(encoding="utf-8") for file in files),
        tables_folder=tables_folder(out),
    )


def _labels_table(database: MiqaDatabase) -> Table:
    columns = [Column("Task"), Column("References"), Column("Images"), Column("Models")]
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


def _stability_chapters(database: MiqaDatabase) -> Iterator[Chapter]:
    """Yield the chapter on other models, of the tasks whose labels models made here."""
    columns = [Column("Task"), Column("Label"), *map(Column, _STATISTICS)]
    columns += [Column(f"published {name}", 3) for name in _STATISTICS]
    rows: list[Row] = []
    for task in (task for task in database.tasks if len(database.manifest(task).models) > 1):
        for row in stability_of(task, database.values(task)).rows:
            shown = map(_spread, (row.srcc, row.plcc, row.rmse))
            rows.append((str(task), row.label, *shown, *PUBLISHED[task, row.label]))
    if rows:
        table = Table("stability", "Stability of the labels", columns, rows, _STABILITY)
        yield Chapter("stability", "Do other models give the same labels?", "", "", (Part("", (table,)),))


def _spread(spread: Spread) -> str:
    return "undefined" if spread.mean is None else f"{number(spread.mean, 3)} ({number(spread.std, 3)})"
