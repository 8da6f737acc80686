"""Verification of a database: hashes, columns, links between tables, completeness, images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import PART_SUFFIX, sha256_of
from embodied_iqa.base.kinematics.se3 import transform_fault
from embodied_iqa.data.database.database_images import camera_fault, image_hash
from embodied_iqa.data.database.edits_check import check_edits
from embodied_iqa.data.database.joined_runs import duplicate_runs, joined_execution
from embodied_iqa.data.database.schema import ANNOTATIONS, Camera
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.data.database.verdicts import outdated_verdicts, stored_verdicts
from embodied_iqa.imaging.images.codecs import read_image

_MOST_REPORTED: Final = 20
_KEY: Final = ["image", "task_id"]
"""What an answer is about: a pair or a reference, and a task."""


@dataclass(frozen=True, slots=True)
class CheckReport:
    """Result of a check.

    Attributes:
        errors: What is wrong, one line each; the first ones of a kind where there are many.
        remarks: What is missing or failed and recorded as such: not an error.
        counts: Rows by table.
    """

    errors: tuple[str, ...]
    remarks: tuple[str, ...]
    counts: dict[str, int]


def check_database(store: DatabaseStore, *, images: bool = True) -> CheckReport:
    """Verify a database.

    Args:
        store: The database.
        images: Also decode every image and compare its hash.
    """
    checker = _Checker(store)
    checks: list[Callable[[], Iterator[str]]] = [
        checker.hashes,
        checker.edits,
        checker.links,
        checker.cameras,
        checker.answers,
        checker.scores,
        checker.execution,
        checker.verdicts,
    ]
    if images:
        checks.append(checker.images)
    errors: list[str] = []
    for check in checks:
        found = []
        try:
            found += list(check())
        except InputError as error:
            found.append(str(error))
        errors += found[:_MOST_REPORTED]
        if len(found) > _MOST_REPORTED:
            errors.append(f"and {len(found) - _MOST_REPORTED} more of that kind")
    return CheckReport(tuple(errors), tuple(checker.remarks), checker.counts)


class _Checker:
    def __init__(self, store: DatabaseStore) -> None:
        self._store = store
        self._record = store.record()
        self._answers_on_pairs = 0
        self.remarks: list[str] = []
        self.counts: dict[str, int] = {}

    def hashes(self) -> Iterator[str]:
        """Every table is the one that the record names."""
        known, files = self._record.sha256, self._store.files()
        for name in sorted(known.keys() - files.keys()):
            yield f"{name} is missing"
        again = {
            self._store.execution_file.name: "join the experiments",
            self._store.verdicts_file.name: "judge",
        }
        for name in sorted(files.keys() - known.keys()):
            if name in again:
                self.remarks.append(f"{name} has no hash: {again[name]} again")
            else:
                yield f"{name} is not in dataset.json: the build was interrupted; run it again"
        for name in sorted(files.keys() & known.keys()):
            if sha256_of(files[name]) != known[name]:
                yield f"{name} is not the file that was written"
        unfinished = list(self._store.path.rglob(f".*{PART_SUFFIX}"))
        if unfinished:
            self.remarks.append(f"{len(unfinished)} unfinished files of an interrupted build")

    def edits(self) -> Iterator[str]:
        """The journal is undamaged, and the tables follow from it."""
        errors, remarks = check_edits(self._store)
        self.remarks += remarks
        yield from errors

    def links(self) -> Iterator[str]:
        """Every row belongs to a reference; names are unique."""
        references = self._store.references(["reference_id"])["reference_id"].to_pylist()
        tasks = _columns(self._store.tasks(["reference_id", "task_id"]))
        pairs = _columns(self._store.pairs(["reference_id", "pair_id"]))
        self.counts |= {"references": len(references), "tasks": len(tasks), "pairs": len(pairs)}
        yield from _duplicates("reference", references)
        yield from _duplicates("pair", (pair for _, pair in pairs))
        yield from _duplicates("task", tasks)
        known = set(references)
        for name, rows in (("task", tasks), ("pair", pairs)):
            owners = {owner for owner, _ in rows}
            yield from (f"a {name} has an unknown reference: {owner}" for owner in sorted(owners - known))
            yield from (f"reference {owner} has no {name}" for owner in sorted(known - owners))

    def cameras(self) -> Iterator[str]:
        """What is stored of cameras and tools is a camera and a pose; it may be unknown."""
        names = ["reference_id", "cameras", "T_base_tool"]
        unknown = 0
        for row in self._store.references(names).to_pylist():
            cameras = [Camera(**camera) for camera in row["cameras"]]
            faults = [fault for camera in cameras if (fault := camera_fault(camera))]
            if (tool := row["T_base_tool"]) is not None and (fault := transform_fault(tool)):
                faults.append(f"the pose of the tool is {fault}")
            yield from (f"reference {row['reference_id']}: {fault}" for fault in faults)
            unknown += any(camera.T_base_camera is None or camera.fx_px is None for camera in cameras)
        if unknown:
            self.remarks.append(f"{unknown} references with a camera whose pose or lens is not known")

    def answers(self) -> Iterator[str]:
        """Every subject answered on every reference and pair for every task, once."""
        wanted = self._wanted()
        self.counts["annotations"] = 0
        for subject in self._record.subjects:
            columns = ["reference_id", "pair_id", "task_id", "error"]
            parts = self._store.annotation_parts(subject.name, columns)
            table = pa.concat_tables([_empty(ANNOTATIONS, columns), *parts])
            self.counts["annotations"] += len(table)
            self._answers_on_pairs += len(table) - table["pair_id"].null_count
            yield from self._answers_of(subject.name, table, wanted)

    def _answers_of(self, subject: str, table: Any, wanted: Any) -> Iterator[str]:
        images = pc.coalesce(table["pair_id"], table["reference_id"])
        keys = pa.table([images, table["task_id"]], names=_KEY)
        counts = keys.group_by(_KEY).aggregate([([], "count_all")])
        repeated = counts.filter(pc.greater(counts["count_all"], 1)).sort_by(
            [(key, "ascending") for key in _KEY]
        )
        for *key, count in _columns(repeated.select([*_KEY, "count_all"])):
            yield f"answer of {subject} {tuple(key)} is there {count} times"
        missing = wanted.join(counts, _KEY, join_type="left anti").num_rows
        unknown = counts.join(wanted, _KEY, join_type="left anti").num_rows
        if missing:
            yield f"{subject} lacks {missing} of {len(wanted)} answers: build again"
        if unknown:
            yield f"{subject} has {unknown} answers on unknown images or tasks"
        failed = len(table) - table["error"].null_count
        if failed:
            self.remarks.append(f"{subject} failed {failed} times")

    def _wanted(self) -> Any:
        """Return a table of all keys that have an answer in a complete database."""
        tasks = self._store.tasks(["reference_id", "task_id"])
        pairs = self._store.pairs(["reference_id", "pair_id"])
        of_pairs = pairs.join(tasks, "reference_id", join_type="inner").select(["pair_id", "task_id"])
        both = pa.concat_tables(
            [tasks.rename_columns(_KEY), of_pairs.rename_columns(_KEY)], promote_options="permissive"
        )
        return both.group_by(_KEY).aggregate([])

    def scores(self) -> Iterator[str]:
        """Every annotated pair and task has its row, and scores are between 0 and 1."""
        scores, answers = self._store.scores(["score"])["score"], self._answers_on_pairs
        self.counts["scores"] = len(scores)
        if len(scores) != answers:
            yield f"scores.parquet has {len(scores)} rows for {answers} answers: run step score"
        inside = pc.and_(pc.greater_equal(scores, 0.0), pc.less_equal(scores, 1.0))
        outside = pc.sum(pc.invert(inside)).as_py()
        if outside:
            yield f"{outside} scores are outside of 0 to 1"
        if scores.null_count:
            self.remarks.append(f"{scores.null_count} rows without a score")

    def execution(self) -> Iterator[str]:
        """Every run of the joined experiments is there once."""
        table = joined_execution(self._store)
        if table is not None:
            self.counts["execution"] = table.num_rows
            yield from (f"a run is there more than once: {key}" for key in duplicate_runs(table))

    def verdicts(self) -> Iterator[str]:
        """Every verdict is on an image of the database, once."""
        table = stored_verdicts(self._store)
        if table is not None:
            self.counts["verdicts"] = table.num_rows
            if outdated := outdated_verdicts(self._store):
                self.remarks.append(f"{outdated} verdicts are on other images: judge again")
            yield from _duplicates("verdict", table["pair_id"].to_pylist())

    def images(self) -> Iterator[str]:
        """Every image can be read and shows what was written."""
        cameras = pc.list_flatten(self._store.references(["cameras"])["cameras"])
        pairs = self._store.pairs(["image", "sha256"])
        images = [(camera["image"], camera["sha256"]) for camera in cameras.to_pylist()]
        for name, digest in [*images, *_columns(pairs)]:
            if name is not None:
                yield from self._image(name, digest)

    def _image(self, name: str, digest: str) -> Iterator[str]:
        try:
            rgb = read_image(self._store.path / name)
        except InputError as error:
            yield str(error)
            return
        if image_hash(rgb) != digest:
            yield f"{name} is not the image that was written"


def _columns(table: Any) -> list[tuple[Any, ...]]:
    """Return the rows of a table as tuples."""
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _empty(schema: Any, columns: list[str]) -> Any:
    return schema.empty_table().select(columns)


def _duplicates(kind: str, names: Iterable[object]) -> Iterator[str]:
    for name, count in Counter(names).items():
        if count > 1:
            yield f"{kind} {name} is there {count} times"
