"""Two databases become one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from embodied_iqa import __version__
from embodied_iqa.database.building.engine import Job, run_jobs
from embodied_iqa.database.building.settings import BuildOptions, EngineOptions
from embodied_iqa.database.building.step_annotate import AnnotateStep, SubjectKey
from embodied_iqa.database.building.step_score import ScoreStep
from embodied_iqa.database.execution import keep_execution, merged_execution
from embodied_iqa.database.lock import locked
from embodied_iqa.database.record import finished_record
from embodied_iqa.database.schema import ANNOTATIONS, PAIRS, REFERENCES, TASKS
from embodied_iqa.database.store import DatabaseStore, Row, write_table
from embodied_iqa.errors import InputError
from embodied_iqa.images.frame import View

__all__ = ["merge_databases"]

_OF_REFERENCE: Final = ("reference_id", "view")


def merge_databases(first: DatabaseStore, second: DatabaseStore, out: Path, workers: int = 1) -> Row:
    """Join two databases into a new one and score it again: scales come from all references.

    A reference that both have is taken from the first, and must be the same picture. Where a subject answered
    in one of them only, its answers are there for that part; `embodied-iqa build --steps annotate,score` on
    the new database asks for the rest. The runs of joined experiments come along.

    Returns:
        The new `dataset.json`.

    Raises:
        InputError: They contradict each other, or ``out`` exists.
    """
    if out.exists() and any(out.iterdir()):
        raise InputError(f"{out} exists", expected="a new folder")
    stores = (first, second)
    subjects = _subjects(stores)
    execution = merged_execution(stores)
    with locked(out):
        store = DatabaseStore(out)
        _copy_tables(stores, store)
        store.write_record(
            {
                "plan": {"source": "merged", "parts": [item.record()["plan"] for item in stores]},
                "embodied_iqa": __version__,
                "subjects": subjects,
            }
        )
        keys = [SubjectKey.of(item) for item in subjects]
        _copy_answers(stores, store, keys)
        if execution is not None:
            keep_execution(store, execution)
        answered = [key for key in keys if store.annotation_files(key.name)]
        ScoreStep(store, answered).run(lambda jobs: _do(jobs, workers))
        record = finished_record(store, store.record())
        store.write_record(record)
    return record


def _do(jobs: list[Job], workers: int) -> None:
    for _ in run_jobs(jobs, EngineOptions(workers=workers)):
        pass


def _subjects(stores: Sequence[DatabaseStore]) -> list[Row]:
    found: dict[str, Row] = {}
    for store in stores:
        for item in store.record()["subjects"]:
            before = found.setdefault(item["name"], dict(item))
            if before["version"] != item["version"]:
                raise InputError(
                    f"{item['name']} is of another version in {store.path}",
                    expected=before["version"],
                    got=item["version"],
                )
            before["any_view"] = before.get("any_view", False) or item.get("any_view", False)
    return [
        {name: value for name, value in found[key].items() if name not in {"d_max_m", "documents"}}
        for key in sorted(found)
    ]


def _copy_tables(stores: Sequence[DatabaseStore], out: DatabaseStore) -> None:
    references: dict[str, Row] = {}
    tasks: list[Row] = []
    pairs: dict[str, Row] = {}
    for store in stores:
        new = {
            row["reference_id"]: row
            for row in store.references().to_pylist()
            if _is_new(row, references, "reference_id", store)
        }
        tasks += [row for row in store.tasks().to_pylist() if row["reference_id"] in new]
        references |= new
        for row in store.pairs().to_pylist():
            if _is_new(row, pairs, "pair_id", store):
                pairs[row["pair_id"]] = row
        _copy_pictures(store.path / "pictures", out.path / "pictures")
    ordered = sorted(pairs.values(), key=_order(references))
    write_table(out.references_file, list(references.values()), REFERENCES)
    write_table(out.tasks_file, tasks, TASKS)
    write_table(out.pairs_file, ordered, PAIRS)


def _is_new(row: Row, known: dict[str, Row], name: str, store: DatabaseStore) -> bool:
    before = known.get(row[name])
    if before is not None and before["sha256"] != row["sha256"]:
        raise InputError(f"{row[name]} is another picture in {store.path}")
    return before is None


def _order(references: dict[str, Row]) -> Callable[[Row], tuple[int, str, int]]:
    rank = {name: number for number, name in enumerate(references)}
    return lambda row: (rank[row["reference_id"]], row["distortion_id"], row["level"])


def _copy_pictures(source: Path, out: Path) -> None:
    """Link pictures where the file system can, else copy them."""
    for file in sorted(source.rglob("*.png")):
        target = out / file.relative_to(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            continue
        try:
            os.link(file, target)
        except OSError:
            shutil.copyfile(file, target)


def _copy_answers(stores: Sequence[DatabaseStore], out: DatabaseStore, keys: Sequence[SubjectKey]) -> None:
    blocks = AnnotateStep(out, keys, BuildOptions()).blocks
    views = {row["reference_id"]: View(row["view"]) for row in out.references(_OF_REFERENCE).to_pylist()}
    for key in keys:
        rows: dict[str, list[Row]] = {}
        seen: set[tuple[str, str]] = set()
        for store in stores:
            for part in store.annotation_parts(key.name):
                for row in part.to_pylist():
                    name = (row["pair_id"] or row["reference_id"], row["task_id"])
                    if name not in seen:
                        seen.add(name)
                        own = key.info.is_made_for(views[row["reference_id"]])
                        rows.setdefault(row["reference_id"], []).append(row | {"own_view": own})
        for block in blocks:
            mine = [row for item in block.references for row in rows.get(item["reference_id"], ())]
            tasks = {item["reference_id"]: 0 for item in block.references}
            for task in block.tasks:
                tasks[task["reference_id"]] += 1
            whole = sum(tasks.values()) + sum(tasks[pair["reference_id"]] for pair in block.pairs)
            if mine:
                digest = block.digest(key) if len(mine) == whole else ""
                write_table(out.annotation_part(key.name, block.number), mine, ANNOTATIONS, digest)
