"""Where the decisions' score is lost: by refusal and by wrong motion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.data.analysis.breakdowns import columns_of
from embodied_iqa.data.analysis.grid import LOSSES, GroupScores, PairTable
from embodied_iqa.data.analysis.means import finite_mean, finite_means

Array = NDArray[np.float64]
ALL = "all"
"""Value of the row over all pairs."""


@dataclass(frozen=True, slots=True)
class LossRow:
    """The pairs that share a value; means over pairs of the mean over VLAs.

    Attributes:
        value: The value; `ALL` for all pairs.
        count: Pairs with a score.
        refused: Tasks of five without a motion: the policy saw no target, and did on the reference.
        refusal_loss: What the decision score lacks of 5 for these, lower is better.
        wrong_motion_loss: What it lacks for the others.
        share: Share of the loss of all pairs, in [0, 1]; NaN where nothing is lost.
    """

    value: str
    count: int
    refused: float
    refusal_loss: float
    wrong_motion_loss: float
    share: float


def losses_by(scores: GroupScores, pairs: PairTable) -> Mapping[str, tuple[LossRow, ...]]:
    """Return rows by class, distortion and level, each with a last one for all pairs; empty for VLMs."""
    if not scores.losses:
        return {}
    means = {name: finite_means(scores.losses[name], axis=1) for name in LOSSES}
    columns = columns_of(pairs)
    return {by: _rows(means, columns[by]) for by in ("class", "distortion", "level")}


def _rows(means: Mapping[str, Array], values: NDArray[np.str_]) -> tuple[LossRow, ...]:
    lost = means["refusal_loss"] + means["wrong_motion_loss"]
    everything = float(np.nansum(lost))
    chosen = {str(value): values == value for value in np.unique(values)} | {ALL: np.ones(len(values), bool)}
    return tuple(
        LossRow(
            value,
            int(np.isfinite(lost[own]).sum()),
            finite_mean(means["refused"][own]),
            finite_mean(means["refusal_loss"][own]),
            finite_mean(means["wrong_motion_loss"][own]),
            float(np.nansum(lost[own])) / everything if everything else float("nan"),
        )
        for value, own in chosen.items()
    )
