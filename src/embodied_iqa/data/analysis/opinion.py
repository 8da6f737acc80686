"""Mean opinion of several subjects, from raw and from standardised scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.data.analysis.means import finite_means

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Opinion:
    """Mean opinion of the subjects of one group.

    Attributes:
        raw: ``(pairs,)`` mean over the subjects that scored the pair; NaN without any.
        z_scored: ``(pairs,)`` likewise, of each subject's standardised scores.
        partial: Number of pairs that only some of the expected subjects scored.
        absent: Number of pairs that none of the expected subjects scored.
        unseen: Number of pairs without an expected subject: none is made for their view.
        constant: Columns of subjects with equal scores only: they have no z-score.
    """

    raw: Array
    z_scored: Array
    partial: int
    absent: int
    unseen: int
    constant: tuple[int, ...]


def mean_opinion(scores: Array, elsewhere: NDArray[np.bool_] | None = None) -> Opinion:
    """Average over subjects.

    Args:
        scores: ``(pairs, subjects)``, NaN for missing scores.
        elsewhere: ``(pairs, subjects)``, True for pairs of views that the subject is not made for.
    """
    known = np.isfinite(scores)
    n_known = known.sum(axis=1)
    n_expected = np.full(len(scores), scores.shape[1]) if elsewhere is None else (~elsewhere).sum(axis=1)
    z_scores = _standardised(scores)
    constant = known.any(axis=0) & ~np.isfinite(z_scores).any(axis=0)
    return Opinion(
        raw=finite_means(scores, axis=1),
        z_scored=finite_means(z_scores, axis=1),
        partial=int(((n_known > 0) & (n_known < n_expected)).sum()),
        absent=int(((n_known == 0) & (n_expected > 0)).sum()),
        unseen=int((n_expected == 0).sum()),
        constant=tuple(int(column) for column in np.flatnonzero(constant)),
    )


def _standardised(scores: Array) -> Array:
    """Return each column with mean 0 and standard deviation 1; all NaN if it is constant."""
    result = np.full(scores.shape, np.nan)
    for column in range(scores.shape[1]):
        known = np.isfinite(scores[:, column])
        values = scores[known, column]
        # equal numbers may have a standard deviation of rounding errors
        if len(values) and np.ptp(values) > 0:
            result[known, column] = (values - values.mean()) / values.std()
    return result
