"""The entries of a task file, YAML or CSV, each value with the line it comes from; nothing is judged yet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from embodied_iqa.errors import InputError

__all__ = [
    "COLUMNS",
    "FORMAT",
    "LABELS",
    "MAX_BYTES",
    "VERSION",
    "Entry",
    "TaskEntry",
    "Value",
    "read_entries",
]

FORMAT: Final = "embodied-iqa-tasks"
VERSION: Final = 1
MAX_BYTES: Final = 8 * 2**20
COLUMNS: Final = ("picture", "bag", "stamp_ns", "view", "rank", "text", "verb")
"""The heading of a CSV file; a line a task, tasks of a picture on consecutive lines."""
LABELS: Final = ("main_object", "main_kind", "background", "real")
"""What a file may say of a picture: keys of YAML, further columns of CSV in any order."""

_PLACE_FIELDS: Final = COLUMNS[:4]
_TASK_FIELDS: Final = COLUMNS[4:]
_MAX_DEPTH: Final = 6
_NULL: Final = "tag:yaml.org,2002:null"


@dataclass(frozen=True, slots=True)
class Value:
    """A word of the file and its line, counted from 1."""

    text: str
    line: int


Fields = dict[str, Value]


@dataclass(frozen=True, slots=True)
class TaskEntry:
    """What a file says of one task."""

    line: int
    fields: Fields


@dataclass(frozen=True, slots=True)
class Entry:
    """What a file says of one picture."""

    line: int
    fields: Fields
    tasks: list[TaskEntry] = field(default_factory=list)


class _WrongError(Exception):
    """Something that makes the rest of the file unreadable."""

    def __init__(self, line: int, message: str, expected: str | None = None, got: object = None) -> None:
        super().__init__(message)
        self.line, self.message, self.expected, self.got = line, message, expected, got


def read_entries(path: Path) -> list[Entry]:
    """Read a file by its ending: ``.csv``, or YAML.

    Raises:
        InputError: It cannot be read, is too large, or has another form than documented.
    """
    text = _text_of(path)
    try:
        return list(_csv_entries(text) if path.suffix.lower() == ".csv" else _yaml_entries(text))
    except _WrongError as error:
        raise InputError(
            f"{path}:{error.line}: {error.message}", expected=error.expected, got=error.got
        ) from None


def _text_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text") from None
    if len(content) > MAX_BYTES:
        raise InputError(f"{path} is too large for a task file", expected=f"up to {MAX_BYTES // 2**20} MiB")
    return text


def _csv_entries(text: str) -> Iterator[Entry]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    entry: Entry | None = None
    columns: list[str] = []
    try:
        for index, row in enumerate(reader):
            line = reader.line_num
            if index == 0:
                _check_heading(row, line)
            elif index == 1:
                columns = _checked_columns(row, line)
            elif row:
                if len(row) != len(columns):
                    raise _WrongError(line, "wrong number of values", str(len(columns)), len(row))
                said = {name: Value(word, line) for name, word in zip(columns, row, strict=True) if word}
                task = TaskEntry(line, {name: said.pop(name) for name in _TASK_FIELDS if name in said})
                if entry is not None and _place(entry.fields) == _place(said):
                    _add_labels(entry, said)
                else:
                    if entry is not None:
                        yield entry
                    entry = Entry(line, said)
                entry.tasks.append(task)
    except csv.Error as error:
        raise _WrongError(reader.line_num, f"not CSV: {error}") from None
    if entry is not None:
        yield entry


def _checked_columns(row: list[str], line: int) -> list[str]:
    more = row[len(COLUMNS) :]
    if tuple(row[: len(COLUMNS)]) != COLUMNS or len(set(more)) < len(more) or not set(more) <= set(LABELS):
        expected = f"{','.join(COLUMNS)}, then any of {','.join(LABELS)}"
        raise _WrongError(line, "wrong columns", expected, ",".join(row))
    return row


def _add_labels(entry: Entry, said: Fields) -> None:
    """Take the labels of a further line of a picture; an empty one says nothing."""
    for name in LABELS:
        if name in said:
            first = entry.fields.setdefault(name, said[name])
            if first.text != said[name].text:
                expected = f"{first.text[:40]}, as in line {first.line}"
                raise _WrongError(
                    said[name].line, f"a picture has two {name}", expected, said[name].text[:40]
                )


def _check_heading(row: list[str], line: int) -> None:
    heading = f"# {FORMAT} {VERSION}"
    if row != [heading]:
        raise _WrongError(line, "not a task file of this version", repr(heading), ",".join(row))


def _place(fields: Fields) -> dict[str, str]:
    return {name: fields[name].text for name in _PLACE_FIELDS if name in fields}


def _yaml_entries(text: str) -> Iterator[Entry]:
    root = _composed(text)
    top = dict(_members(root, ("format", "version", "pictures"), "the file"))
    for name, wanted in (("format", FORMAT), ("version", str(VERSION))):
        node = top.get(name)
        if not isinstance(node, yaml.ScalarNode) or node.value != wanted:
            got = node.value if isinstance(node, yaml.ScalarNode) else None
            line = 1 if node is None else _line(node)
            raise _WrongError(line, f"not a task file of this version: {name}", wanted, got)
    if "pictures" not in top:
        raise _WrongError(1, "the file lists no pictures", "pictures:")
    for node in _items(top["pictures"], "pictures"):
        members = dict(_members(node, (*_PLACE_FIELDS, *LABELS, "tasks"), "a picture"))
        tasks = members.pop("tasks", None)
        entry = Entry(_line(node), _scalars(members))
        for item in [] if tasks is None else _items(tasks, "tasks"):
            fields = _scalars(dict(_members(item, _TASK_FIELDS, "a task")))
            entry.tasks.append(TaskEntry(_line(item), fields))
        yield entry


def _composed(text: str) -> Any:
    """Return the root node; anchors and depth are refused before a node is made of them."""
    depth = 0
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            mark: Any = event.start_mark
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if isinstance(event, yaml.AliasEvent) or depth > _MAX_DEPTH:
                raise _WrongError(mark.line + 1, "no task file has aliases or so many levels")
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise _WrongError(1 if mark is None else mark.line + 1, f"not YAML: {problem}") from None
    if root is None:
        raise _WrongError(1, "the file is empty", f"format: {FORMAT}")
    return root


def _members(node: Any, known: tuple[str, ...], what: str) -> Iterator[tuple[str, Any]]:
    if not isinstance(node, yaml.MappingNode):
        raise _WrongError(_line(node), f"{what} is not a mapping", f"keys {', '.join(known)}")
    seen: set[str] = set()
    for key, value in node.value:
        name = key.value if isinstance(key, yaml.ScalarNode) else "?"
        if name not in known:
            raise _WrongError(_line(key), f"unknown key of {what}", " or ".join(known), name)
        if name in seen:
            raise _WrongError(_line(key), f"{what} has a key twice", got=name)
        seen.add(name)
        yield name, value


def _items(node: Any, what: str) -> list[Any]:
    if not isinstance(node, yaml.SequenceNode):
        raise _WrongError(_line(node), f"{what} is not a list", "items that begin with '-'")
    return list(node.value)


def _scalars(members: dict[str, Any]) -> Fields:
    fields = {}
    for name, node in members.items():
        if not isinstance(node, yaml.ScalarNode):
            raise _WrongError(_line(node), f"{name} is not a single value")
        if node.tag != _NULL:
            fields[name] = Value(node.value, _line(node))
    return fields


def _line(node: Any) -> int:
    return int(node.start_mark.line) + 1
