"""A sample of a database: pairs with the answers of every subject."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.tables import rows_of
from embodied_iqa.data.database.database_images import distorted_frame, read_frames, spec_of
from embodied_iqa.data.database.schema import Annotation, Pair, Reference, ReferenceTask
from embodied_iqa.data.database.store import DatabaseStore


@dataclass(frozen=True, slots=True)
class SampledPair:
    """A pair with its answers.

    Attributes:
        pair: The pair.
        reference: Its reference.
        task: The easiest task of the reference.
        answers: Subject to its answers on the reference and on the distorted image.
        scores: Subject to its score; None where it has none.
        own_view: Subjects whose score counts: others are not made for the view of the reference.
    """

    pair: Pair
    reference: Reference
    task: ReferenceTask
    answers: Mapping[str, tuple[Annotation, Annotation]]
    scores: Mapping[str, float | None]
    own_view: Collection[str]

    def tree(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        names = ("pair_id", "distortion_id", "distortion_name", "level", "seed")
        return {
            **{name: getattr(self.pair, name) for name in names},
            "view": self.reference.view,
            "task": self.task.text,
            "subjects": {
                name: {
                    "reference": answer_text(first),
                    "distorted": answer_text(second),
                    "score": self.scores.get(name),
                    "own_view": name in self.own_view,
                }
                for name, (first, second) in self.answers.items()
            },
        }


def answer_text(answer: Annotation) -> str:
    """Return an answer in one line: its words, or the sum of its actions."""
    if answer.error is not None:
        return f"failed: {answer.error}"
    if answer.answer is not None:
        return answer.answer or "(nothing)"
    steps = np.array(answer.increments, np.float64).reshape(-1, 7)
    if not len(steps):
        return f"{answer.status}: {answer.reason}"
    x, y, z = 1e3 * steps[:, :3].sum(axis=0)
    return f"{len(steps)} steps, sum of moves ({x:.0f}, {y:.0f}, {z:.0f}) mm, gripper {steps[-1, 6]:.2f}"


def draw_pairs(store: DatabaseStore, count: int, seed: int) -> list[SampledPair]:
    """Draw pairs at random; the same seed draws the same.

    Raises:
        UsageError: ``count`` is below 1.
        InputError: The database is incomplete.
    """
    if count < 1:
        raise UsageError("wrong number of pairs", expected="1 or more", got=count)
    table = store.pairs()
    chosen = np.random.default_rng(seed).permutation(len(table))[:count]
    pairs = rows_of(Pair, table.take(np.sort(chosen)))
    owners = {pair.reference_id for pair in pairs}
    rows = rows_of(Reference, _of(store.references(), "reference_id", owners))
    references = {row.reference_id: row for row in rows}
    tasks = _easiest(rows_of(ReferenceTask, _of(store.tasks(), "reference_id", owners)))
    answers = {name: dict(_answers(store, name, tasks)) for name in store.subjects()}
    scores = _scores(store, pairs, tasks)
    return [
        SampledPair(
            pair,
            references[pair.reference_id],
            tasks[pair.reference_id],
            {
                name: (own[pair.reference_id], own[pair.pair_id])
                for name, own in answers.items()
                if pair.reference_id in own and pair.pair_id in own
            },
            {name: score for name, (score, _) in scores.get(pair.pair_id, {}).items()},
            {name for name, (_, counts) in scores.get(pair.pair_id, {}).items() if counts},
        )
        for pair in pairs
    ]


def _easiest(tasks: Sequence[ReferenceTask]) -> dict[str, ReferenceTask]:
    found: dict[str, ReferenceTask] = {}
    for task in tasks:
        if task.rank < found.setdefault(task.reference_id, task).rank:
            found[task.reference_id] = task
    return found


def _answers(
    store: DatabaseStore, subject: str, tasks: Mapping[str, ReferenceTask]
) -> Iterator[tuple[str, Annotation]]:
    """Yield a subject's answers for these tasks by pair or reference."""
    for part in store.annotation_parts(subject):
        for row in rows_of(Annotation, _of(part, "reference_id", tasks)):
            if row.task_id == tasks[row.reference_id].task_id:
                yield row.pair_id or row.reference_id, row


def _scores(
    store: DatabaseStore, pairs: Sequence[Pair], tasks: Mapping[str, ReferenceTask]
) -> dict[str, dict[str, tuple[float | None, bool]]]:
    """Return each pair's scores by subject, and whether they count."""
    if not store.scores_file.is_file():
        return {}
    table = store.scores(["subject", "reference_id", "pair_id", "task_id", "score", "own_view"])
    found: dict[str, dict[str, tuple[float | None, bool]]] = {}
    for row in _of(table, "pair_id", [pair.pair_id for pair in pairs]).to_pylist():
        if row["task_id"] == tasks[row["reference_id"]].task_id:
            found.setdefault(row["pair_id"], {})[row["subject"]] = row["score"], row["own_view"]
    return found


def _of(table: Any, column: str, names: Collection[str]) -> Any:
    """Return the rows whose column has one of these values."""
    return table.filter(pc.is_in(table[column], pa.array(list(names), pa.string())))


def side_by_side(store: DatabaseStore, item: SampledPair) -> NDArray[np.uint8]:
    """Return ``(H, 2 W, 3)`` uint8 RGB: the reference, and the distorted image made from its seed.

    Raises:
        InputError: The reference's file is damaged.
    """
    view = item.reference.view
    frame = read_frames(store.path, item.reference, [view])[view]
    return np.hstack([frame.rgb, distorted_frame(frame, spec_of(item.pair)).rgb])
