"""A functional conformal band: one bound for a score over the time of a run.

Source: Diquigiovanni et al., The Importance of Being a Band: Finite-Sample Exact Distribution-Free Prediction
Sets for Functional Data (arXiv 2102.06746), one-sided, as in SAFE and FAIL-Detect.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

_SMALLEST: Final = 0.1
"""Smallest modulation, as a part of its mean over time: few runs may agree by chance."""

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class FunctionalBand:
    """Centre and modulation of a score over time.

    Attributes:
        centre: ``(T,)`` mean of clean runs.
        modulation: ``(T,)`` deviation of clean runs, above 0.
    """

    centre: Array
    modulation: Array

    @classmethod
    def of(cls, clean: Sequence[Array]) -> FunctionalBand:
        """Return the band of the scores of clean runs; as long as the shortest one."""
        length = min(map(len, clean))
        scores = np.array([one[:length] for one in clean])
        deviation = scores.std(axis=0)
        floor = max(_SMALLEST * float(deviation.mean()), 1e-9)
        return cls(scores.mean(axis=0), np.maximum(deviation, floor))

    def margins(self, score: Array) -> Array:
        """Return ``(T,)`` how far a score is above the centre, in modulations."""
        length = min(len(score), len(self.centre))
        found: Array = (score[:length] - self.centre[:length]) / self.modulation[:length]
        return found


def conformal_bound(highest: Array, rate: float) -> float:
    """Return the bound that a new clean run exceeds with at most a probability.

    Args:
        highest: ``(N,)`` highest margin of each clean run of a calibration, exchangeable with the new one.
        rate: The probability.

    Returns:
        The ``ceil((N + 1) (1 - rate))``-th smallest; infinity where the runs are too few.
    """
    rank = math.ceil((len(highest) + 1) * (1 - rate) - 1e-9)
    return math.inf if rank > len(highest) else float(np.sort(highest)[max(rank, 1) - 1])
