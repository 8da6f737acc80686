"""Step 4: every subject answers on every reference and on every distorted picture, for every task."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Self

from embodied_iqa.database.building.annotate_block import BlockPictures, annotate
from embodied_iqa.database.building.engine import BlockReport, Job
from embodied_iqa.database.building.members import Asked, Member, cameras_for, load_member
from embodied_iqa.database.building.settings import BLOCK, BuildOptions, digest_of
from embodied_iqa.database.schema import ANNOTATIONS
from embodied_iqa.database.store import DatabaseStore, Row, read_digest, read_table, write_table
from embodied_iqa.errors import InputError
from embodied_iqa.images.frame import View
from embodied_iqa.subjects.catalogue import Role
from embodied_iqa.subjects.options import VlaOptions, VlmOptions
from embodied_iqa.subjects.protocols import SubjectInfo

__all__ = ["AnnotateStep", "Block", "SubjectKey"]


@dataclass(frozen=True, slots=True)
class SubjectKey:
    """A subject that need not be loaded.

    Attributes:
        name: Its reference in the panel.
        role: VLM or VLA.
        info: What it reports about itself.
    """

    name: str
    role: Role
    info: SubjectInfo

    @classmethod
    def of(cls, entry: Row) -> Self:
        """Return the subject of an entry of `dataset.json`; older entries lack `any_view`."""
        info = SubjectInfo(
            entry["says"],
            entry["version"],
            entry["description"],
            tuple(View(view) for view in entry["views"]),
            any_view=entry.get("any_view", False),
        )
        return cls(entry["name"], Role(entry["role"]), info)

    def tree(self) -> Row:
        """Return the subject's entry in `dataset.json`."""
        return {
            "name": self.name,
            "role": str(self.role),
            "says": self.info.name,
            "version": self.info.version,
            "description": self.info.description,
            "views": [str(view) for view in self.info.views],
            "any_view": self.info.any_view,
        }


@dataclass(frozen=True, slots=True)
class Block:
    """References with all that is asked about them.

    Attributes:
        number: Of the block.
        references: Rows of `references.parquet`.
        tasks: Rows of `tasks.parquet`, of these.
        pairs: Rows of `pairs.parquet`, of these.
    """

    number: int
    references: tuple[Row, ...]
    tasks: tuple[Row, ...]
    pairs: tuple[Row, ...]

    def digest(self, subject: SubjectKey) -> str:
        """Return the hash of all that a subject's answers depend on."""
        pictures = [[camera["sha256"] for camera in row["cameras"]] for row in self.references]
        names = [(row["reference_id"], row["view"], row["gripper"]) for row in self.references]
        tasks = [(row["reference_id"], row["task_id"], row["text"]) for row in self.tasks]
        pairs = [(row["pair_id"], row["seed"], row["sha256"]) for row in self.pairs]
        info = subject.info
        who = [subject.name, info.version, [str(view) for view in info.views]]
        who += ["any view"] if info.any_view else []
        return digest_of("annotations", 1, who, names, pictures, tasks, pairs)


class AnnotateStep:
    """Asks every subject what it was not asked yet.

    Args:
        store: The database, with references, tasks and pairs.
        subjects: Whom to ask.
        options: How they are loaded.
    """

    def __init__(self, store: DatabaseStore, subjects: Sequence[SubjectKey], options: BuildOptions) -> None:
        self._store = store
        self._subjects = tuple(subjects)
        self._options = options
        self.blocks = _blocks(store)

    def missing(self, *, retry: bool = False) -> list[tuple[Block, tuple[SubjectKey, ...]]]:
        """Return the blocks with the subjects that have not answered on all of it.

        Args:
            retry: A block on which a subject failed somewhere counts as not answered.
        """
        found = []
        for block in self.blocks:
            names = tuple(key for key in self._subjects if not self._holds(block, key, retry=retry))
            if names:
                found.append((block, names))
        return found

    def run(self, run: Callable[[list[Job]], None]) -> None:
        """Ask."""
        options = self._options
        for subject in self._subjects:
            self._remove_others(subject)
        job = partial(_make_block, self._store.path, options.vlm, options.vla)
        run([partial(job, block, keys) for block, keys in self.missing(retry=options.retry)])

    def _holds(self, block: Block, subject: SubjectKey, *, retry: bool) -> bool:
        file = self._store.annotation_part(subject.name, block.number)
        if read_digest(file) != block.digest(subject):
            return False
        return not retry or _failures(file) == 0

    def _remove_others(self, subject: SubjectKey) -> None:
        """Remove parts of blocks that the plan no longer has."""
        known = {self._store.annotation_part(subject.name, block.number) for block in self.blocks}
        for file in self._store.annotation_files(subject.name):
            if file not in known:
                file.unlink()


def _failures(file: Path) -> int:
    errors = read_table(file, ANNOTATIONS, ["error"])["error"]
    return int(len(errors) - errors.null_count)


def _blocks(store: DatabaseStore) -> tuple[Block, ...]:
    references = store.references().to_pylist()
    tasks, pairs = _grouped(store.tasks().to_pylist()), _grouped(store.pairs().to_pylist())
    return tuple(
        Block(
            at // BLOCK,
            tuple(part),
            tuple(task for row in part for task in tasks.get(row["reference_id"], ())),
            tuple(pair for row in part for pair in pairs.get(row["reference_id"], ())),
        )
        for at in range(0, len(references), BLOCK)
        if (part := references[at : at + BLOCK])
    )


def _grouped(rows: list[Row]) -> dict[str, list[Row]]:
    return {name: list(group) for name, group in groupby(rows, lambda row: str(row["reference_id"]))}


def _make_block(
    path: Path, vlm: VlmOptions, vla: VlaOptions, block: Block, subjects: tuple[SubjectKey, ...]
) -> BlockReport:
    """Ask some subjects about a block; a part is written when all of its answers are there."""
    store = DatabaseStore(path)
    members = [_member(key, vlm, vla) for key in subjects]
    begun = time.perf_counter()
    before = [copy(member.asked) for member in members]
    rows: dict[str, list[Row]] = {key.name: [] for key in subjects}
    for pictures, tasks in _pictures(store, block, members):
        for member in members:
            rows[member.name] += annotate(member, pictures, tasks)
    failures: Counter[str] = Counter()
    seconds = 0.0
    for key, member, old in zip(subjects, members, before, strict=True):
        seconds += member.asked.seconds - old.seconds
        _check_alive(member, old, block)
        failures[key.name] = sum(row["error"] is not None for row in rows[key.name])
        part = store.annotation_part(key.name, block.number)
        write_table(part, rows[key.name], ANNOTATIONS, block.digest(key))
    count = sum(len(part) for part in rows.values())
    return BlockReport(block.number, count, dict(+failures), time.perf_counter() - begun, seconds)


def _check_alive(member: Member, old: Asked, block: Block) -> None:
    """Refuse a block of nothing but failures: the subject is gone, rather than beaten by a picture."""
    asked, failed = member.asked.questions - old.questions, member.asked.failures - old.failures
    if asked and failed == asked:
        raise InputError(
            f"{member.name} failed on all of block {block.number}: {member.asked.first_reason}; "
            "what other blocks have is kept"
        )


def _member(key: SubjectKey, vlm: VlmOptions, vla: VlaOptions) -> Member:
    member = load_member(key.name, vlm, vla)
    if member.info.version != key.info.version:
        raise InputError(
            f"{key.name} is of another version here", expected=key.info.version, got=member.info.version
        )
    return member


def _pictures(
    store: DatabaseStore, block: Block, members: Sequence[Member]
) -> Iterator[tuple[BlockPictures, list[Row]]]:
    """Yield each reference's pictures with its tasks."""
    tasks, pairs = _grouped(list(block.tasks)), _grouped(list(block.pairs))
    for reference in block.references:
        name = reference["reference_id"]
        own = View(reference["view"])
        views = {taken for member in members for taken in cameras_for(member.info.views, own).values()}
        yield BlockPictures(store.path, reference, pairs.get(name, []), views), tasks.get(name, [])
