"""Step 1: reads candidates, keeps those that are fit, and writes their pictures."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from embodied_iqa.database.attributes import attributes_of, reason_to_reject
from embodied_iqa.database.building.engine import BlockReport, Job
from embodied_iqa.database.building.settings import BLOCK, BuildPlan, digest_of
from embodied_iqa.database.pictures import picture_hash
from embodied_iqa.database.references import Candidate, ReferenceSource
from embodied_iqa.database.schema import REFERENCES, TASKS, Person
from embodied_iqa.database.store import DatabaseStore, Row, read_digest, read_table, write_table
from embodied_iqa.errors import InputError, UsageError
from embodied_iqa.files import write_json_whole, write_whole
from embodied_iqa.images.codecs import write_picture
from embodied_iqa.images.frame import Frame, View
from embodied_iqa.tasks.task import task_row

__all__ = ["ReferenceStep", "Rejected"]

_MOST_REJECTED: Final = 20
"""So many candidates a wanted reference are looked at before the source counts as unfit."""

Run = Callable[[list[Job]], None]


@dataclass(frozen=True, slots=True)
class Rejected:
    """A candidate that is no reference.

    Attributes:
        origin: Which one.
        reason: Its kind, a colon, and numbers.
    """

    origin: str
    reason: str


class ReferenceStep:
    """Finds the plan's references among the candidates, in their order.

    Args:
        store: The database.
        plan: What is wanted.
    """

    def __init__(self, store: DatabaseStore, plan: BuildPlan) -> None:
        self._store = store
        self._source = plan.source
        self._wanted = plan.references
        source = plan.source
        written = [source.fingerprint] if source.fingerprint else []
        self._digest = digest_of("references", 1, source.description, source.count, *written)
        self._folder = store.work / "references"

    def is_done(self) -> bool:
        """Say whether the references of exactly this plan are there."""
        return read_digest(self._store.references_file) == self._final

    def are_tasks_done(self) -> bool:
        """Say whether their tasks are there."""
        return read_digest(self._store.tasks_file) == self._final

    @property
    def _final(self) -> str:
        return digest_of(self._digest, self._wanted)

    def run(self, run: Run) -> None:
        """Read candidates until there are enough, then write `references.parquet` and `skipped.csv`.

        Raises:
            InputError: The source has too few that are fit.
        """
        rows, rejected = self._fill(run)
        self._write(rows[: self._wanted], rejected)

    def run_tasks(self, run: Run) -> None:
        """Write `tasks.parquet`; candidates whose tasks are no longer there are read again."""
        rows, _ = self._fill(run)
        wanted = {row["reference_id"] for row in rows[: self._wanted]}
        tasks = [row for row in self._task_rows() if row["reference_id"] in wanted]
        write_table(self._store.tasks_file, tasks, TASKS, self._final)

    def _fill(self, run: Run) -> tuple[list[Row], list[Rejected]]:
        while True:
            rows, rejected = self._collect()
            if len(rows) >= self._wanted:
                return rows, rejected
            jobs = self._next_jobs(len(rows))
            if not jobs:
                counted = _counted(rejected) or "none rejected"
                raise InputError(
                    f"too few references in {self._source.description} ({counted})",
                    expected=f"{self._wanted}",
                    got=len(rows),
                )
            run(jobs)

    def rejected(self) -> list[Rejected]:
        """Return the candidates that were not taken."""
        return self._collect()[1]

    def _next_jobs(self, found: int) -> list[Job]:
        """Return jobs for the blocks that are likely to be needed next."""
        first = self._blocks_there()
        count = self._source.count
        most = (_MOST_REJECTED * self._wanted // BLOCK + 2) if count is None else -(-count // BLOCK)
        more = -(-(self._wanted - found) // BLOCK)
        numbers = range(first, min(first + more, most))
        job = partial(_make_block, self._store.path, self._source, self._digest)
        missing = [number for number in range(numbers.stop) if not self._is_there(number)]
        return [partial(job, number) for number in missing]

    def _is_there(self, number: int) -> bool:
        return read_digest(_block_file(self._folder, number)) == self._digest

    def _blocks_there(self) -> int:
        number = 0
        while self._is_there(number):
            number += 1
        return number

    def _collect(self) -> tuple[list[Row], list[Rejected]]:
        """Join the blocks without a gap; of equal pictures the first stays."""
        rows: dict[str, Row] = {}
        rejected: list[Rejected] = []
        for number in range(self._blocks_there()):
            file = _block_file(self._folder, number)
            skipped = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
            rejected += [Rejected(**item) for item in skipped]
            for row in read_table(file, REFERENCES).to_pylist():
                twin = rows.setdefault(row["sha256"], row)
                if twin is not row:
                    rejected.append(Rejected(row["origin"], f"twin: the same picture as {twin['origin']}"))
        return list(rows.values()), rejected

    def _write(self, rows: Sequence[Row], rejected: Sequence[Rejected]) -> None:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["origin", "reason"])
        writer.writerows([item.origin, item.reason] for item in rejected)
        skipped = self._store.path / "skipped.csv"
        write_whole(skipped, lambda fresh: fresh.write_text(text.getvalue(), encoding="utf-8"))
        write_table(self._store.references_file, list(rows), REFERENCES, self._final)

    def _task_rows(self) -> Iterator[Row]:
        for number in range(self._blocks_there()):
            yield from read_table(_tasks_file(self._folder, number), TASKS).to_pylist()


def _counted(rejected: Sequence[Rejected]) -> str:
    counts = Counter(item.reason.partition(":")[0] for item in rejected)
    return ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))


def _block_file(folder: Path, number: int) -> Path:
    return folder / f"block-{number:06d}.parquet"


def _tasks_file(folder: Path, number: int) -> Path:
    return folder / f"tasks-{number:06d}.parquet"


def _make_block(path: Path, source: ReferenceSource, digest: str, number: int) -> BlockReport:
    """Read a block of candidates and write what is fit."""
    store = DatabaseStore(path)
    folder = store.work / "references"
    end = BLOCK * (number + 1) if source.count is None else min(source.count, BLOCK * (number + 1))
    rows, tasks, rejected = list[Row](), list[Row](), list[Rejected]()
    for index in range(BLOCK * number, end):
        taken = _take(store, source, index)
        if isinstance(taken, Rejected):
            rejected.append(taken)
            continue
        rows.append(taken[0])
        tasks += taken[1]
    skipped = [{"origin": item.origin, "reason": item.reason} for item in rejected]
    write_json_whole(_block_file(folder, number).with_suffix(".json"), skipped)
    write_table(_tasks_file(folder, number), tasks, TASKS, digest)
    write_table(_block_file(folder, number), rows, REFERENCES, digest)  # last: it says that the block is done
    failures = Counter(item.reason.partition(":")[0] for item in rejected)
    return BlockReport(number, len(rows), dict(failures))


def _take(store: DatabaseStore, source: ReferenceSource, index: int) -> Rejected | tuple[Row, list[Row]]:
    try:
        candidate = source.read(index)
    except (InputError, UsageError) as error:
        return Rejected(f"number {index}", f"unusable: {error}" if ":" not in str(error) else str(error))
    picture = candidate.frames[candidate.view].rgb
    attributes = attributes_of(picture)
    reason = reason_to_reject(picture, attributes)
    if reason is not None:
        return Rejected(candidate.origin, reason)
    cameras = [_camera(store, candidate, frame) for _, frame in sorted(candidate.frames.items())]
    tasks = [{"reference_id": candidate.reference_id, **task_row(task)} for task in candidate.tasks]
    return _row(candidate, cameras) | attributes.row(), tasks


def _camera(store: DatabaseStore, candidate: Candidate, frame: Frame) -> Row:
    relative = f"pictures/references/{candidate.reference_id}-{frame.view}.png"
    file = store.path / relative
    file.parent.mkdir(parents=True, exist_ok=True)
    write_picture(file, frame.rgb)
    size = frame.intrinsics
    return {
        "view": str(frame.view),
        "picture": relative,
        "sha256": picture_hash(frame.rgb),
        "fx_px": size.fx_px,
        "fy_px": size.fy_px,
        "cx_px": size.cx_px,
        "cy_px": size.cy_px,
        "T_base_camera": [float(value) for value in frame.T_base_camera.ravel()],
    }


def _row(candidate: Candidate, cameras: list[Row]) -> Row:
    frame = candidate.frames[candidate.view]
    shown = next(camera for camera in cameras if camera["view"] == candidate.view)
    return {
        "reference_id": candidate.reference_id,
        "source": str(candidate.source),
        "origin": candidate.origin,
        "real": candidate.real,
        "view": str(candidate.view),
        "person": str(Person.FIRST if candidate.view is View.WRIST else Person.THIRD),
        "main_object": candidate.main_object,
        "main_kind": candidate.main_kind,
        "background": candidate.background,
        "scene_seed": candidate.scene_seed,
        "instruction": candidate.instruction,
        "stamp_ns": frame.stamp_ns,
        "width_px": frame.rgb.shape[1],
        "height_px": frame.rgb.shape[0],
        "picture": shown["picture"],
        "sha256": shown["sha256"],
        "cameras": cameras,
        "T_base_tool": [float(value) for value in candidate.T_base_tool.ravel()],
        "gripper": candidate.gripper,
    }
