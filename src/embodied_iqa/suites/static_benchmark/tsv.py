"""The TSV format of StaticEmbodiedBench, as VLMEvalKit's loader of multiple-choice data sets reads it."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import write_whole
from embodied_iqa.suites.static_benchmark.items import LETTERS, Dimension, Item, Person
from embodied_iqa.suites.static_benchmark.tsv_images import MOST_IMAGE_CHARACTERS, decode_image
from embodied_iqa.suites.static_benchmark.tsv_rows import Mapped, Row, item_of, shown

LONGEST_REFERENCE: Final = 64
"""An `image` cell of at most so many characters is the index of another row."""
_MOST_ROWS: Final = 1_000_000
_KNOWN: Final = frozenset({
    "index", "image", "image_path", "question", "hint", "answer", "category", "l2-category", "split",
    "g_index", *LETTERS,
})  # fmt: skip
_REQUIRED: Final = ("index", "question", "A", "B", "answer")
_MISSING_IN_PANDAS: Final = frozenset({
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A",
    "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
})  # fmt: skip
"""Texts that pandas.read_csv takes for a missing cell."""


@dataclass(frozen=True, slots=True)
class ItemTable:
    """The items of a file with their images.

    Attributes:
        items: In the order of the file.
        images: Index of a row to base64 of its image.
        unknown_columns: Columns that were not read.
        unmapped: Values of the columns of groups that are not known, with their number.
    """

    items: tuple[Item, ...]
    images: Mapping[int, str]
    unknown_columns: tuple[str, ...] = ()
    unmapped: Mapping[str, int] = field(default_factory=dict)

    @property
    def missing_in_pandas(self) -> tuple[Item, ...]:
        """Items with an option such as "None", which VLMEvalKit (pandas) takes for a missing cell."""
        return tuple(item for item in self.items if not _MISSING_IN_PANDAS.isdisjoint(item.options))

    def image(self, item: Item) -> NDArray[np.uint8]:
        """Return an item's image, ``(H, W, 3)`` uint8 RGB.

        Raises:
            InputError: It is damaged.
        """
        return decode_image(self.images[item.image], f"item {item.index}")


def read_tsv(
    path: Path,
    dimensions: Mapping[str, Dimension] | None = None,
    persons: Mapping[str, Person] | None = None,
    images: Path | None = None,
) -> ItemTable:
    """Read a file, plain or circular.

    Args:
        path: The file.
        dimensions: Values of `category` or `l2-category` that name a dimension, besides those of `Dimension`.
        persons: The same for the camera.
        images: Folder of the files in `image_path`; None where every image is in `image`.

    Raises:
        InputError: The file is not such a table, as the message says with the row; rows are counted from 1
            below the header.
    """
    mapped = Mapped(dict(dimensions or {}), dict(persons or {}), images)
    rows: list[Row] = []
    columns: list[str] = []
    for cells in _rows(path):
        if not columns:
            columns = _checked_columns(cells, path)
        elif len(rows) == _MOST_ROWS:
            raise InputError(f"{path} has too many rows", expected=f"at most {_MOST_ROWS}")
        else:
            rows.append(item_of(dict(zip(columns, cells, strict=True)), len(rows) + 1, mapped))
    if not rows:
        raise InputError(f"{path} holds no items")
    items = _linked(rows)
    unknown = tuple(name for name in columns if name not in _KNOWN)
    stored = {row.item.index: row.image for row in rows if len(row.image) > LONGEST_REFERENCE}
    return ItemTable(items, stored, unknown, mapped.unmapped)


def write_tsv(path: Path, items: Iterable[Item], images: Mapping[int, str]) -> None:
    """Write a file atomically; the same items give the same bytes.

    Args:
        path: The file.
        items: The items; those that share an image refer to the row that stores it.
        images: Index of a row to base64 of its image.

    Raises:
        InputError: The file cannot be written.
    """
    write_whole(path, lambda fresh: _write(fresh, tuple(items), images))


def _write(path: Path, items: tuple[Item, ...], images: Mapping[int, str]) -> None:
    most = max((len(item.options) for item in items), default=2)
    circular = any(item.original is not None for item in items)
    groups = ["category", "l2-category", "split", *(["g_index"] if circular else [])]
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, delimiter="\t", lineterminator="\n")
        writer.writerow(["index", "question", "hint", *LETTERS[:most], "answer", *groups, "image"])
        for item in items:
            image = images[item.index] if item.image == item.index else str(item.image)
            options = [*item.options, *[""] * (most - len(item.options))]
            words = [*_groups(item), *([str(item.group)] if circular else [])]
            writer.writerow([item.index, item.question, item.hint, *options, item.answer, *words, image])


def _groups(item: Item) -> tuple[str, str, str]:
    """Return the cells of the groups; a text without a meaning has the place of a missing one."""
    unknown = iter((*item.labels, "", ""))
    return item.dimension or next(unknown), item.person or next(unknown), item.source


def _rows(path: Path) -> Iterator[list[str]]:
    """Yield the rows of a file as cells, with the limit on their size set only while it is read."""
    before = csv.field_size_limit(MOST_IMAGE_CHARACTERS)
    count, width = 0, 0
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            for cells in csv.reader(stream, delimiter="\t", strict=True):
                width = width or len(cells)
                if len(cells) != width:
                    raise InputError(
                        f"{path} row {count}: wrong number of cells", expected=str(width), got=len(cells)
                    )
                yield cells
                count += 1
    except csv.Error as error:
        raise InputError(f"{path} row {count}: {error}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text: {error.reason} near row {count}") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    finally:
        csv.field_size_limit(before)


def _checked_columns(columns: list[str], path: Path) -> list[str]:
    missing = [name for name in _REQUIRED if name not in columns]
    missing += [] if {"image", "image_path"} & set(columns) else ["image"]
    if missing:
        found = [shown(name) for name in columns[:40]]
        raise InputError(f"{path} lacks columns", expected=", ".join(missing), available=found)
    if len(set(columns)) < len(columns):
        raise InputError(f"{path} names a column twice")
    return columns


def _linked(rows: list[Row]) -> tuple[Item, ...]:
    """Return the items with each image's row resolved; indices are unique, references one step."""
    by_index: dict[int, Row] = {}
    for row in rows:
        other = by_index.setdefault(row.item.index, row)
        if other is not row:
            raise InputError(f"rows {other.number} and {row.number} have the same index", got=row.item.index)
    for row in rows:
        stored = by_index.get(row.item.image)
        if stored is None:
            raise InputError(
                f"row {row.number}: image refers to an index that does not exist", got=row.item.image
            )
        if len(stored.image) <= LONGEST_REFERENCE:
            raise InputError(
                f"row {row.number}: image refers to row {stored.number}, which has no image of its own",
                expected="the index of a row with an image",
            )
        original = by_index.get(row.item.group)
        if original is None or original.item.group != original.item.index:
            message = f"row {row.number}: g_index does not refer to an unrotated item"
            raise InputError(message, got=row.item.group)
    return tuple(row.item for row in rows)
