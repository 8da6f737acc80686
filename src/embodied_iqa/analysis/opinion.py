"""Mean opinion of subjects, raw and with every subject's scores standardised."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Opinion", "mean_opinion", "standardised"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Opinion:
    """What subjects of one kind say together.

    Attributes:
        raw: ``(pairs,)`` mean over the subjects that scored the pair; NaN where none did.
        z_scored: ``(pairs,)`` likewise, of each subject's standardised scores.
        partial: Pairs that some, but not all, subjects scored that should have.
        absent: Pairs that no subject scored, although some should have.
        unseen: Pairs that no subject should have scored: none is made for their view.
        constant: Columns of subjects whose scores are all the same: they have no z-score.
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
        scores: ``(pairs, subjects)``, NaN where a subject did not score.
        elsewhere: ``(pairs, subjects)``, where a subject should not: it is made for other views.
    """
    known = np.isfinite(scores)
    n_known = known.sum(axis=1)
    n_expected = np.full(len(scores), scores.shape[1]) if elsewhere is None else (~elsewhere).sum(axis=1)
    z_scores = standardised(scores)
    constant = known.any(axis=0) & ~np.isfinite(z_scores).any(axis=0)
    return Opinion(
        raw=_row_means(scores),
        z_scored=_row_means(z_scores),
        partial=int(((n_known > 0) & (n_known < n_expected)).sum()),
        absent=int(((n_known == 0) & (n_expected > 0)).sum()),
        unseen=int((n_expected == 0).sum()),
        constant=tuple(int(column) for column in np.flatnonzero(constant)),
    )


def standardised(scores: Array) -> Array:
    """Return each column with mean 0 and standard deviation 1; all NaN where it is constant."""
    result = np.full(scores.shape, np.nan)
    for column in range(scores.shape[1]):
        known = np.isfinite(scores[:, column])
        values = scores[known, column]
        # equal numbers may have a standard deviation of rounding errors
        if len(values) and np.ptp(values) > 0:
            result[known, column] = (values - values.mean()) / values.std()
    return result


def _row_means(scores: Array) -> Array:
    known = np.isfinite(scores)
    sums, counts = np.where(known, scores, 0.0).sum(axis=1), known.sum(axis=1)
    means: Array = np.full(len(scores), np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    return means
