"""Opinions in every export: mean and spread for each pair, and its third."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.data.analysis.grid import TASKS_OF_SCALE, Group, PairTable, ScoreGrid
from embodied_iqa.data.analysis.jnd import thirds
from embodied_iqa.data.analysis.means import finite_means
from embodied_iqa.data.analysis.opinion import mean_opinion

Array = NDArray[np.float64]
WITHOUT_LOSS: Final = MappingProxyType({"wrong-motion": "wrong_motion_loss", "refusal": "refused"})
"""Targets that are 5 minus one of `analysis.grid.LOSSES`, so that higher is better as in the others."""


@dataclass(frozen=True, slots=True)
class Target:
    """One score to predict; all arrays ``(pairs,)``.

    Attributes:
        mean: Mean opinion in [0, 5], higher is better; NaN where no subject scored.
        z_scored: Mean of the subjects' standardised scores.
        deviation: Standard deviation over the subjects; NaN where none scored.
        subjects: Number of subjects with a score.
    """

    mean: Array
    z_scored: Array
    deviation: Array
    subjects: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PairOpinions:
    """All targets of all pairs.

    Attributes:
        pairs: The rows.
        targets: `cognition`, `precision`, ..., `decision`, `position`, ...; those that were scored. With VLAs
            also `wrong-motion`, 5 minus the loss by motions that end elsewhere, and `refusal`, 5 minus
            five times the share of tasks that the policy refused.
        losses: Mean of each of `analysis.grid.LOSSES` in [0, 5], lower is better; empty without VLAs.
        thirds: Kind of subject to mild, medium or severe; empty where not scored.
    """

    pairs: PairTable
    targets: Mapping[str, Target]
    losses: Mapping[str, Array]
    thirds: Mapping[str, NDArray[np.str_]]


def opinions_of(grid: ScoreGrid) -> PairOpinions:
    """Average the scores of a database over subjects."""
    columns: dict[str, Array] = {}
    losses: dict[str, Array] = {}
    for group, scores in grid.groups.items():
        columns[str(group)] = scores.total
        columns |= scores.parts
        columns |= {
            target: TASKS_OF_SCALE - scores.losses[loss]
            for target, loss in WITHOUT_LOSS.items()
            if loss in scores.losses
        }
        losses |= {name: finite_means(values, axis=1) for name, values in scores.losses.items()}
    cuts = {
        str(group): thirds(mean_opinion(scores.total).raw).labels for group, scores in grid.groups.items()
    }
    targets = {name: _target(scores) for name, scores in columns.items()}
    return PairOpinions(grid.pairs, targets, losses, cuts)


def views_text(grid: ScoreGrid) -> str:
    """Return the text of an export's README about views (Markdown)."""
    without = [f"{str(group).capitalize()}: no scores." for group in Group if not _scored(grid, group).any()]
    if grid.all_views:
        all_count = "Mean opinions include all subjects, also those that are made for another camera."
        return "\n\n".join([all_count, *without])
    lines = [
        "Mean opinions include only subjects that are made for the image's camera, or for any: see the",
        "column `own_view` in the table of scores.",
        "",
        "| view | references | VLMs with scores | VLAs with scores |",
        "|---|---|---|---|",
    ]
    for one in grid.views:
        rows = grid.pairs.labels["view"] == one.view
        scored = {group: _scored(grid, group)[rows].any(axis=0).sum() for group in Group}
        counts = " | ".join(f"{scored[group]} of {one.answered[group]}" for group in Group)
        lines.append(f"| {one.view} | {one.references} | {counts} |")
    return "\n\n".join(["\n".join(lines), *without])


def _scored(grid: ScoreGrid, group: Group) -> NDArray[np.bool_]:
    """Return ``(pairs, subjects)`` whether a subject has a score that counts."""
    scores = grid.groups.get(group)
    return np.zeros((len(grid.pairs), 0), np.bool_) if scores is None else np.isfinite(scores.total)


def _target(scores: Array) -> Target:
    opinion = mean_opinion(scores)
    known = np.isfinite(scores)
    counts = known.sum(axis=1)
    squares = np.where(known, (scores - opinion.raw[:, None]) ** 2, 0.0).sum(axis=1)
    deviation = np.full(len(scores), np.nan)
    np.divide(squares, counts, out=deviation, where=counts > 0)
    return Target(opinion.raw, opinion.z_scored, np.sqrt(deviation), counts.astype(np.int64))
