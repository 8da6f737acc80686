"""Task files: tasks for photographs and recordings, written by people (docs/tasks.md)."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Final, TypeVar

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.user_files.texts import read_text
from embodied_iqa.base.user_files.yaml_files import MOST_YAML_BYTES
from embodied_iqa.imaging.images.frame import VIEW_NAMES, View, is_view
from embodied_iqa.world.tasks.sentence import check_sentence
from embodied_iqa.world.tasks.task import MAX_RANK, Task, TaskSource
from embodied_iqa.world.tasks.task_file_entries import (
    JOURNAL_LINE,
    Entry,
    Fields,
    LineError,
    TaskEntry,
    Value,
    by_line,
    read_entries,
)
from embodied_iqa.world.tasks.vocabulary import VERB_WORDS, Verb

_WordT = TypeVar("_WordT", bound=StrEnum)
_MAX_STAMP_NS: Final = 2**63 - 1
_NUMBER: Final = re.compile(r"[0-9]{1,19}", re.ASCII)
_MAX_LABEL_CHARACTERS: Final = 60
_YES_NO: Final = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class ImageLabels:
    """Labels of an image; None if the file does not specify them.

    Attributes:
        main_object: Category of the main object, lower case.
        main_kind: Its kind, lower case.
        background: What it is on or in front of, lower case.
        real: Whether a real camera took the image; False for a rendered one.
    """

    main_object: str | None = None
    main_kind: str | None = None
    background: str | None = None
    real: bool | None = None


@dataclass(frozen=True, slots=True)
class ImageTasks:
    """An image and its tasks.

    Attributes:
        path: The image, or the recording that contains it; relative to the task file's folder.
        stamp_ns: Stamp of the frame of a recording; None for an image file.
        view: Its camera; None if an image's entry does not specify it.
        tasks: One to five, by rank.
        line: Line of the entry, counted from 1.
        labels: Labels of the image.
    """

    path: PurePosixPath
    stamp_ns: int | None
    view: View | None
    tasks: tuple[Task, ...]
    line: int
    labels: ImageLabels = ImageLabels()


def load_task_file(path: Path, *, files_exist: bool = True) -> tuple[ImageTasks, ...]:
    """Read a task file.

    Args:
        path: YAML or CSV; images and recordings are in its folder or below.
        files_exist: Reject entries whose image or recording does not exist.

    Raises:
        InputError: The first error, with its line, and the number of further ones.
    """
    found, errors = check_task_file(path, files_exist=files_exist)
    if errors:
        more = f" (and {len(errors) - 1} more: `embodied-iqa tasks check`)" if len(errors) > 1 else ""
        raise InputError(f"{errors[0]}{more}")
    return found


def load_image_tasks(path: Path) -> dict[Path, ImageTasks]:
    """Read the entries of image files in a task file, by the resolved path of the image.

    Raises:
        InputError: As `load_task_file`.
    """
    entries = (item for item in load_task_file(path) if item.stamp_ns is None)
    return {(path.parent / item.path).resolve(): item for item in entries}


def is_exported(path: Path) -> bool:
    """Return whether a database exported a task file: its images are those of the database."""
    try:
        text = read_text(path, most_bytes=MOST_YAML_BYTES)
    except InputError:
        return False
    return path.suffix.lower() != ".csv" and JOURNAL_LINE.search(text) is not None


def check_task_file(
    path: Path, *, files_exist: bool = True
) -> tuple[tuple[ImageTasks, ...], tuple[InputError, ...]]:
    """Return the entries of a task file and all errors, each in one line with its place.

    With errors, an entry is returned if its image or frame has none, with those of its tasks that have none.

    Args:
        path: As in `load_task_file`.
        files_exist: As in `load_task_file`.
    """
    wrong: list[LineError] = []
    try:
        entries = read_entries(path, wrong)
    except InputError as error:
        return (), (error,)
    checker = _Checker(path, files_exist=files_exist)
    for entry in entries:
        checker.add(entry)
    if not entries and not wrong:
        checker.report(1, "the file lists no images")
    return tuple(checker.found), by_line((*wrong, *checker.errors))


class _Checker:
    """Validates entries one by one and collects all errors."""

    def __init__(self, path: Path, *, files_exist: bool) -> None:
        self.found: list[ImageTasks] = []
        self.errors: list[LineError] = []
        self._path = path
        self._folder = path.parent.resolve()
        self._files_exist = files_exist
        self._lines: dict[tuple[PurePosixPath, int | None, View | None], int] = {}

    def report(self, line: int, message: str, **details: object) -> None:
        error = InputError(message, **details)  # type: ignore[arg-type]
        self.errors.append(LineError(line, str(error), self._path))

    def add(self, entry: Entry) -> None:
        before = len(self.errors)
        path = self._file(entry)
        stamp_ns, view = self._frame(entry)
        is_placed = len(self.errors) == before and (stamp_ns is None) == ("bag" not in entry.fields)
        labels = self._labels(entry.fields)
        tasks = self._tasks(entry, path)
        if path is None or not is_placed:
            return
        first = self._lines.setdefault((path, stamp_ns, view), entry.line)
        if first != entry.line:
            expected = f"once, as in line {first}"
            self.report(entry.line, "an image is listed twice", got=str(path), expected=expected)
            return
        self.found.append(ImageTasks(path, stamp_ns, view, tuple(tasks), entry.line, labels))

    def _file(self, entry: Entry) -> PurePosixPath | None:
        """Return the path, which cannot leave the folder of the task file, not even through links."""
        value = entry.fields.get("image") or entry.fields.get("bag")
        if value is None or {"image", "bag"} <= entry.fields.keys():
            if entry.is_whole:
                self.report(entry.line, "the tasks need one source", expected="either image or bag")
            return None
        path = PurePosixPath(value.text)
        outside = path.is_absolute() or ".." in path.parts or "\\" in value.text
        if outside or not value.text.isprintable() or not self._resolved(path).is_relative_to(self._folder):
            self.report(value.line, "a path leaves the folder of the task file", got=value.text)
            return None
        if self._files_exist and not (self._folder / path).exists():
            self.report(value.line, "no such image or recording in the folder of the file", got=value.text)
            return None
        return path

    def _resolved(self, path: PurePosixPath) -> Path:
        return (self._folder / path).resolve()

    def _frame(self, entry: Entry) -> tuple[int | None, View | None]:
        stamp, view = entry.fields.get("stamp_ns"), entry.fields.get("view")
        if "bag" in entry.fields and (stamp is None or view is None) and entry.is_whole:
            self.report(entry.line, "which frame of the recording?", expected="stamp_ns and view")
        if "bag" not in entry.fields and stamp is not None:
            self.report(stamp.line, "an image file has no stamp_ns")
        return self._number(stamp, "stamp_ns", 0, _MAX_STAMP_NS), self._view(view)

    def _view(self, value: Value | None) -> View | None:
        if value is None or is_view(value.text):
            return None if value is None else View(value.text)
        self.report(value.line, "not the name of a view", expected=VIEW_NAMES, got=value.text[:40])
        return None

    def _labels(self, fields: Fields) -> ImageLabels:
        value = fields.get("real")
        real = None if value is None else _YES_NO.get(value.text.casefold())
        if value is not None and real is None:
            self.report(value.line, "bad real", expected=" or ".join(_YES_NO), got=value.text[:40])
        return ImageLabels(
            self._label(fields, "main_object"),
            self._label(fields, "main_kind"),
            self._label(fields, "background"),
            real,
        )

    def _label(self, fields: Fields, name: str) -> str | None:
        text = self._text(fields.get(name), name, _MAX_LABEL_CHARACTERS)
        return None if text is None else text.lower()

    def _tasks(self, entry: Entry, path: PurePosixPath | None) -> list[Task]:
        if not 1 <= len(entry.tasks) <= MAX_RANK and entry.is_whole:
            got = len(entry.tasks)
            self.report(entry.line, "wrong number of tasks", expected=f"1 to {MAX_RANK}", got=got)
        frame = [entry.fields[name].text for name in ("stamp_ns", "view") if name in entry.fields]
        image = ":".join([str(path), *frame])
        tasks: list[Task] = []
        ranks: set[int | None] = set()
        texts: set[str] = set()
        for item in entry.tasks[:MAX_RANK]:
            before = len(self.errors)
            rank, text, verb = self._parts(item)
            is_right = rank is not None and text is not None and len(self.errors) == before
            if rank is not None and rank in ranks:
                self.report(item.line, "two tasks of an image have one rank", got=rank)
            if text is not None and text.casefold() in texts:
                self.report(item.line, "a task of an image comes twice", got=text)
            ranks.add(rank)
            texts.add("" if text is None else text.casefold())
            if rank is not None and text is not None and is_right:
                identity = "f" + hashlib.sha256(f"{image}:{rank}:{text}".encode()).hexdigest()[:15]
                tasks.append(Task(identity, rank, text, verb=verb, source=TaskSource.FILE))
        return sorted(tasks, key=lambda task: task.rank)

    def _parts(self, item: TaskEntry) -> tuple[int | None, str | None, Verb | None]:
        """Return rank, text and verb of a task, each None where it is wrong or not there."""
        missing = [f"no {name}" for name in ("rank", "text") if name not in item.fields]
        if missing and item.is_whole:  # else what is missing may be the key that is misspelt
            got = " and ".join(missing)
            self.report(item.line, "a task is incomplete", expected="rank and text", got=got)
        rank = self._number(item.fields.get("rank"), "rank", 1, MAX_RANK)
        return rank, self._sentence(item.fields.get("text")), self._word(item.fields.get("verb"), Verb)

    def _number(self, value: Value | None, name: str, low: int, high: int) -> int | None:
        if value is None:
            return None
        if _NUMBER.fullmatch(value.text) and low <= int(value.text) <= high:
            return int(value.text)
        expected = f"a whole number from {low} to {high}"
        self.report(value.line, f"bad {name}", expected=expected, got=value.text[:40])
        return None

    def _sentence(self, value: Value | None) -> str | None:
        """Return a task as it is written; the line break that ends a block of YAML is not part of it."""
        if value is None:
            return None
        try:
            return check_sentence(value.text.removesuffix("\n"))
        except UsageError as error:
            self.report(value.line, f"bad text of a task: {error}")
            return None

    def _text(self, value: Value | None, name: str, limit: int) -> str | None:
        """Return a text with single spaces."""
        if value is None:
            return None
        text = " ".join(value.text.split())
        if text and text.isprintable() and len(text) <= limit:
            return text
        expected = f"1 to {limit} printable characters"
        self.report(value.line, f"bad {name}", expected=expected, got=text[:40])
        return None

    def _word(self, value: Value | None, kind: type[_WordT]) -> _WordT | None:
        known = [str(word) for word in kind]
        if value is None or value.text in known:
            return None if value is None else kind(value.text)
        meant = VERB_WORDS.get(value.text, ()) if kind is Verb else ()  # such as "shove" for push
        fault, got = f"unknown {kind.__name__.lower()}", value.text
        if meant:
            self.report(
                value.line, f"{fault}; got {got!r}; did you mean {' or '.join(meant)}?", available=known
            )
        else:
            self.report(value.line, fault, got=got, available=known)
        return None
