"""Merging of two databases."""

from __future__ import annotations

import os
import shutil
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.jobs.engine import EngineOptions, run_jobs
from embodied_iqa.base.jobs.folder import JobFolder
from embodied_iqa.base.tables import rows_of, table_of, write_table
from embodied_iqa.data.database.building.finish import finish
from embodied_iqa.data.database.building.step_annotate import Block, blocks_of
from embodied_iqa.data.database.building.step_score import score_database
from embodied_iqa.data.database.edits import annotate_command, waiting_edits
from embodied_iqa.data.database.joined_runs import merged_execution, write_execution
from embodied_iqa.data.database.record import MERGED, DatabaseRecord, RecordedSubject
from embodied_iqa.data.database.schema import ANNOTATIONS, PAIRS, REFERENCES, TASKS, Annotation
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.data.database.verdicts import merge_verdicts
from embodied_iqa.data.journal.journal import Journal


def merge_databases(
    first: DatabaseStore, second: DatabaseStore, out: Path, workers: int = 1
) -> DatabaseRecord:
    """Merge two databases into a new one and score it again: the constants come from all references.

    A reference in both is taken from the first, and must be the same image. Where a subject answered in
    only one of them, the new database has its answers for that part; `embodied-iqa build --steps
    annotate,score` completes them. Runs of joined experiments and verdicts of gates are merged too.

    Returns:
        The new `dataset.json`.

    Raises:
        InputError: They contradict each other, or ``out`` exists.
    """
    if out.exists() and any(out.iterdir()):
        raise InputError(f"{out} exists", expected="a new folder")
    stores = (first, second)
    for store in stores:
        if waiting := waiting_edits(store, Journal(store.path)):
            message = f"{store.path} has {waiting} edits that its tables lack"
            raise InputError(message, expected=annotate_command(store))
    subjects = _subjects(stores)
    execution = merged_execution(stores)
    with JobFolder(out, "merge of databases", resumes=False).locked():
        store = DatabaseStore(out)
        _copy_tables(stores, store)
        plan = {"source": MERGED, "parts": [item.record().plan for item in stores]}
        store.write_record(DatabaseRecord(plan, subjects))
        blocks = blocks_of(store)
        for subject in subjects:
            _copy_answers(stores, store, blocks, subject)
        if execution is not None:
            write_execution(store, execution)
        merge_verdicts(stores, store)
        answered = [subject for subject in subjects if store.annotation_files(subject.name)]
        options = EngineOptions(workers=workers)
        score_database(store, answered, lambda jobs: deque(run_jobs(jobs, options), maxlen=0))
        return finish(store)


def _subjects(stores: Sequence[DatabaseStore]) -> tuple[RecordedSubject, ...]:
    found: dict[str, RecordedSubject] = {}
    for store in stores:
        for item in store.record().subjects:
            before = found.setdefault(item.name, item)
            if before.version != item.version:
                raise InputError(
                    f"{item.name} has another version in {store.path}",
                    expected=before.version,
                    got=item.version,
                )
            found[item.name] = replace(before, any_view=bool(before.any_view or item.any_view))
    return tuple(found[name].with_scale(None) for name in sorted(found))


def _copy_tables(stores: Sequence[DatabaseStore], out: DatabaseStore) -> None:
    references = _merged([store.references() for store in stores], "reference_id", stores)
    tasks, names = [], pa.array([], pa.string())
    for store in stores:
        own = store.references(["reference_id"])["reference_id"]
        table = store.tasks()
        new = pc.and_(pc.is_in(table["reference_id"], own), pc.invert(pc.is_in(table["reference_id"], names)))
        tasks.append(table.filter(new))
        names = pa.concat_arrays([names, own.combine_chunks()])
        _copy_images(store.path / "images", out.path / "images")
    pairs = _merged([store.pairs() for store in stores], "pair_id", stores)
    place = pc.index_in(pairs["reference_id"], references["reference_id"].combine_chunks())
    order = [(name, "ascending") for name in ("place", "distortion_id", "level")]
    pairs = pairs.append_column("place", place).sort_by(order).drop_columns(["place"])
    write_table(out.references_file, references, REFERENCES)
    write_table(out.tasks_file, pa.concat_tables(tasks).combine_chunks(), TASKS)
    write_table(out.pairs_file, pairs, PAIRS)


def _merged(tables: Sequence[Any], key: str, stores: Sequence[DatabaseStore]) -> Any:
    """Concatenate tables of images; rows with the same key must be the same image, the first stays."""
    known: dict[str, str] = {}
    kept = []
    for table, store in zip(tables, stores, strict=True):
        new = []
        for name, digest in zip(table[key].to_pylist(), table["sha256"].to_pylist(), strict=True):
            new.append(name not in known)
            if known.setdefault(name, digest) != digest:
                raise InputError(f"{name} is another image in {store.path}")
        kept.append(table.filter(pa.array(new, pa.bool_())))
    return pa.concat_tables(kept).combine_chunks()


def _copy_images(source: Path, out: Path) -> None:
    """Link images where the file system can; otherwise copy them."""
    for file in sorted(source.rglob("*.png")):
        target = out / file.relative_to(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            continue
        try:
            os.link(file, target)
        except OSError:
            shutil.copyfile(file, target)


def _copy_answers(
    stores: Sequence[DatabaseStore], out: DatabaseStore, blocks: Sequence[Block], subject: RecordedSubject
) -> None:
    rows: dict[str, dict[tuple[str, str], Annotation]] = {}
    for store in stores:
        for part in store.annotation_parts(subject.name):
            for row in rows_of(Annotation, part):
                rows.setdefault(row.reference_id, {}).setdefault((row.pair_id or "", row.task_id), row)
    for block in blocks:
        mine = [
            replace(row, own_view=subject.info.is_made_for(reference.view))
            for reference in block.references
            for row in rows.get(reference.reference_id, {}).values()
        ]
        if mine:
            digest = block.digest(subject) if len(mine) == block.answers else ""
            file = out.annotation_part(subject.name, block.number)
            write_table(file, table_of(Annotation, mine), ANNOTATIONS, digest)
