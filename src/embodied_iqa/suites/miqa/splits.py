"""Split of references 4:1, stratified by class, in the published files."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Final

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import write_text_whole
from embodied_iqa.models.vision.predictions import VisionTask
from embodied_iqa.quality.metrics.human.database import csv_rows
from embodied_iqa.suites.miqa.layout import TaskFolder
from embodied_iqa.suites.miqa.rows import Part

_EVERY: Final = 5
"""One of so many references is for validation."""
_NAMES: Final = ("Image Name", "Image Index")
_CATEGORY: Final = "Category"


def split_references(categories: Mapping[str, str], seed: int) -> dict[str, Part]:
    """Return the side of each reference.

    In the order of classes, and within a class of a seeded hash, every fifth reference is for validation: so
    each class is split 4:1 to within one reference, and the whole too.

    Args:
        categories: Name of a reference to its class; the order does not matter.
        seed: Of the split.
    """

    def order(name: str) -> tuple[str, bytes, str]:
        return categories[name], blake2b(f"{seed}|split|{name}".encode(), digest_size=8).digest(), name

    names = sorted(categories, key=order)
    is_validation = (index % _EVERY == _EVERY // 2 for index in range(len(names)))
    return {
        name: Part.VALIDATION if chosen else Part.TRAIN
        for name, chosen in zip(names, is_validation, strict=True)
    }


def write_splits(folder: TaskFolder, categories: Mapping[str, str], parts: Mapping[str, Part]) -> None:
    """Write ``train.csv`` and ``val.csv``: name and class for classification, name else."""
    is_cls = folder.task is VisionTask.CLASSIFICATION
    for part in Part:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([_NAMES[0], _CATEGORY] if is_cls else [_NAMES[1]])
        chosen = sorted(name for name, side in parts.items() if side is part)
        writer.writerows([name, categories[name]] if is_cls else [name] for name in chosen)
        write_text_whole(folder.splits / f"{part}.csv", text.getvalue())


def read_split(file: Path) -> dict[str, str]:
    """Return the references of a published file, without suffix, with their classes (empty if not given).

    Raises:
        InputError: The file cannot be read or has other columns.
    """
    found: dict[str, str] = {}
    for row in csv_rows(file, ()):
        column = next((name for name in _NAMES if row.get(name)), None)
        if column is None:
            raise InputError(f"{file} has other columns", expected=" or ".join(_NAMES), got=", ".join(row))
        found[Path(row[column]).stem if "." in row[column] else row[column]] = row.get(_CATEGORY) or ""
    return found
