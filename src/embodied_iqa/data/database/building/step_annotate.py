"""Step 4: the answers of every subject on every reference and distorted image, for every task."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TypeVar

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.jobs.engine import BlockReport, Job
from embodied_iqa.base.jobs.plan import digest_of
from embodied_iqa.base.tables import read_digest, read_table, rows_of, table_of, write_table
from embodied_iqa.data.database.building.annotate_block import BlockImages, annotate
from embodied_iqa.data.database.building.build_options import BLOCK, BuildOptions
from embodied_iqa.data.database.building.build_subjects import Member, QueryCost, cameras_for, load_member
from embodied_iqa.data.database.record import RecordedSubject
from embodied_iqa.data.database.schema import ANNOTATIONS, Annotation, Pair, Reference, ReferenceTask
from embodied_iqa.data.database.store import DatabaseStore

_Owned = TypeVar("_Owned", ReferenceTask, Pair)


@dataclass(frozen=True, slots=True)
class Block:
    """References with their tasks and pairs.

    Attributes:
        number: Of the block.
        references: At most `BLOCK`.
        tasks: Of these references.
        pairs: Of these references.
    """

    number: int
    references: tuple[Reference, ...]
    tasks: tuple[ReferenceTask, ...]
    pairs: tuple[Pair, ...]

    @property
    def answers(self) -> int:
        """Number of answers of a subject on the whole block."""
        tasks = Counter(task.reference_id for task in self.tasks)
        return tasks.total() + sum(tasks[pair.reference_id] for pair in self.pairs)

    def digest(self, subject: RecordedSubject) -> str:
        """Return the hash of everything that a subject's answers depend on."""
        images = [[camera.sha256 for camera in row.cameras] for row in self.references]
        names = [(row.reference_id, row.view, row.gripper) for row in self.references]
        tasks = [(row.reference_id, row.task_id, row.text) for row in self.tasks]
        pairs = [(row.pair_id, row.seed, row.sha256) for row in self.pairs]
        who = [subject.name, subject.version, subject.views]
        who += ["any view"] if subject.any_view else []
        return digest_of("annotations", 1, who, names, images, tasks, pairs)


def blocks_of(store: DatabaseStore) -> tuple[Block, ...]:
    """Return all blocks of a database that has references, tasks and pairs.

    A reference that is rejected later leaves its block; the other blocks stay as they are.
    """
    references = rows_of(Reference, store.references())
    order = replace(store, built=True).references(["reference_id"])["reference_id"].to_pylist()
    number_of = {name: at // BLOCK for at, name in enumerate(order)}
    tasks = _by_reference(rows_of(ReferenceTask, store.tasks()))
    pairs = _by_reference(rows_of(Pair, store.pairs()))
    parts = {
        number: tuple(rows) for number, rows in groupby(references, lambda row: number_of[row.reference_id])
    }
    return tuple(
        Block(
            number,
            part,
            tuple(task for row in part for task in tasks.get(row.reference_id, ())),
            tuple(pair for row in part for pair in pairs.get(row.reference_id, ())),
        )
        for number, part in parts.items()
    )


def _by_reference(rows: Iterable[_Owned]) -> dict[str, list[_Owned]]:
    return {name: list(group) for name, group in groupby(rows, lambda row: row.reference_id)}


class AnnotateStep:
    """Queries of subjects for the answers that are missing.

    Args:
        store: The database, with references, tasks and pairs.
        subjects: The subjects to query.
        options: Options of subjects, and whether failed queries are repeated.
    """

    def __init__(
        self, store: DatabaseStore, subjects: Sequence[RecordedSubject], options: BuildOptions
    ) -> None:
        self._store = store
        self._subjects = tuple(subjects)
        self._options = options
        self._blocks = blocks_of(store)

    def run(self, run: Callable[[Sequence[Job]], object]) -> None:
        """Remove parts of blocks that the plan no longer has, and query for the missing ones."""
        for subject in self._subjects:
            known = {self._store.annotation_part(subject.name, block.number) for block in self._blocks}
            for file in self._store.annotation_files(subject.name):
                if file not in known:
                    file.unlink()
        job = partial(_make_block, self._store.path, self._options)
        jobs = []
        for block in self._blocks:
            missing = tuple(subject for subject in self._subjects if not self._is_done(block, subject))
            if missing:
                jobs.append(partial(job, block, missing))
        run(jobs)

    def _is_done(self, block: Block, subject: RecordedSubject) -> bool:
        file = self._store.annotation_part(subject.name, block.number)
        if read_digest(file) != block.digest(subject):
            return False
        if not self._options.retry:
            return True
        errors = read_table(file, ANNOTATIONS.names, ["error"])["error"]
        return bool(errors.null_count == len(errors))


def _make_block(
    path: Path, options: BuildOptions, block: Block, subjects: tuple[RecordedSubject, ...]
) -> BlockReport:
    """Query some subjects about a block; a part is written when all of its answers are there."""
    store = DatabaseStore(path)
    members = [_member(subject, options) for subject in subjects]
    started = time.perf_counter()
    before = [copy(member.cost) for member in members]
    rows: Mapping[str, list[Annotation]] = {member.name: [] for member in members}
    for images, tasks in _images(store, block, members):
        for member in members:
            rows[member.name].extend(annotate(member, images, tasks))
    failures: Counter[str] = Counter()
    seconds = 0.0
    for subject, member, old in zip(subjects, members, before, strict=True):
        seconds += member.cost.seconds - old.seconds
        _check_available(member, old, block)
        answers = rows[member.name]
        failures[member.name] = sum(row.error is not None for row in answers)
        part = store.annotation_part(member.name, block.number)
        write_table(part, table_of(Annotation, answers), ANNOTATIONS, block.digest(subject))
    count = sum(len(part) for part in rows.values())
    return BlockReport(block.number, count, dict(+failures), time.perf_counter() - started, seconds)


def _check_available(member: Member, old: QueryCost, block: Block) -> None:
    """Refuse a block that has only failures: then the subject is probably unavailable."""
    queries, failed = member.cost.queries - old.queries, member.cost.failures - old.failures
    unknown = member.cost.cameras_unknown - old.cameras_unknown  # the images lack what the subject needs
    if queries and failed == queries > unknown:
        raise InputError(
            f"{member.name} failed on all of block {block.number}: {member.cost.first_reason}; "
            "answers on other blocks are kept"
        )


def _member(subject: RecordedSubject, options: BuildOptions) -> Member:
    reference = next(item for item in options.subjects if item.text == subject.name)
    member = load_member(reference, options.vlm, options.vla)
    if member.info.version != subject.version:
        raise InputError(
            f"{subject.name} has another version here", expected=subject.version, got=member.info.version
        )
    return member


def _images(
    store: DatabaseStore, block: Block, members: Sequence[Member]
) -> Iterator[tuple[BlockImages, Sequence[ReferenceTask]]]:
    """Yield each reference's images with its tasks."""
    tasks, pairs = _by_reference(block.tasks), _by_reference(block.pairs)
    for reference in block.references:
        views = {
            source for member in members for source in cameras_for(member.info.views, reference.view).values()
        }
        images = BlockImages(store.path, reference, pairs.get(reference.reference_id, ()), views)
        yield images, tasks.get(reference.reference_id, ())
