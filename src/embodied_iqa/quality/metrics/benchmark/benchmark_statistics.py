"""Statistics of metrics against a score: rank and linear correlation, error, detection of harm."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.data.analysis.correlation import areas_of_ranks

Array = NDArray[np.float64]
FEWEST_PAIRS: Final = 10
"""Fewer pairs give no statistics."""
_FEW: Final = 200
"""Up to so many pairs, comparing all with all is the fastest way to Kendall's correlation."""
HARMED_BELOW: Final = 4.5
"""Scores of 5 below this count as harmed."""


class Statistic(StrEnum):
    """A statistic of a metric against a score."""

    SRCC = "srcc"
    """Spearman's rank correlation; ties get mean ranks."""
    KRCC = "krcc"
    """Kendall's rank correlation, tau-b."""
    PLCC_RAW = "plcc_raw"
    """Pearson's correlation with the values themselves."""
    PLCC = "plcc"
    """Pearson's correlation after the five-parameter logistic; undefined where too few pairs were fitted."""
    RMSE = "rmse"
    """Root mean squared error after the logistic, in units of the score."""
    AUC = "auc"
    """Area under the ROC curve: harmed pairs against the others."""


def statistics(values: Array, mapped: Array, scores: Array, harmed_below: float = HARMED_BELOW) -> Array:
    """Compare metrics with a score.

    Args:
        values: ``(N, M)`` of M metrics, higher is better; NaN for an image without a value.
        mapped: ``(N, M)`` the same after the logistic.
        scores: ``(N,)``, higher is better; rows without a score do not count.
        harmed_below: Scores below this are harmed, for `Statistic.AUC`.

    Returns:
        ``(M, 6)`` in the order of `Statistic`; NaN where undefined: fewer than `FEWEST_PAIRS` pairs, or one
        side is constant.
    """
    scored = np.isfinite(scores)
    values, mapped, scores = values[scored], mapped[scored], scores[scored]
    known = np.isfinite(values)
    whole = known.all(axis=0)
    result = np.full((values.shape[1], len(Statistic)), np.nan)
    result[whole] = _of_complete(values[:, whole], mapped[:, whole], scores, harmed_below)
    for column in np.flatnonzero(~whole):
        rows, one = known[:, column], [column]
        result[one] = _of_complete(values[rows][:, one], mapped[rows][:, one], scores[rows], harmed_below)
    return result


def _of_complete(values: Array, mapped: Array, scores: Array, harmed_below: float) -> Array:
    """Return ``(M, 6)``; every number is finite, except columns of `mapped` without a fit."""
    from scipy.stats import rankdata  # noqa: PLC0415 - slow to import, and not for --help

    if len(scores) < FEWEST_PAIRS or not values.shape[1]:
        return np.full((values.shape[1], len(Statistic)), np.nan)
    ranks = rankdata(values, axis=0)
    columns = {
        Statistic.SRCC: pearson(ranks, rankdata(scores)),
        Statistic.KRCC: _tau_b(values, scores),
        Statistic.PLCC_RAW: pearson(values, scores),
        Statistic.PLCC: pearson(mapped, scores),
        Statistic.RMSE: np.sqrt(np.square(mapped - scores[:, None]).mean(axis=0)),
        Statistic.AUC: areas_of_ranks(ranks, scores >= harmed_below),
    }
    return np.stack([columns[name] for name in Statistic], axis=1)


def pearson(columns: Array, scores: Array) -> Array:
    """Return ``(M,)`` Pearson's correlation of each column of ``(N, M)`` with ``(N,)``; NaN if constant."""
    a, b = columns - columns.mean(axis=0), scores - scores.mean()
    norms = np.sqrt(np.square(a).sum(axis=0) * (b @ b))
    varies = (np.ptp(columns, axis=0) > 0) & (np.ptp(scores) > 0)
    found: Array = np.full(columns.shape[1], np.nan)
    np.divide(b @ a, norms, out=found, where=varies & (norms > 0))
    return np.clip(found, -1.0, 1.0)


def _tau_b(values: Array, scores: Array) -> Array:
    """Return ``(M,)``; few pairs are compared all with all, of all metrics at once."""
    from scipy.stats import kendalltau  # noqa: PLC0415 - slow to import, and not for --help

    if len(scores) > _FEW:
        found = [kendalltau(column, scores, method="asymptotic").statistic for column in values.T]
        return np.array(found, np.float64)
    above = np.triu_indices(len(scores), 1)
    truth = np.sign(scores[:, None] - scores)[above]
    order = np.sign(values[:, None] - values)[above]
    norms = np.sqrt(np.square(order).sum(axis=0) * (truth @ truth))
    tau: Array = np.full(values.shape[1], np.nan)
    np.divide(truth @ order, norms, out=tau, where=norms > 0)
    return tau
