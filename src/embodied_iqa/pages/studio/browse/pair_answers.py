"""The answers and scores of all subjects for one pair and task, with the actions drawn into the image."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from embodied_iqa.base.tables import rows_of
from embodied_iqa.data.database.building.build_options import BLOCK
from embodied_iqa.data.database.record import RecordedSubject
from embodied_iqa.data.database.schema import Annotation, Pair, Reference, Score
from embodied_iqa.imaging.images.frame import Intrinsics
from embodied_iqa.pages.reports.trial.run_images import Overlay, Side
from embodied_iqa.pages.reports.trial.tool_path_projection import chunk_points_m, project_path
from embodied_iqa.pages.reports.trial.word_diff import MarkedWords, compare_words
from embodied_iqa.pages.studio.browse.overview import Overview

_MOVE_COLUMNS = 7


@dataclass(frozen=True, slots=True)
class Motion:
    """A decision of a VLA in numbers.

    Attributes:
        status: In words.
        steps: Number of increments.
        moved_mm: Sum of the increments along x, y and z.
        gripper: Last state, 0 open to 1 closed; None without a step.
        reason: Of the VLA.
        seen: Probability that the image shows what the task names; None where it gives none.
    """

    status: str
    steps: int
    moved_mm: tuple[float, float, float]
    gripper: float | None
    reason: str
    seen: float | None


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of a subject.

    Attributes:
        words: Of a VLM, the differences marked.
        motion: Of a VLA.
        error: Why there is none; empty where there is one.
    """

    words: tuple[MarkedWords, ...] = ()
    motion: Motion | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class SubjectView:
    """A subject beside the pair.

    Attributes:
        subject: Of the database's record.
        own_view: It is made for the camera of the reference, so that its scores count.
        reference: Answer on the reference; None where it was not queried.
        distorted: Answer on the distorted image.
        score: For the chosen task; None where it has none.
        total: Sum over the tasks, 0 to 5; None where one is missing.
        overlays: Its actions in pixels of the image, reference first.
    """

    subject: RecordedSubject
    own_view: bool
    reference: Answer | None
    distorted: Answer | None
    score: Score | None
    total: float | None
    overlays: tuple[Overlay, ...]


def subject_views(
    overview: Overview, pair: Pair, reference: Reference, task_id: str
) -> tuple[SubjectView, ...]:
    """Return every subject of the database that has an answer or a score for a pair.

    Raises:
        InputError: A table is damaged.
    """
    answers = _answers(overview, pair, task_id)
    scores = _scores(overview, pair)
    found = []
    for subject in overview.record.subjects:
        own = [row for row in scores if row.subject == subject.name]
        both = [answers.get((subject.name, pair_id)) for pair_id in (None, pair.pair_id)]
        if own or any(both):
            found.append(_view(subject, both, own, task_id, reference))
    return tuple(sorted(found, key=lambda view: (not view.own_view, view.subject.role, view.subject.name)))


def _view(
    subject: RecordedSubject,
    both: Sequence[Annotation | None],
    scores: Sequence[Score],
    task_id: str,
    reference: Reference,
) -> SubjectView:
    values = [row.score for row in scores]
    complete = bool(values) and None not in values
    words = _marked(*both)
    rows = [row for row in (*both, *scores) if row is not None]
    return SubjectView(
        subject=subject,
        own_view=any(row.own_view for row in rows),
        reference=_answer(both[0], words[0]),
        distorted=_answer(both[1], words[1]),
        score=next((row for row in scores if row.task_id == task_id), None),
        total=sum(value for value in values if value is not None) if complete else None,
        overlays=tuple(
            overlay
            for row, side in zip(both, (Side.REFERENCE, Side.DISTORTED), strict=True)
            if row is not None and (overlay := _overlay(row, reference, side)) is not None
        ),
    )


def _marked(
    first: Annotation | None, second: Annotation | None
) -> tuple[tuple[MarkedWords, ...], tuple[MarkedWords, ...]]:
    return compare_words((first and first.answer) or "", (second and second.answer) or "")


def _answer(row: Annotation | None, words: tuple[MarkedWords, ...]) -> Answer | None:
    if row is None:
        return None
    if row.error is not None:
        return Answer(error=row.error)
    if row.status is None:
        return Answer(words)
    steps = np.array(row.increments or (), np.float64).reshape(-1, _MOVE_COLUMNS)
    x, y, z = (1e3 * steps[:, :3].sum(axis=0)).tolist()
    gripper = float(steps[-1, 6]) if len(steps) else None
    return Answer(motion=Motion(str(row.status), len(steps), (x, y, z), gripper, row.reason or "", row.seen))


def _overlay(row: Annotation, reference: Reference, side: Side) -> Overlay | None:
    """Return the tool's path in the image; None for a VLM or a refusal."""
    camera = next((camera for camera in reference.cameras if camera.view == reference.view), None)
    if camera is None or not row.increments or camera.pinhole_px is None or camera.T_base_camera is None:
        return None
    if reference.T_base_tool is None:
        return None
    model = Intrinsics(reference.width_px, reference.height_px, *camera.pinhole_px)
    T_base_tool = np.array(reference.T_base_tool, np.float64).reshape(4, 4)
    T_base_camera = np.array(camera.T_base_camera, np.float64).reshape(4, 4)
    steps = np.array(row.increments, np.float64).reshape(-1, _MOVE_COLUMNS)
    pieces = project_path(chunk_points_m(T_base_tool, steps), model, T_base_camera)
    if not pieces:
        return None
    lines = tuple(" ".join(f"{u:.1f},{v:.1f}" for u, v in piece) for piece in pieces)
    u, v = pieces[-1][-1]
    return Overlay(side, lines, (round(float(u), 1), round(float(v), 1)), None)


def _answers(overview: Overview, pair: Pair, task_id: str) -> Mapping[tuple[str, str | None], Annotation]:
    """Return the answers by subject and pair; None stands for the reference itself."""
    place = overview.rows("SELECT rowid AS place FROM refs WHERE reference_id = ?", [pair.reference_id])
    block = place[0]["place"] // BLOCK
    parts = [overview.store.annotation_part(s.name, block) for s in overview.record.subjects]
    files = [str(part) for part in parts if part.is_file()]
    if not files:
        return {}
    table = overview.table(
        "SELECT * FROM read_parquet(?, hive_partitioning = false) "
        "WHERE reference_id = ? AND task_id = ? AND (pair_id IS NULL OR pair_id = ?)",
        [files, pair.reference_id, task_id, pair.pair_id],
    )
    return {(row.subject, row.pair_id): row for row in rows_of(Annotation, table)}


def _scores(overview: Overview, pair: Pair) -> list[Score]:
    """Return the scores of all subjects and tasks.

    The longest column, `pair_id`, is not read: it takes a quarter of the time.
    """
    query = """
        SELECT * REPLACE (? AS pair_id) FROM scores_file
        WHERE reference_id = ? AND distortion_id = ? AND level = ?
    """
    values = [pair.pair_id, pair.reference_id, pair.distortion_id, pair.level]
    return rows_of(Score, overview.table(query, values))
