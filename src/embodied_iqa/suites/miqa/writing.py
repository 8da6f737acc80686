"""Writing of a task's labels: the published files, the table, splits and the manifest."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

from embodied_iqa.base.files import write_text_whole
from embodied_iqa.base.tables import schema_of, table_of, write_table
from embodied_iqa.models.vision.predictions import VisionTask
from embodied_iqa.suites.miqa.layout import TaskFolder
from embodied_iqa.suites.miqa.manifest import Manifest, write_manifest
from embodied_iqa.suites.miqa.rows import MiqaRow
from embodied_iqa.suites.miqa.splits import write_splits

CLASSIFICATION_COLUMNS: Final = (
    "dist_images",
    "weighted_consistency",
    "weighted_accuracy",
    "mean_consistency",
    "std_consistency",
    "mean_accuracy",
    "std_accuracy",
)
"""Columns of ``NAME_mmos.csv``."""
DETECTION_COLUMNS: Final = ("filename", "AP_weighted_avg", "AP_mean", "AP_std")
"""Columns of ``NAME_accuracy.csv`` and ``NAME_consistency.csv``; the last two are our own."""


def write_task(folder: TaskFolder, manifest: Manifest, rows: Sequence[MiqaRow]) -> None:
    """Write everything of a task but its images; the manifest last, which completes the labels.

    Args:
        folder: Of the task.
        manifest: How the labels were made.
        rows: Those of one reference are neighbours.

    Raises:
        InputError: A file cannot be written.
    """
    folder.manifest_file.unlink(missing_ok=True)
    if not manifest.folder:
        groups = groupby(rows, lambda row: row.reference)
        written = {file for name, group in groups for file in _write_labels(folder, name, list(group))}
        for file in set(folder.labels.glob("*.csv")) - written:  # a build of more references left it
            file.unlink()
    categories = {row.reference: row.category for row in rows}
    write_splits(folder, categories, {row.reference: row.part for row in rows})
    write_table(folder.table_file, table_of(MiqaRow, rows), schema_of(MiqaRow))
    write_manifest(folder, manifest)


def _write_labels(folder: TaskFolder, reference: str, rows: Sequence[MiqaRow]) -> Iterator[Path]:
    """Write the published files of a reference and yield them."""
    if folder.task is VisionTask.CLASSIFICATION:
        cells = [(row.image, *(getattr(row, name) for name in CLASSIFICATION_COLUMNS[1:])) for row in rows]
        yield _write_csv(folder.labels / f"{reference}_mmos.csv", CLASSIFICATION_COLUMNS, cells)
        return
    for kind in ("accuracy", "consistency"):
        names = [f"{form}_{kind}" for form in ("weighted", "mean", "std")]
        cells = [(row.image.rpartition("/")[2], *(getattr(row, name) for name in names)) for row in rows]
        yield _write_csv(folder.labels / f"{reference}_{kind}.csv", DETECTION_COLUMNS, cells)


def _write_csv(file: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Path:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    write_text_whole(file, text.getvalue())
    return file
