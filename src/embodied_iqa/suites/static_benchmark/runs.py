"""Evaluation of VLMs on a benchmark: resumable, in any number of processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Final

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import remove_parts
from embodied_iqa.base.jobs.engine import BlockReport, EngineOptions, Job, run_jobs
from embodied_iqa.base.jobs.folder import JobFolder
from embodied_iqa.base.jobs.plan import digest_of
from embodied_iqa.data.database.building.build_subjects import Failure
from embodied_iqa.models.subjects.subject_options import VlmOptions
from embodied_iqa.suites.static_benchmark.asking import asked_text, read_answer
from embodied_iqa.suites.static_benchmark.benchmark import read_items
from embodied_iqa.suites.static_benchmark.circular import circular_items, plain_items
from embodied_iqa.suites.static_benchmark.conditions import CLEAN, Condition
from embodied_iqa.suites.static_benchmark.items import Item
from embodied_iqa.suites.static_benchmark.letters import Reading
from embodied_iqa.suites.static_benchmark.stored_answers import (
    AnswerPart,
    ItemAnswer,
    failures_in,
    part_file,
    read_part,
    write_part,
)
from embodied_iqa.suites.static_benchmark.subjects import Answerer, Asked, load_answerer
from embodied_iqa.suites.static_benchmark.tsv import ItemTable

_BLOCK: Final = 40
"""Unrotated items in a block: the work of one job, and the most that a kill loses."""
_FORMAT: Final = 1
"""Changes where subjects are asked, or their answers read, in another way."""


@dataclass(frozen=True, slots=True)
class VlmRun:
    """What is evaluated.

    Attributes:
        bench: Folder of the benchmark.
        results: Folder of the answers and scores.
        subjects: The VLMs.
        conditions: How images are shown, clean first.
        circular: Ask every rotation on clean images; distorted ones are always shown unrotated.
        options: Of the VLMs.
        engine: What runs the jobs.
        retry: Ask again where a subject failed.
    """

    bench: Path
    results: Path
    subjects: tuple[Asked, ...]
    conditions: tuple[Condition, ...] = (Condition(CLEAN),)
    circular: bool = False
    options: VlmOptions = field(default_factory=VlmOptions)
    engine: EngineOptions = field(default_factory=EngineOptions)
    retry: bool = False


@dataclass(frozen=True, slots=True)
class _Block:
    """Rows of some items under one condition."""

    number: int
    condition: Condition
    items: tuple[Item, ...]
    images: str

    def digest(self, asked: Asked, version: str) -> str:
        """Return the hash of everything that a subject's answers depend on."""
        texts = [
            (item.index, item.group, item.answer, asked_text(item, asked.adapter)) for item in self.items
        ]
        who = (asked.name, version, asked.adapter)
        return digest_of("static answers", _FORMAT, who, self.condition.name, self.images, texts)


def run_vlms(run: VlmRun, watch: Callable[[int, int, BlockReport], object]) -> list[AnswerPart]:
    """Ask for the answers that are missing and return all of them, in the order of subjects and conditions.

    Args:
        run: What is evaluated.
        watch: Called after each job with the number of finished jobs, of all jobs, and the job's report.

    Raises:
        InputError: The benchmark is damaged, another process writes the results, or a subject fails on a
            whole block; finished answers are kept.
    """
    table = read_items(run.bench)
    with JobFolder(run.results, "evaluation of VLMs").locked():
        remove_parts(run.results)
        versions = {asked.name: load_answerer(asked, run.options).version for asked in run.subjects}
        blocks = list(_blocks(run, table))
        jobs: list[Job] = []
        for block in blocks:
            missing = tuple(asked for asked in run.subjects if not _is_done(run, block, asked, versions))
            if missing:
                jobs.append(partial(_ask_block, run, block, missing))
        for done, report in enumerate(run_jobs(jobs, run.engine), start=1):
            watch(done, len(jobs), report)
        return [_part(run, block, asked, versions) for asked in run.subjects for block in blocks]


def rows_of_run(table: ItemTable, *, circular: bool) -> tuple[Item, ...]:
    """Return the rows of a run on clean images: those of the file, or its rotations."""
    is_circular = any(item.original is not None for item in table.items)
    if not circular:
        return plain_items(table.items)
    return table.items if is_circular else circular_items(table.items)


def _blocks(run: VlmRun, table: ItemTable) -> Iterator[_Block]:
    plain = plain_items(table.items)
    rows: dict[int, list[Item]] = {item.index: [] for item in plain}
    for item in rows_of_run(table, circular=run.circular):
        rows[item.group].append(item)
    for condition in run.conditions:
        for number, at in enumerate(range(0, len(plain), _BLOCK)):
            part = plain[at : at + _BLOCK]
            rotated = condition.name == CLEAN
            items = tuple(row for item in part for row in (rows[item.index] if rotated else (item,)))
            yield _Block(number, condition, items, _hash(table.images, part))


def _hash(images: Mapping[int, str], items: Sequence[Item]) -> str:
    digest = sha256()
    for item in items:
        digest.update(images[item.image].encode("ascii"))
    return digest.hexdigest()


def _is_done(run: VlmRun, block: _Block, asked: Asked, versions: Mapping[str, str]) -> bool:
    file = part_file(run.results, asked.name, block.condition.name, block.number)
    part = read_part(file, block.digest(asked, versions[asked.name]))
    return part is not None and not (run.retry and failures_in(part.answers))


def _part(run: VlmRun, block: _Block, asked: Asked, versions: Mapping[str, str]) -> AnswerPart:
    file = part_file(run.results, asked.name, block.condition.name, block.number)
    part = read_part(file, block.digest(asked, versions[asked.name]))
    if part is None:
        raise InputError(f"{file} changed during the evaluation")
    return part


def _ask_block(run: VlmRun, block: _Block, subjects: tuple[Asked, ...]) -> BlockReport:
    """Ask subjects about a block; a part is written when all of its answers are there."""
    answerers = [load_answerer(asked, run.options) for asked in subjects]
    table = read_items(run.bench)
    started = time.perf_counter()
    before = sum(answerer.seconds for answerer in answerers)
    by_image = {item.image: item for item in block.items}
    shown = {key: block.condition.shown(table.image(item), item) for key, item in by_image.items()}
    frames = [shown[item.image] for item in block.items]
    failures: dict[str, int] = {}
    for answerer in answerers:
        name = answerer.asked.name
        texts = [asked_text(item, answerer.asked.adapter) for item in block.items]
        found = answerer.answers(block.items, frames, texts)
        answers = tuple(map(partial(_read, answerer), block.items, texts, found))
        if failures_in(answers) == len(answers):
            raise InputError(f"{name} failed on all of a block: {answers[0].error}; other answers are kept")
        failures |= {name: failures_in(answers)} if failures_in(answers) else {}
        digest = block.digest(answerer.asked, answerer.version)
        part = AnswerPart(
            name, answerer.version, answerer.asked.adapter, block.condition.name, digest, answers
        )
        write_part(part_file(run.results, name, block.condition.name, block.number), part)
    rows = len(block.items) * len(answerers)
    inside_s = sum(answerer.seconds for answerer in answerers) - before
    return BlockReport(block.number, rows, failures, time.perf_counter() - started, inside_s)


def _read(answerer: Answerer, item: Item, asked: str, answer: str | Failure) -> ItemAnswer:
    if isinstance(answer, Failure):
        return ItemAnswer(item.index, asked, "", Reading.FAILED, error=answer.reason)
    found = read_answer(answer, item, answerer.asked.adapter)
    return ItemAnswer(item.index, asked, answer, found.reading, found.letter)
