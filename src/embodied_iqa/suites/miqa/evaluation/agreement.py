"""Agreement of metrics with labels after the five-parameter logistic, fitted on the same images."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.quality.metrics.benchmark.benchmark_statistics import Statistic, statistics
from embodied_iqa.quality.metrics.benchmark.logistic import fit_logistic, sigmoid

Array = NDArray[np.float64]
_PLACES = {name: place for place, name in enumerate(Statistic)}


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of one metric with the labels; None where undefined.

    Attributes:
        srcc: Spearman's rank correlation.
        plcc: Pearson's correlation after the logistic.
        krcc: Kendall's rank correlation, tau-b.
        rmse: Root mean squared error after the logistic.
    """

    srcc: float | None
    plcc: float | None
    krcc: float | None
    rmse: float | None


def mapped_to_labels(values: Array, labels: Array) -> Array:
    """Return a metric's values after the five-parameter logistic that fits the labels best.

    The three linear parameters are solved exactly for the fitted steepness and centre. So the residual is
    orthogonal to the mapped values, and ``rmse = sd(labels) * sqrt(1 - plcc**2)``.

    Args:
        values: ``(N,)`` finite, higher is better.
        labels: ``(N,)`` finite.

    Returns:
        ``(N,)``; the mean label where no logistic can be fitted, as for constant values.
    """
    fitted = fit_logistic(values, labels)
    if fitted is None:
        return np.full(len(labels), labels.mean() if len(labels) else np.nan)
    step = sigmoid(fitted.a2 * (values - fitted.a3)) - 0.5
    line = (values - values.mean()) / max(float(values.std()), 1e-12)
    design = np.stack([step, line, np.ones_like(line)], axis=1)
    mapped: Array = design @ np.linalg.lstsq(design, labels, rcond=None)[0]
    return mapped


def agreements(values: Array, mapped: Array, labels: Array) -> list[Agreement]:
    """Compare M metrics with the labels.

    Args:
        values: ``(N, M)``, higher is better; NaN without a value.
        mapped: ``(N, M)`` after the logistic.
        labels: ``(N,)``.
    """
    found = statistics(values, mapped, labels)
    names = (Statistic.SRCC, Statistic.PLCC, Statistic.KRCC, Statistic.RMSE)
    rows = found[:, [_PLACES[name] for name in names]].tolist()
    return [Agreement(*(value if np.isfinite(value) else None for value in row)) for row in rows]
