"""Entries of a task file, YAML or CSV, each value with its line; `task_files` validates them.

YAML is read as the nodes of PyYAML, which hold the text and the line of each value. ruamel.yaml has lines as
well, but converts values and needs the same checks of the structure.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.user_files.texts import read_text
from embodied_iqa.base.user_files.yaml_files import MOST_YAML_BYTES, compose, is_null

FORMAT: Final = "embodied-iqa-tasks"
VERSION: Final = 1
JOURNAL: Final = "journal"
"""Key of YAML files that a database exported: the place in its journal."""
JOURNAL_LINE: Final = re.compile(rf"^{JOURNAL}:(?P<place>.*)$", re.MULTILINE)
ORIGIN: Final = "origin"
"""Key of their images, for people: where the database has an image from."""
_PLACE_FIELDS: Final = ("image", "bag", "stamp_ns", "view")
_TASK_FIELDS: Final = ("rank", "text", "verb")
_COLUMNS: Final = (*_PLACE_FIELDS, *_TASK_FIELDS)
"""The header of a CSV file; one task a line, tasks of an image on consecutive lines."""
_LABELS: Final = ("main_object", "main_kind", "background", "real")
"""Labels of an image: keys of YAML, further columns of CSV in any order."""
_FORMER: Final = {"pictures": "images", "picture": "image"}
"""Former name of a key or column to its present one; both are read."""


@dataclass(frozen=True, slots=True)
class Value:
    """The text of a value and its line, counted from 1."""

    text: str
    line: int


Fields = dict[str, Value]


@dataclass(frozen=True, slots=True)
class TaskEntry:
    """The fields of one task.

    Attributes:
        line: Counted from 1.
        fields: Those of known names.
        is_whole: Nothing of the task is left out for its structure.
    """

    line: int
    fields: Fields
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class Entry:
    """The fields and tasks of one image.

    Attributes:
        line: Counted from 1.
        fields: Those of known names.
        tasks: By their order.
        is_whole: Nothing of the entry is left out for its structure.
    """

    line: int
    fields: Fields
    tasks: list[TaskEntry] = field(default_factory=list)
    is_whole: bool = True


class LineError(InputError):
    """An error of a task file with its line, by which errors are sorted.

    Args:
        line: Counted from 1.
        words: What is wrong.
        path: The file; None while that is not known.
    """

    def __init__(self, line: int, words: str, path: Path | None = None) -> None:
        super().__init__(f"{line}: {words}" if path is None else f"{path}:{line}: {words}")
        self.line, self.words = line, words


def by_line(errors: Iterable[InputError]) -> tuple[InputError, ...]:
    """Return the errors of a task file in the order of their lines, those of the whole file first."""
    return tuple(sorted(errors, key=lambda error: error.line if isinstance(error, LineError) else 0))


def read_entries(path: Path, wrong: list[LineError]) -> list[Entry]:
    """Read a file: CSV if its name ends with ``.csv``, else YAML.

    Args:
        path: The file.
        wrong: Gets the errors of what has another structure, and is left out.

    Raises:
        InputError: The file cannot be read, is too large, or does not have the documented structure.
    """
    text = read_text(path, most_bytes=MOST_YAML_BYTES)
    is_csv = path.suffix.lower() == ".csv"
    root = None if is_csv else compose(text, str(path))
    faults: list[LineError] = []
    try:
        entries = _csv_entries(text, faults) if is_csv else _yaml_entries(root, faults)
    except InputError as error:
        raise InputError(f"{path}:{error}") from None
    wrong += [LineError(fault.line, fault.words, path) for fault in faults]
    return entries


def _error(line: int, message: str, expected: str | None = None, got: object = None) -> LineError:
    return LineError(line, str(InputError(message, expected=expected, got=got)))


@contextmanager
def _noting(faults: list[LineError]) -> Iterator[None]:
    """Add the error of an entry to others, so that those after it are read."""
    try:
        yield
    except LineError as error:
        faults.append(error)


def _csv_entries(text: str, faults: list[LineError]) -> list[Entry]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    entries: list[Entry] = []
    columns: list[str] = []
    try:
        for row in reader:
            if reader.line_num == 1:
                _check_heading(row)
            elif not columns:
                columns = _checked_columns([_FORMER.get(name, name) for name in row], reader.line_num)
            elif row:
                with _noting(faults):
                    _add_row(entries, columns, row, reader.line_num)
    except csv.Error as error:
        raise _error(reader.line_num, f"not CSV: {error}") from None
    return entries


def _check_heading(row: list[str]) -> None:
    heading = f"# {FORMAT} {VERSION}"
    if row != [heading]:
        raise _error(1, "not a task file of this version", repr(heading), ",".join(row))


def _checked_columns(row: list[str], line: int) -> list[str]:
    labels = row[len(_COLUMNS) :]
    if tuple(row[: len(_COLUMNS)]) != _COLUMNS or len(set(labels)) < len(labels) or set(labels) - {*_LABELS}:
        expected = f"{','.join(_COLUMNS)}, then any of {','.join(_LABELS)}"
        raise _error(line, "wrong columns", expected, ",".join(row))
    return row


def _add_row(entries: list[Entry], columns: list[str], row: list[str], line: int) -> None:
    """Add a task to the last entry if it is of the same image, else to a new one."""
    if len(row) != len(columns):
        raise _error(line, "wrong number of values", str(len(columns)), len(row))
    fields = {name: Value(text, line) for name, text in zip(columns, row, strict=True) if text}
    task = TaskEntry(line, {name: fields.pop(name) for name in _TASK_FIELDS if name in fields})
    if entries and _place(entries[-1].fields) == _place(fields):
        _add_labels(entries[-1], fields)
    else:
        entries.append(Entry(line, fields))
    entries[-1].tasks.append(task)


def _place(fields: Fields) -> dict[str, str]:
    return {name: fields[name].text for name in _PLACE_FIELDS if name in fields}


def _add_labels(entry: Entry, fields: Fields) -> None:
    """Add the labels of a further line of an image."""
    for name in _LABELS:
        if name in fields:
            first, label = entry.fields.setdefault(name, fields[name]), fields[name]
            if first.text != label.text:
                expected = f"{first.text[:40]}, as in line {first.line}"
                raise _error(label.line, f"an image has two {name}", expected, label.text[:40])


def _yaml_entries(root: Any, faults: list[LineError]) -> list[Entry]:
    if root is None:
        raise _error(1, "the file is empty", f"format: {FORMAT}")
    top = _members(root, ("format", "version", JOURNAL, "images"), "the file", faults)
    for name, wanted in (("format", FORMAT), ("version", str(VERSION))):
        node = top.get(name)
        got = node.value if isinstance(node, yaml.ScalarNode) else None
        if got != wanted:
            line = 1 if node is None else _line(node)
            raise _error(line, f"not a task file of this version: {name}", wanted, got)
    if "images" not in top:
        raise _error(1, "the file lists no images", "images:")
    entries: list[Entry] = []
    for node in _items(top["images"], "images"):
        with _noting(faults):
            entries.append(_yaml_entry(node, faults))
    return entries


def _yaml_entry(node: Any, faults: list[LineError]) -> Entry:
    before = len(faults)
    members = _members(node, (*_PLACE_FIELDS, *_LABELS, ORIGIN, "tasks"), "an image", faults)
    tasks = members.pop("tasks", None)
    fields, found = _scalars(members, faults), []
    with _noting(faults):
        for item in [] if tasks is None else _items(tasks, "tasks"):
            with _noting(faults):
                known = len(faults)
                task = _scalars(_members(item, _TASK_FIELDS, "a task", faults), faults)
                found.append(TaskEntry(_line(item), task, is_whole=len(faults) == known))
    return Entry(_line(node), fields, found, is_whole=len(faults) == before)


def _members(node: Any, known: tuple[str, ...], what: str, faults: list[LineError]) -> dict[str, Any]:
    """Return the values by their keys; what has no place among them is noted and left out."""
    if not isinstance(node, yaml.MappingNode):
        raise _error(_line(node), f"{what} is not a mapping", f"keys {', '.join(known)}")
    members: dict[str, Any] = {}
    for key, value in node.value:
        if (name := _FORMER.get(key.value, key.value)) not in known:
            faults.append(_error(_line(key), f"unknown key of {what}", " or ".join(known), key.value))
        elif name in members:
            faults.append(_error(_line(key), f"{what} has {name} twice", name, key.value))
        else:
            members[name] = value
    return members


def _items(node: Any, what: str) -> list[Any]:
    if not isinstance(node, yaml.SequenceNode):
        raise _error(_line(node), f"{what} is not a list", "items that begin with '-'")
    return list(node.value)


def _scalars(members: dict[str, Any], faults: list[LineError]) -> Fields:
    fields = {}
    for name, node in members.items():
        if not isinstance(node, yaml.ScalarNode):
            faults.append(_error(_line(node), f"{name} is not a single value"))
        elif not is_null(node):
            fields[name] = Value(node.value, _line(node))
    return fields


def _line(node: Any) -> int:
    return int(node.start_mark.line) + 1
