"""Tasks for photographs and recordings, from a file that a person wrote (docs/tasks.md)."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from embodied_iqa.errors import InputError
from embodied_iqa.images.frame import View
from embodied_iqa.tasks.task import MAX_RANK, MAX_TEXT_CHARACTERS, Task, TaskSource
from embodied_iqa.tasks.task_file_entries import Entry, TaskEntry, Value, read_entries
from embodied_iqa.tasks.vocabulary import Verb

__all__ = ["PictureLabels", "PictureTasks", "check_task_file", "load_task_file"]

_MAX_STAMP_NS: Final = 2**63 - 1
_NUMBER: Final = re.compile(r"[0-9]{1,19}", re.ASCII)
_MAX_LABEL_CHARACTERS: Final = 60
_YES_NO: Final = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class PictureLabels:
    """What a person says a picture shows; None where the file does not say.

    Attributes:
        main_object: Category of the main object, lower case.
        main_kind: Its kind, lower case.
        background: What it stands on or before, lower case.
        real: Whether a real camera took the picture; False for a rendered one.
    """

    main_object: str | None = None
    main_kind: str | None = None
    background: str | None = None
    real: bool | None = None


@dataclass(frozen=True, slots=True)
class PictureTasks:
    """A picture and its tasks.

    Attributes:
        path: The picture, or the recording that has it; relative to the task file's folder, as in the file.
        stamp_ns: Which frame of a recording; None for a picture file.
        view: Which camera it is from; None where a picture's entry does not say.
        tasks: One to five, by rank.
        line: Where the file says so, counted from 1.
        labels: What the picture shows.
    """

    path: PurePosixPath
    stamp_ns: int | None
    view: View | None
    tasks: tuple[Task, ...]
    line: int
    labels: PictureLabels = PictureLabels()


def load_task_file(path: Path, *, files_exist: bool = True) -> tuple[PictureTasks, ...]:
    """Read a task file.

    Args:
        path: YAML or CSV; pictures and recordings lie in its folder or below.
        files_exist: Refuse entries whose picture or recording is not there.

    Raises:
        InputError: The first thing that is wrong, with its line, and how many more there are.
    """
    found, wrong = check_task_file(path, files_exist=files_exist)
    if wrong:
        more = f" (and {len(wrong) - 1} more: `embodied-iqa tasks check`)" if len(wrong) > 1 else ""
        raise InputError(f"{wrong[0]}{more}")
    return found


def check_task_file(
    path: Path, *, files_exist: bool = True
) -> tuple[tuple[PictureTasks, ...], tuple[InputError, ...]]:
    """Return what is right in a task file and everything that is wrong, each in one line with its place.

    Args:
        path: As in `load_task_file`.
        files_exist: As in `load_task_file`.
    """
    try:
        entries = read_entries(path)
    except InputError as error:
        return (), (error,)
    checker = _Checker(path, files_exist=files_exist)
    for entry in entries:
        checker.add(entry)
    if not entries:
        checker.tell(1, "the file lists no pictures")
    return tuple(checker.found), tuple(checker.wrong)


class _Checker:
    """Judges entry after entry and collects what is wrong."""

    def __init__(self, path: Path, *, files_exist: bool) -> None:
        self.found: list[PictureTasks] = []
        self.wrong: list[InputError] = []
        self._path = path
        self._folder = path.parent.resolve()
        self._files_exist = files_exist
        self._lines: dict[tuple[PurePosixPath, int | None, View | None], int] = {}

    def tell(self, line: int, message: str, **details: object) -> None:
        said = InputError(message, **details)  # type: ignore[arg-type]
        self.wrong.append(InputError(f"{self._path}:{line}: {said}"))

    def add(self, entry: Entry) -> None:
        before = len(self.wrong)
        path = self._place(entry)
        stamp_ns, view = self._frame(entry)
        labels = self._labels(entry)
        tasks = self._tasks(entry, path)
        if path is None or len(self.wrong) > before:
            return
        first = self._lines.setdefault((path, stamp_ns, view), entry.line)
        if first != entry.line:
            self.tell(
                entry.line, "a picture is listed twice", got=str(path), expected=f"once, as in line {first}"
            )
            return
        self.found.append(PictureTasks(path, stamp_ns, view, tuple(tasks), entry.line, labels))

    def _place(self, entry: Entry) -> PurePosixPath | None:
        """Return the path, which cannot leave the folder of the task file, by links neither."""
        said = entry.fields.get("picture") or entry.fields.get("bag")
        if said is None or ("picture" in entry.fields and "bag" in entry.fields):
            self.tell(entry.line, "what are the tasks for?", expected="either picture or bag")
            return None
        path = PurePosixPath(said.text)
        outside = path.is_absolute() or ".." in path.parts or "\\" in said.text or not said.text.isprintable()
        if outside or not (self._folder / path).resolve().is_relative_to(self._folder):
            self.tell(said.line, "a path leaves the folder of the task file", got=said.text)
            return None
        if self._files_exist and not (self._folder / path).exists():
            self.tell(said.line, "no such picture or recording", got=said.text)
            return None
        return path

    def _frame(self, entry: Entry) -> tuple[int | None, View | None]:
        stamp, view = entry.fields.get("stamp_ns"), entry.fields.get("view")
        if "bag" in entry.fields and (stamp is None or view is None):
            self.tell(entry.line, "which frame of the recording?", expected="stamp_ns and view")
        if "bag" not in entry.fields and stamp is not None:
            self.tell(stamp.line, "a picture file has no stamp_ns")
        known = [str(word) for word in View]
        if view is not None and view.text not in known:
            self.tell(view.line, "unknown view", got=view.text, available=known)
            view = None
        stamp_ns = None if stamp is None else self._number(stamp, "stamp_ns", 0, _MAX_STAMP_NS)
        return stamp_ns, None if view is None else View(view.text)

    def _labels(self, entry: Entry) -> PictureLabels:
        said = entry.fields.get("real")
        real = None if said is None else _YES_NO.get(said.text.casefold())
        if said is not None and real is None:
            self.tell(said.line, "bad real", expected=" or ".join(_YES_NO), got=said.text[:40])
        return PictureLabels(
            self._label(entry, "main_object"),
            self._label(entry, "main_kind"),
            self._label(entry, "background"),
            real,
        )

    def _label(self, entry: Entry, name: str) -> str | None:
        said = entry.fields.get(name)
        if said is None:
            return None
        text = " ".join(said.text.split()).lower()
        if text and text.isprintable() and len(text) <= _MAX_LABEL_CHARACTERS:
            return text
        expected = f"1 to {_MAX_LABEL_CHARACTERS} printable characters"
        self.tell(said.line, f"bad {name}", expected=expected, got=text[:40])
        return None

    def _tasks(self, entry: Entry, path: PurePosixPath | None) -> list[Task]:
        if not 1 <= len(entry.tasks) <= MAX_RANK:
            self.tell(entry.line, "wrong number of tasks", expected=f"1 to {MAX_RANK}", got=len(entry.tasks))
        frame = [entry.fields[name].text for name in ("stamp_ns", "view") if name in entry.fields]
        picture = ":".join([str(path), *frame])
        tasks: list[Task] = []
        texts: set[str] = set()
        for item in entry.tasks[:MAX_RANK]:
            task = self._task(item, picture)
            if task is None:
                continue
            if task.rank in {other.rank for other in tasks}:
                self.tell(item.line, "two tasks of a picture have one rank", got=task.rank)
            if task.text.casefold() in texts:
                self.tell(item.line, "a task of a picture comes twice", got=task.text)
            texts.add(task.text.casefold())
            tasks.append(task)
        return sorted(tasks, key=lambda task: task.rank)

    def _task(self, item: TaskEntry, picture: str) -> Task | None:
        said = item.fields
        missing = [name for name in ("rank", "text") if name not in said]
        if missing:
            self.tell(item.line, "a task lacks something", expected="rank and text", got=f"no {missing[0]}")
            return None
        rank = self._number(said["rank"], "rank", 1, MAX_RANK)
        text = " ".join(said["text"].text.split())
        if not text or not text.isprintable() or len(text) > MAX_TEXT_CHARACTERS:
            expected = f"1 to {MAX_TEXT_CHARACTERS} printable characters"
            self.tell(said["text"].line, "bad text of a task", expected=expected, got=text[:40])
            return None
        verb = said.get("verb")
        known = [str(word) for word in Verb]
        if verb is not None and verb.text not in known:
            self.tell(verb.line, "unknown verb", got=verb.text, available=known)
            return None
        if rank is None:
            return None
        identity = "f" + hashlib.sha256(f"{picture}:{rank}:{text}".encode()).hexdigest()[:15]
        return Task(
            identity, rank, text, verb=None if verb is None else Verb(verb.text), source=TaskSource.FILE
        )

    def _number(self, said: Value, name: str, low: int, high: int) -> int | None:
        if _NUMBER.fullmatch(said.text) and low <= int(said.text) <= high:
            return int(said.text)
        self.tell(
            said.line, f"bad {name}", expected=f"a whole number from {low} to {high}", got=said.text[:40]
        )
        return None
