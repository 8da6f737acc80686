"""Rows of the TSV format: cells to an item, with every fault named in one line."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from embodied_iqa.base.errors import InputError
from embodied_iqa.suites.static_benchmark.items import LETTERS, Dimension, Item, Person
from embodied_iqa.suites.static_benchmark.tsv_images import MOST_IMAGE_CHARACTERS, image_bytes

_MOST_TEXT: Final = 20_000
"""Longest cell of text in characters."""
_LARGEST_INDEX: Final = 10**15
_REFERENCE: Final = 64


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the file.

    Attributes:
        number: Counted from 1 below the header.
        item: Its item.
        image: Base64 of its image, or a reference.
    """

    number: int
    item: Item
    image: str


@dataclass(frozen=True, slots=True)
class Mapped:
    """Meaning of the values of the groups.

    Attributes:
        dimensions: Value to dimension.
        persons: Value to camera.
        images: Folder of the files in `image_path`, or None.
        unmapped: Counts the values that mean neither.
    """

    dimensions: Mapping[str, Dimension]
    persons: Mapping[str, Person]
    images: Path | None
    unmapped: Counter[str] = field(default_factory=Counter)


def item_of(cells: Mapping[str, str], number: int, mapped: Mapped) -> Row:
    """Return the item of a row.

    Raises:
        InputError: A cell is wrong.
    """
    where = f"row {number}"
    for name, cell in cells.items():
        if "\0" in cell and name not in {"image", "image_path"}:
            raise InputError(f"{where}: {shown(name)} has a NUL character", expected="text")
        if name != "image" and len(cell) > _MOST_TEXT:
            message = f"{where}: {shown(name)} is too long"
            raise InputError(message, expected=f"at most {_MOST_TEXT} characters", got=len(cell))
    index = _integer(cells["index"], f"{where}: index")
    options = _options(cells, where)
    answer = cells["answer"].strip()
    if len(answer) != 1 or answer not in LETTERS[: len(options)]:
        raise InputError(
            f"{where}: answer is not an option", got=answer[:20], available=LETTERS[: len(options)]
        )
    image = _image(cells, where, mapped.images)
    group = cells.get("g_index", "")
    dimension, person, labels = _groups(cells, mapped)
    item = Item(
        index=index,
        image=index if len(image) > _REFERENCE else _integer(image, f"{where}: image"),
        question=cells["question"],
        options=options,
        answer=answer,
        hint=cells.get("hint", ""),
        dimension=dimension,
        person=person,
        source=cells.get("split", ""),
        original=_integer(group, f"{where}: g_index") if group else None,
        labels=labels,
    )
    if not item.question.strip():
        raise InputError(f"{where}: question is empty")
    return Row(number, item, image)


def shown(text: str) -> str:
    """Return the start of a text of a file as messages show it: one line without control characters."""
    return "".join(sign if sign.isprintable() else "?" for sign in text[:_REFERENCE])


def _integer(cell: str, where: str) -> int:
    text = cell.strip().removesuffix(".0")  # pandas writes integers of a column with gaps this way
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(_LARGEST_INDEX))):
        raise InputError(f"{where} is not a whole number from 0 to {_LARGEST_INDEX}", got=cell[:20])
    return int(text)


def _options(cells: Mapping[str, str], where: str) -> tuple[str, ...]:
    """Return the options: the non-empty ones from A, two or more, without a gap."""
    found = [letter for letter in LETTERS if cells.get(letter, "").strip()]
    if "".join(found) != LETTERS[: len(found)] or len(found) < 2:
        raise InputError(f"{where}: options have a gap", expected="A, B, ... without a gap", got=found)
    options = tuple(cells[letter].strip() for letter in found)
    if len(set(options)) < len(options):
        raise InputError(f"{where}: two options are equal")
    return options


def _groups(
    cells: Mapping[str, str], mapped: Mapped
) -> tuple[Dimension | None, Person | None, tuple[str, ...]]:
    """Return dimension and camera, from any column of groups, and the texts that mean neither."""
    dimension: Dimension | None = None
    person: Person | None = None
    labels: list[str] = []
    for name in ("category", "l2-category", "split"):
        word = cells.get(name, "").strip()
        if not word:
            continue
        if word in mapped.dimensions or word in set(Dimension):
            dimension = mapped.dimensions.get(word) or Dimension(word)
        elif word in mapped.persons or word in set(Person):
            person = mapped.persons.get(word) or Person(word)
        elif name != "split":
            mapped.unmapped[f"{name}={shown(word)}"] += 1
            labels.append(word)
    return dimension, person, tuple(labels)


def _image(cells: Mapping[str, str], where: str, folder: Path | None) -> str:
    """Return base64 of the image or a reference; `image` comes before `image_path`."""
    image = "".join(cells.get("image", "").split())  # base64 may be wrapped
    if len(image) > _REFERENCE:
        image_bytes(image, where)
        return image
    if image:
        return image
    name = cells.get("image_path", "").strip()
    if not name:
        raise InputError(f"{where}: neither image nor image_path")
    if folder is None:
        raise InputError(f"{where}: the image is a file", expected="--images DIR, its folder", got=name[:80])
    text = base64.b64encode(_file_bytes(name, where, folder)).decode("ascii")
    image_bytes(text, where)
    return text


def _file_bytes(name: str, where: str, folder: Path) -> bytes:
    """Return the bytes of an image below a folder; a name that leads out of it is refused."""
    try:
        path = (folder / name).resolve()
        if not path.is_relative_to(folder.resolve()) or not path.is_file():
            raise InputError(f"{where}: image_path names no file in {folder}", got=name[:80])
        if path.stat().st_size > MOST_IMAGE_CHARACTERS * 3 // 4:
            raise InputError(f"{where}: image_path is too large", got=name[:80])
        return path.read_bytes()
    except (OSError, ValueError) as error:
        raise InputError(f"{where}: image_path cannot be read", got=name[:80]) from error
