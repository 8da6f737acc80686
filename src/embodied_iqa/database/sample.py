"""A sample of a database: pairs with what every subject made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from embodied_iqa.database.pictures import distorted_frame, read_frames, spec_of
from embodied_iqa.database.store import DatabaseStore, Row
from embodied_iqa.errors import UsageError
from embodied_iqa.images.frame import View

__all__ = ["SampledPair", "draw_pairs", "said", "side_by_side"]


@dataclass(frozen=True, slots=True)
class SampledPair:
    """A pair with its answers.

    Attributes:
        pair: Row of `pairs.parquet`.
        reference: Row of `references.parquet`.
        task: Row of `tasks.parquet`: the easiest one.
        answers: Subject to its rows on the reference and on the distorted picture.
        scores: Subject to its score; None where it has none.
    """

    pair: Row
    reference: Row
    task: Row
    answers: dict[str, tuple[Row, Row]]
    scores: dict[str, float | None]

    def tree(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        names = ("pair_id", "distortion_id", "distortion_name", "level", "seed")
        return {
            **{name: self.pair[name] for name in names},
            "view": self.reference["view"],
            "task": self.task["text"],
            "subjects": {
                name: {"reference": said(first), "distorted": said(second), "score": self.scores.get(name)}
                for name, (first, second) in self.answers.items()
            },
        }


def said(row: Row) -> str:
    """Return an answer in a line: words, or where the actions end."""
    if row["error"] is not None:
        return f"failed: {row['error']}"
    if row["answer"] is not None:
        return str(row["answer"]) or "(nothing)"
    steps = np.array(row["increments"], np.float64).reshape(-1, 7)
    if not len(steps):
        return f"{row['status']}: {row['reason']}"
    x, y, z = 1e3 * steps[:, :3].sum(axis=0)
    return f"{len(steps)} steps, sum of moves ({x:.0f}, {y:.0f}, {z:.0f}) mm, gripper {steps[-1, 6]:.2f}"


def draw_pairs(store: DatabaseStore, count: int, seed: int) -> list[SampledPair]:
    """Draw pairs at random; the same seed draws the same.

    Raises:
        UsageError: ``count`` is below 1.
        InputError: The database is not whole.
    """
    if count < 1:
        raise UsageError("wrong number of pairs", expected="1 or more", got=count)
    table = store.pairs()
    chosen = np.random.default_rng(seed).permutation(len(table))[:count]
    pairs = table.take(np.sort(chosen)).to_pylist()
    references = {row["reference_id"]: row for row in store.references().to_pylist()}
    tasks: dict[str, Row] = {}
    for row in store.tasks().to_pylist():
        best = tasks.setdefault(row["reference_id"], row)
        if row["rank"] < best["rank"]:
            tasks[row["reference_id"]] = row
    answers, scores = _answers(store, pairs, tasks), _scores(store, pairs, tasks)
    return [
        SampledPair(
            pair,
            references[pair["reference_id"]],
            tasks[pair["reference_id"]],
            answers.get(pair["pair_id"], {}),
            scores.get(pair["pair_id"], {}),
        )
        for pair in pairs
    ]


def _answers(
    store: DatabaseStore, pairs: Sequence[Row], tasks: dict[str, Row]
) -> dict[str, dict[str, tuple[Row, Row]]]:
    found: dict[str, dict[str, tuple[Row, Row]]] = {}
    wanted = sorted({pair["reference_id"] for pair in pairs})
    for subject in store.subjects():
        rows: dict[str, Row] = {}
        for part in store.annotation_parts(subject):
            for row in part.filter(pc.is_in(part["reference_id"], _values(wanted))).to_pylist():
                if row["task_id"] == tasks[row["reference_id"]]["task_id"]:
                    rows[row["pair_id"] or row["reference_id"]] = row
        for pair in pairs:
            first, second = rows.get(pair["reference_id"]), rows.get(pair["pair_id"])
            if first is not None and second is not None:
                found.setdefault(pair["pair_id"], {})[subject] = first, second
    return found


def _scores(
    store: DatabaseStore, pairs: Sequence[Row], tasks: dict[str, Row]
) -> dict[str, dict[str, float | None]]:
    if not store.scores_file.is_file():
        return {}
    table = store.scores(["subject", "reference_id", "pair_id", "task_id", "score"])
    table = table.filter(pc.is_in(table["pair_id"], _values([pair["pair_id"] for pair in pairs])))
    found: dict[str, dict[str, float | None]] = {}
    for row in table.to_pylist():
        if row["task_id"] == tasks[row["reference_id"]]["task_id"]:
            found.setdefault(row["pair_id"], {})[row["subject"]] = row["score"]
    return found


def _values(names: Sequence[str]) -> Any:
    return pa.array(names, pa.string())


def side_by_side(store: DatabaseStore, item: SampledPair) -> NDArray[np.uint8]:
    """Return ``(H, 2 W, 3)`` uint8 RGB: the reference, and the distorted picture made from its seed.

    Raises:
        InputError: The reference's file is damaged.
    """
    view = View(item.reference["view"])
    frame = read_frames(store.path, item.reference, [view])[view]
    return np.hstack([frame.rgb, distorted_frame(frame, spec_of(item.pair)).rgb])
