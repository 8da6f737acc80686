"""Steps 1 and 2: reference images chosen from the candidates of a source, and their tasks."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.files import write_json_whole, write_text_whole
from embodied_iqa.base.jobs.engine import BlockReport, Job
from embodied_iqa.base.jobs.plan import digest_of
from embodied_iqa.base.records import read_json, unstructure
from embodied_iqa.base.tables import read_digest, read_table, rows_of, table_of, write_table
from embodied_iqa.data.database.attributes import attributes_of, rejection_reason
from embodied_iqa.data.database.building.build_options import BLOCK, BuildPlan
from embodied_iqa.data.database.database_images import image_hash
from embodied_iqa.data.database.schema import REFERENCES, TASKS, Camera, Person, Reference, ReferenceTask
from embodied_iqa.data.database.sources.candidate import Candidate, ReferenceSource
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.imaging.images.codecs import write_image
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.world.tasks.task import Task, task_row

_MOST_REJECTED: Final = 20
"""Candidates per wanted reference that are read before the source is refused as unsuitable."""

Run = Callable[[Sequence[Job]], object]


@dataclass(frozen=True, slots=True)
class Rejected:
    """A candidate that does not become a reference.

    Attributes:
        origin: Its place in the source.
        reason: Its kind, a colon, and numbers.
    """

    origin: str
    reason: str

    @property
    def kind(self) -> str:
        """Kind of the reason."""
        return self.reason.partition(":")[0]


class ReferenceStep:
    """Choice of the plan's references among the candidates, in their order.

    Args:
        store: The database.
        plan: Source and number of the references.
    """

    def __init__(self, store: DatabaseStore, plan: BuildPlan) -> None:
        self._store = store
        self._source = plan.source
        self._wanted, self._fewer_do = plan.references, plan.fewer_do
        source = plan.source
        written = [source.fingerprint] if source.fingerprint else []
        self._digest = digest_of("references", 1, source.description, source.count, *written)
        self._final = digest_of(self._digest, self._wanted)

    def run(self, run: Run) -> None:
        """Write `references.parquet` and `skipped.csv`, unless the references of this plan exist.

        Raises:
            InputError: The source has too few suitable candidates.
        """
        if read_digest(self._store.references_file) == self._final:
            return
        rows, rejected = self._fill(run)
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["origin", "reason"])
        writer.writerows([item.origin, item.reason] for item in rejected)
        write_text_whole(self._store.path / "skipped.csv", text.getvalue())
        table = table_of(Reference, rows[: self._wanted])
        write_table(self._store.references_file, table, REFERENCES, self._final)

    def run_tasks(self, run: Run) -> None:
        """Write `tasks.parquet`, unless it exists; missing tasks of candidates are read again."""
        if read_digest(self._store.tasks_file) == self._final:
            return
        rows, _ = self._fill(run)
        wanted = {row.reference_id for row in rows[: self._wanted]}
        tasks = [
            task
            for block in self._finished()
            for task in rows_of(ReferenceTask, read_table(block.tasks_file, TASKS.names))
            if task.reference_id in wanted
        ]
        write_table(self._store.tasks_file, table_of(ReferenceTask, tasks), TASKS, self._final)

    def _fill(self, run: Run) -> tuple[list[Reference], list[Rejected]]:
        """Read candidates until there are enough."""
        while True:
            rows, rejected = self._collect()
            if len(rows) >= self._wanted:
                return rows, rejected
            jobs = self._next_jobs(len(rows))
            if not jobs and rows and self._fewer_do:
                return rows, rejected
            if not jobs:
                counts = sorted(Counter(item.kind for item in rejected).items())
                counted = ", ".join(f"{count} {kind}" for kind, count in counts) or "none rejected"
                if rejected:
                    counted += f"; the first, {rejected[0].origin}: {rejected[0].reason}"
                raise InputError(
                    f"too few references in {self._source.description} ({counted})",
                    expected=f"{self._wanted}",
                    got=len(rows),
                )
            run(jobs)

    def _next_jobs(self, kept: int) -> list[Job]:
        """Return jobs for the missing blocks that are probably needed next."""
        count = self._source.count
        most = (_MOST_REJECTED * self._wanted // BLOCK + 2) if count is None else -(-count // BLOCK)
        more = -(-(self._wanted - kept) // BLOCK)
        blocks = map(self._block, range(min(len(self._finished()) + more, most)))
        job = partial(_make_block, self._source)
        return [partial(job, block) for block in blocks if not block.is_done()]

    def _block(self, number: int) -> _Block:
        return _Block(self._store.path, number, self._digest)

    def _finished(self) -> list[_Block]:
        """Return the blocks before the first one that is missing."""
        found: list[_Block] = []
        while (block := self._block(len(found))).is_done():
            found.append(block)
        return found

    def _collect(self) -> tuple[list[Reference], list[Rejected]]:
        """Concatenate the finished blocks; of equal images the first stays."""
        rows: dict[str, Reference] = {}
        rejected: list[Rejected] = []
        for block in self._finished():
            rejected += read_json(tuple[Rejected, ...], block.rejected_file, "the rejected candidates")
            for row in rows_of(Reference, read_table(block.file, REFERENCES.names)):
                twin = rows.setdefault(row.sha256, row)
                if twin is not row:
                    rejected.append(Rejected(row.origin, f"twin: the same image as {twin.origin}"))
        return list(rows.values()), rejected


@dataclass(frozen=True, slots=True)
class _Block:
    """Candidates that one job reads."""

    path: Path
    number: int
    digest: str

    @property
    def file(self) -> Path:
        """Its references; written last: it marks the block as done."""
        return self.path / "work" / "references" / f"block-{self.number:06d}.parquet"

    @property
    def rejected_file(self) -> Path:
        """Its rejected candidates."""
        return self.file.with_suffix(".json")

    @property
    def tasks_file(self) -> Path:
        """The tasks of its references."""
        return self.file.with_name(f"tasks-{self.number:06d}.parquet")

    def is_done(self) -> bool:
        """Return whether the block was read for this source."""
        return read_digest(self.file) == self.digest


def _make_block(source: ReferenceSource, block: _Block) -> BlockReport:
    """Read a block of candidates and write the suitable ones."""
    end = BLOCK * (block.number + 1)
    rows, tasks, rejected = list[Reference](), list[ReferenceTask](), list[Rejected]()
    for index in range(BLOCK * block.number, end if source.count is None else min(source.count, end)):
        taken = _take(block.path, source, index)
        if isinstance(taken, Rejected):
            rejected.append(taken)
        else:
            rows.append(taken[0])
            tasks += taken[1]
    write_json_whole(block.rejected_file, unstructure(rejected))
    write_table(block.tasks_file, table_of(ReferenceTask, tasks), TASKS, block.digest)
    write_table(block.file, table_of(Reference, rows), REFERENCES, block.digest)
    return BlockReport(block.number, len(rows), Counter(item.kind for item in rejected))


def _take(
    path: Path, source: ReferenceSource, index: int
) -> Rejected | tuple[Reference, list[ReferenceTask]]:
    try:
        candidate = source.read(index)
    except (InputError, UsageError) as error:
        said = str(error)
        return Rejected(source.name_of(index), said if ":" in said else f"unusable: {said}")
    image = candidate.frames[candidate.view].rgb
    attributes = attributes_of(image)
    reason = rejection_reason(image, attributes)
    if reason is not None:
        return Rejected(candidate.origin, reason)
    cameras = {view: _camera(path, candidate, frame) for view, frame in sorted(candidate.frames.items())}
    tasks = [_task(candidate.reference_id, task) for task in candidate.tasks]
    return _reference(candidate, cameras, asdict(attributes)), tasks


def _task(reference_id: str, task: Task) -> ReferenceTask:
    row: dict[str, Any] = {**task_row(task), "source": task.source}
    return ReferenceTask(reference_id, **row)


def _camera(path: Path, candidate: Candidate, frame: Frame) -> Camera:
    """Write an image of a candidate."""
    relative = f"images/references/{candidate.reference_id}-{frame.view}.png"
    file = path / relative
    write_image(file, frame.rgb)
    model, pose = frame.intrinsics, frame.T_base_camera
    return Camera(
        view=frame.view,
        image=relative,
        sha256=image_hash(frame.rgb),
        fx_px=None if model is None else model.fx_px,
        fy_px=None if model is None else model.fy_px,
        cx_px=None if model is None else model.cx_px,
        cy_px=None if model is None else model.cy_px,
        T_base_camera=None if pose is None else tuple(pose.ravel().tolist()),
    )


def _reference(
    candidate: Candidate, cameras: Mapping[View, Camera], attributes: dict[str, float]
) -> Reference:
    frame = candidate.frames[candidate.view]
    return Reference(
        reference_id=candidate.reference_id,
        source=candidate.source,
        origin=candidate.origin,
        real=candidate.real,
        view=candidate.view,
        person=Person.FIRST if candidate.view.first_person else Person.THIRD,
        main_object=candidate.main_object,
        main_kind=candidate.main_kind,
        background=candidate.background,
        scene_seed=candidate.scene_seed,
        instruction=candidate.instruction,
        stamp_ns=frame.stamp_ns if candidate.is_timed else None,
        width_px=frame.rgb.shape[1],
        height_px=frame.rgb.shape[0],
        image=cameras[candidate.view].image,
        sha256=cameras[candidate.view].sha256,
        cameras=tuple(cameras.values()),
        T_base_tool=None if (tool := candidate.T_base_tool) is None else tuple(tool.ravel().tolist()),
        gripper=candidate.gripper,
        **attributes,
    )
