"""The published files of MIQD-2.5M: labels, joined by file name, and splits."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from embodied_iqa.base.errors import InputError
from embodied_iqa.models.vision.predictions import VisionTask
from embodied_iqa.quality.metrics.human.database import csv_rows, opinion_of
from embodied_iqa.suites.miqa.names import ImageName, parse_name
from embodied_iqa.suites.miqa.rows import Part
from embodied_iqa.suites.miqa.splits import read_split
from embodied_iqa.suites.miqa.writing import CLASSIFICATION_COLUMNS, DETECTION_COLUMNS

_SPLIT_FOLDERS: Final = ("splits", "additional_info", ".")

Row = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PublishedLabels:
    """Labels of an image, as in `MiqaRow`; None where its files lack them."""

    weighted_consistency: float
    weighted_accuracy: float
    mean_consistency: float | None
    std_consistency: float | None
    mean_accuracy: float | None
    std_accuracy: float | None


def read_published(source: Path, task: VisionTask) -> tuple[dict[ImageName, PublishedLabels], int]:
    """Return the labels by image, and the number of images that only one of its two files has.

    Args:
        source: Folder with ``labels``.
        task: The task.

    Raises:
        InputError: There is no label, a file has another form, or a label is not in [0, 1].
    """
    folder = source / "labels"
    if task is VisionTask.CLASSIFICATION:
        name, *columns = CLASSIFICATION_COLUMNS
        rows = _by_name(folder, "mmos", name, columns[:2])
        return {
            key: PublishedLabels(*(_number(row, one) for one in columns[:2]), *_numbers(row, columns[2:]))
            for key, row in rows.items()
        }, 0
    name, weighted, *others = DETECTION_COLUMNS
    accuracy, consistency = (_by_name(folder, kind, name, [weighted]) for kind in ("accuracy", "consistency"))
    found = {}
    for key in (key for key in accuracy if key in consistency):
        of_c, of_a = consistency[key], accuracy[key]
        weights = _number(of_c, weighted), _number(of_a, weighted)
        found[key] = PublishedLabels(*weights, *_numbers(of_c, others), *_numbers(of_a, others))
    return found, len(accuracy.keys() ^ consistency.keys())


def read_published_split(source: Path, references: Collection[str]) -> dict[str, tuple[Part, str]]:
    """Return side and class of each reference; empty where the folder has no split.

    Raises:
        InputError: A reference is on both sides or on none, or only one file exists.
    """
    files = {part: _split_file(source, part) for part in Part}
    if not any(files.values()):
        return {}
    found: dict[str, tuple[Part, str]] = {}
    for part, file in files.items():
        if file is None:
            raise InputError(f"{source} has one side of a split", expected=f"a CSV file of {part}")
        for name, category in read_split(file).items():
            if name in found:
                raise InputError(f"{file}: a reference is on both sides of the split", got=name)
            found[name] = (part, category)
    missing = [name for name in references if name not in found]
    if missing:
        raise InputError(f"the split of {source} lacks {len(missing)} references with labels", got=missing[0])
    return found


def _split_file(source: Path, part: Part) -> Path | None:
    for folder in (source / name for name in _SPLIT_FOLDERS):
        files = [file for file in sorted(folder.glob("*.csv")) if part in file.stem.lower()]
        if len(files) > 1:
            raise InputError(f"{folder} has several splits", expected=f"one CSV file of {part}")
        if files:
            return files[0]
    return None


def _by_name(folder: Path, kind: str, column: str, needed: Sequence[str]) -> dict[ImageName, Row]:
    """Return the rows of all files of a kind by the image that they name."""
    files = sorted(folder.glob(f"*{kind}.csv"))
    if not files:
        raise InputError(f"{folder} has no labels", expected=f"files *_{kind}.csv")
    found: dict[ImageName, Row] = {}
    for file in files:
        for row in csv_rows(file, (column, *needed)):
            try:
                name = parse_name((row[column] or "").removeprefix("images/"))
            except InputError as error:
                raise InputError(f"{file}: {error}") from error
            if name in found:
                raise InputError(f"{file} lists an image twice", got=name.file)
            found[name] = {**row, "": str(file)}
    return found


def _numbers(row: Row, columns: Sequence[str]) -> list[float | None]:
    return [_number(row, column) if row.get(column) else None for column in columns]


def _number(row: Row, column: str) -> float:
    """Return a label.

    Raises:
        InputError: It is not in [0, 1].
    """
    file = Path(row[""])
    value = opinion_of(row[column] or "", file)
    if not 0 <= value <= 1:
        raise InputError(f"{file} holds a label outside of [0, 1]", got=row[column])
    return value
