"""Mean scores by what the pictures and their distortions are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.analysis.grid import PairTable
from embodied_iqa.analysis.jnd import Third
from embodied_iqa.analysis.resampling import References, cell_means
from embodied_iqa.distortions import entry

__all__ = ["BreakdownRow", "breakdown", "columns_of"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class BreakdownRow:
    """The pairs that share a value.

    Attributes:
        value: The value; empty where it is not known.
        count: Pairs with a score.
        mean: Mean score in [0, 5]; NaN where there is none.
        low: Lower end of the 95 % interval, references drawn again; NaN below two references.
        high: Upper end.
        shares: Share of the pairs in each third of all scores, in [0, 1]; NaN without a pair.
    """

    value: str
    count: int
    mean: float
    low: float
    high: float
    shares: Mapping[Third, float]


def columns_of(pairs: PairTable) -> dict[str, NDArray[np.str_]]:
    """Return every column that scores are broken down by, distortions by number, in the report's order."""
    numbers = np.unique(pairs.distortion_ids)
    classes = {number: str(entry(str(number)).distortion_class) for number in numbers}
    return {
        "distortion": pairs.distortion_ids,
        "class": np.array([classes[number] for number in pairs.distortion_ids], dtype=np.str_),
        "level": pairs.levels.astype(np.str_),
        **pairs.labels,
    }


def breakdown(
    scores: Array, values: NDArray[np.str_], third: NDArray[np.str_], references: References
) -> tuple[BreakdownRow, ...]:
    """Average the scores of the pairs that share a value.

    Args:
        scores: ``(pairs,)``; NaN does not count.
        values: ``(pairs,)``.
        third: ``(pairs,)`` from `jnd.thirds`.
        references: For the intervals.

    Returns:
        By value.
    """
    names, index = np.unique(values, return_inverse=True)
    cells = index.reshape(-1).astype(np.int64)
    found = cell_means(scores, cells, len(names), references)
    return tuple(
        BreakdownRow(
            str(name),
            int(found.counts[cell]),
            float(found.means[cell]),
            float(found.low[cell]),
            float(found.high[cell]),
            _shares(third[cells == cell]),
        )
        for cell, name in enumerate(names)
    )


def _shares(labels: NDArray[np.str_]) -> dict[Third, float]:
    scored = int((labels != "").sum())
    return {third: float((labels == third).sum()) / scored if scored else float("nan") for third in Third}
