"""Verification of a database: hashes, columns, links between tables, completeness, images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import pyarrow.compute as pc

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import PART_SUFFIX, sha256_of
from embodied_iqa.base.kinematics.se3 import transform_fault
from embodied_iqa.data.database.completeness import KEY, answer_keys, answers_of, wanted_answers
from embodied_iqa.data.database.database_images import camera_fault, image_hash
from embodied_iqa.data.database.edits import annotate_command
from embodied_iqa.data.database.edits_check import check_edits
from embodied_iqa.data.database.joined_runs import duplicate_runs, joined_execution
from embodied_iqa.data.database.record import MERGED
from embodied_iqa.data.database.schema import Camera
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.data.database.unanswered import unanswered
from embodied_iqa.data.database.verdicts import outdated_verdicts, stored_verdicts
from embodied_iqa.imaging.images.codecs import read_image

_MOST_REPORTED: Final = 20


@dataclass(frozen=True, slots=True)
class CheckReport:
    """Result of a check.

    Attributes:
        errors: What is wrong, one line each; the first ones of a kind where there are many.
        unfinished: What a build that has not ended still has to do, one line each.
        command: Goes on with that build; None where there is none, or it is not known.
        remarks: What is missing or failed and recorded as such: not an error.
        counts: Rows by table.
    """

    errors: tuple[str, ...]
    remarks: tuple[str, ...]
    counts: dict[str, int]
    unfinished: tuple[str, ...] = ()
    command: str | None = None

    @property
    def result(self) -> str:
        """``damaged``, ``incomplete`` or ``correct``."""
        return "damaged" if self.errors else "incomplete" if self.unfinished else "correct"


def check_database(store: DatabaseStore, *, images: bool = True) -> CheckReport:
    """Verify a database.

    Args:
        store: The database.
        images: Also decode every image and compare its hash.
    """
    checker = _Checker(store)
    checks = [checker.hashes, *checker.possible(images=images)]
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
    unfinished = checker.unfinished[:_MOST_REPORTED]
    if len(checker.unfinished) > _MOST_REPORTED:
        unfinished.append(f"and {len(checker.unfinished) - _MOST_REPORTED} more")
    record = store.record()
    goes_on = annotate_command(store) if record.plan.get("source") == MERGED else None
    command = (record.unfinished or goes_on) if unfinished else None
    return CheckReport(tuple(errors), tuple(checker.remarks), checker.counts, tuple(unfinished), command)


class _Checker:
    def __init__(self, store: DatabaseStore) -> None:
        self._store = store
        self._record = store.record()
        self._answers_on_pairs = 0
        self.remarks: list[str] = []
        self._failed: list[str] = []
        self.unfinished: list[str] = []
        self.counts: dict[str, int] = {}

    def possible(self, *, images: bool) -> Iterator[Callable[[], Iterator[str]]]:
        """Yield the checks after the hashes, as far as the tables that they read are there.

        A table that no build has written yet is unfinished work; one that was lost is an error of the hashes.
        """
        needed = {
            "references": (self.edits, self.cameras),
            "tasks": (),
            "pairs": (self.links, self.answers),
            "scores": (self.scores,),
        }
        there = self._store.tables()
        for name, checks in needed.items():
            if name not in there:
                if f"{name}.parquet" not in self._record.sha256:
                    self.unfinished.append(f"there is no {name}.parquet yet")
                return
            yield from checks
        yield from (self.execution, self.verdicts, *((self.images,) if images else ()))

    def hashes(self) -> Iterator[str]:
        """Every table is the one that the record names."""
        known, files = self._record.sha256, self._store.files()
        for name in sorted(known.keys() - files.keys()):
            yield f"{name} is missing"
        again = {
            self._store.execution_file.name: "join the experiments",
            self._store.verdicts_file.name: "judge",
        }
        new: list[str] = []
        for name in sorted(files.keys() - known.keys()):
            if name in again:
                self.remarks.append(f"{name} has no hash: {again[name]} again")
            else:
                new.append(name)
        for name in sorted(files.keys() & known.keys()):
            if sha256_of(files[name]) != known[name]:
                yield f"{name} is not the file that was written"
        if new:
            more = f" and {len(new) - 1} more" if len(new) > 1 else ""
            self.unfinished.append(f"{new[0]}{more}: written by a build that has not ended")
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
            self.unfinished += [f"reference {owner} has no {name}" for owner in sorted(known - owners)]

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
        wanted = wanted_answers(self._store)
        self.counts["annotations"] = 0
        for subject in self._record.subjects:
            columns = ["reference_id", "pair_id", "task_id", "error"]
            table = answers_of(self._store, subject.name, columns)
            self.counts["annotations"] += len(table)
            self._answers_on_pairs += len(table) - table["pair_id"].null_count
            yield from self._answers_of(subject.name, table, wanted)
        self.remarks += map(str, unanswered(self._store, self._failed))

    def _answers_of(self, subject: str, table: Any, wanted: Any) -> Iterator[str]:
        counts = answer_keys(table).group_by(KEY).aggregate([([], "count_all")])
        repeated = counts.filter(pc.greater(counts["count_all"], 1)).sort_by(
            [(key, "ascending") for key in KEY]
        )
        for *key, count in _columns(repeated.select([*KEY, "count_all"])):
            yield f"answer of {subject} {tuple(key)} is there {count} times"
        missing = wanted.join(counts, KEY, join_type="left anti").num_rows
        unknown = counts.join(wanted, KEY, join_type="left anti").num_rows
        if missing:
            self.unfinished.append(f"{subject} lacks {missing} of {len(wanted)} answers")
        if unknown:
            line = f"{subject} has {unknown} answers on unknown images or tasks"
            if self._is_recorded(subject):
                yield line
            else:
                self.unfinished.append(line)
        failed = len(table) - table["error"].null_count
        if failed == len(table):
            self._failed.append(subject)
        elif failed:
            self.remarks.append(f"{subject} failed {failed} times")

    def _is_recorded(self, subject: str) -> bool:
        """Whether the answers of a subject are those of a build that has ended."""
        files = self._store.annotation_files(subject)
        return all(str(file.relative_to(self._store.path)) in self._record.sha256 for file in files)

    def scores(self) -> Iterator[str]:
        """Every annotated pair and task has its row, and scores are between 0 and 1."""
        scores, answers = self._store.scores(["score"])["score"], self._answers_on_pairs
        self.counts["scores"] = len(scores)
        if len(scores) != answers:
            self.unfinished.append(f"scores.parquet has {len(scores)} rows for {answers} answers")
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


def _duplicates(kind: str, names: Iterable[object]) -> Iterator[str]:
    for name, count in Counter(names).items():
        if count > 1:
            yield f"{kind} {name} is there {count} times"
