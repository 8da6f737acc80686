"""Verifies a database: hashes, columns, that every row is there once and belongs to another, pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from embodied_iqa.database.execution import joined_execution, runs_twice
from embodied_iqa.database.pictures import picture_hash
from embodied_iqa.database.record import tables_of
from embodied_iqa.database.store import DatabaseStore, Row
from embodied_iqa.errors import InputError
from embodied_iqa.files import PART_SUFFIX, sha256_of
from embodied_iqa.images.codecs import read_picture

__all__ = ["CheckReport", "check_database"]

_MOST_TOLD: Final = 20


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What a check found.

    Attributes:
        errors: What is wrong, a line each; the first of a kind where there are many.
        remarks: What is missing or failed but told as such: no error.
        counts: Rows by table.
    """

    errors: tuple[str, ...]
    remarks: tuple[str, ...]
    counts: dict[str, int]


def check_database(store: DatabaseStore, *, pictures: bool = True) -> CheckReport:
    """Verify a database.

    Args:
        store: The database.
        pictures: Also decode every picture and compare its hash.
    """
    checker = _Checker(store)
    checks: list[Callable[[], Iterator[str]]] = [
        checker.hashes,
        checker.links,
        checker.answers,
        checker.scores,
        checker.execution,
    ]
    if pictures:
        checks.append(checker.pictures)
    errors: list[str] = []
    for check in checks:
        found = []
        try:
            found += list(check())
        except InputError as error:
            found.append(str(error))
        errors += found[:_MOST_TOLD]
        if len(found) > _MOST_TOLD:
            errors.append(f"and {len(found) - _MOST_TOLD} more of that kind")
    return CheckReport(tuple(errors), tuple(checker.remarks), checker.counts)


class _Checker:
    def __init__(self, store: DatabaseStore) -> None:
        self._store = store
        self._record = store.record()
        self.remarks: list[str] = []
        self.counts: dict[str, int] = {}

    def hashes(self) -> Iterator[str]:
        """Every table is the one that the record names."""
        known: dict[str, str] = self._record.get("sha256", {})
        there = {str(file.relative_to(self._store.path)): file for file in tables_of(self._store)}
        for name in sorted(known.keys() - there.keys()):
            yield f"{name} is missing"
        later = {self._store.execution_file.name}
        if later & there.keys() - known.keys():
            self.remarks.append(f"{self._store.execution_file.name} has no hash: join the experiments again")
        for name in sorted(there.keys() - known.keys() - later):
            yield f"{name} is not in dataset.json: the build was broken off; run it again"
        for name in sorted(there.keys() & known.keys()):
            if sha256_of(there[name]) != known[name]:
                yield f"{name} is not the file that was written"
        left = list(self._store.path.rglob(f".*{PART_SUFFIX}"))
        if left:
            self.remarks.append(f"{len(left)} unfinished files of a build that was broken off")

    def links(self) -> Iterator[str]:
        """Every row belongs to a reference; names are unique."""
        store = self._store
        references = store.references(["reference_id"])["reference_id"].to_pylist()
        tasks = store.tasks(["reference_id", "task_id"]).to_pylist()
        pairs = store.pairs(["reference_id", "pair_id"]).to_pylist()
        self.counts |= {"references": len(references), "tasks": len(tasks), "pairs": len(pairs)}
        yield from _twice("reference", Counter(references))
        yield from _twice("pair", Counter(row["pair_id"] for row in pairs))
        yield from _twice("task", Counter((row["reference_id"], row["task_id"]) for row in tasks))
        known = set(references)
        for name, rows in (("task", tasks), ("pair", pairs)):
            owners = {row["reference_id"] for row in rows}
            for owner in sorted(owners - known):
                yield f"a {name} belongs to no reference: {owner}"
            for owner in sorted(known - owners):
                yield f"reference {owner} has no {name}"

    def answers(self) -> Iterator[str]:
        """Every subject answered on every reference and pair for every task, once."""
        wanted = self._wanted()
        total = 0
        for item in self._record.get("subjects", ()):
            name, failed = item["name"], 0
            found: Counter[tuple[str, str]] = Counter()
            for part in self._store.annotation_parts(name, ["reference_id", "pair_id", "task_id", "error"]):
                failed += len(part) - part["error"].null_count
                for row in part.to_pylist():
                    found[row["pair_id"] or row["reference_id"], row["task_id"]] += 1
            total += found.total()
            yield from _twice(f"answer of {name}", found)
            missing, foreign = len(wanted - found.keys()), len(found.keys() - wanted)
            if missing:
                yield f"{name} lacks {missing} of {len(wanted)} answers: build again"
            if foreign:
                yield f"{name} has {foreign} answers to nothing"
            if failed:
                self.remarks.append(f"{name} failed {failed} times")
        self.counts["annotations"] = total

    def _wanted(self) -> set[tuple[str, str]]:
        tasks: dict[str, list[str]] = {}
        for row in self._store.tasks(["reference_id", "task_id"]).to_pylist():
            tasks.setdefault(row["reference_id"], []).append(row["task_id"])
        wanted = {(name, task) for name, ids in tasks.items() for task in ids}
        for row in self._store.pairs(["reference_id", "pair_id"]).to_pylist():
            wanted |= {(row["pair_id"], task) for task in tasks.get(row["reference_id"], ())}
        return wanted

    def scores(self) -> Iterator[str]:
        """Every annotated pair and task has its row, and scores lie between 0 and 1."""
        columns = ["subject", "pair_id", "task_id", "score"]
        table = self._store.scores(columns)
        self.counts["scores"] = len(table)
        expected = self.counts.get("annotations", 0) - self._on_references()
        if len(table) != expected:
            yield f"scores.parquet has {len(table)} rows for {expected} answers: run step score"
        values = [value for value in table["score"].to_pylist() if value is not None]
        wrong = sum(not 0.0 <= value <= 1.0 for value in values)
        if wrong:
            yield f"{wrong} scores lie outside of 0 to 1"
        if len(values) < len(table):
            self.remarks.append(f"{len(table) - len(values)} rows without a score")

    def execution(self) -> Iterator[str]:
        """Every run of the joined experiments is there once."""
        table = joined_execution(self._store)
        if table is not None:
            self.counts["execution"] = table.num_rows
            for key in runs_twice(table):
                yield f"a run is there more than once: {key}"

    def _on_references(self) -> int:
        return sum(
            part["pair_id"].null_count
            for item in self._record.get("subjects", ())
            for part in self._store.annotation_parts(item["name"], ["pair_id"])
        )

    def pictures(self) -> Iterator[str]:
        """Every picture can be read and shows what was written."""
        for row in self._store.references(["cameras"]).to_pylist():
            for camera in row["cameras"]:
                yield from self._picture(camera)
        for row in self._store.pairs(["picture", "sha256"]).to_pylist():
            if row["picture"] is not None:
                yield from self._picture(row)

    def _picture(self, row: Row) -> Iterator[str]:
        try:
            rgb = read_picture(self._store.path / row["picture"])
        except InputError as error:
            yield str(error)
            return
        if picture_hash(rgb) != row["sha256"]:
            yield f"{row['picture']} is not the picture that was written"


def _twice(what: str, counts: Counter[str] | Counter[tuple[str, str]]) -> Iterator[str]:
    for name, count in counts.items():
        if count > 1:
            yield f"{what} {name} is there {count} times"
