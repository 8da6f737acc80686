"""The five-parameter logistic by which values of a metric are mapped to scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
FEWEST_FITTED: Final = 150
"""Fewer pairs give no PLCC and RMSE after the logistic, because it would fit noise.

The curve is judged on the pairs that it is fitted on. For values and scores that are unrelated (normal
numbers, 60 draws), the mean PLCC is 0.40 with 30 pairs, 0.29 with 50, 0.22 with 100, 0.20 with 150, 0.16 with
200 and 0.10 with 500: from 150 pairs it does not exceed 0.2. `test_benchmark_statistics.py` repeats it.
"""
_STEEPNESS: Final = (0.3, 1.0, 3.0, 10.0)
"""Of the grid, per standard deviation of the values."""
_CENTRES: Final = (5, 20, 35, 50, 65, 80, 95)
"""Of the grid, percentiles of the values."""
_GRID_ROWS: Final = 1000
_PARAMETERS: Final = 5
_MAX_EVALUATIONS: Final = 200


@dataclass(frozen=True, slots=True)
class Logistic:
    """``f(q) = a1 (1/2 - 1 / (1 + exp(a2 (q - a3)))) + a4 q + a5``; Sheikh et al. 2006, equation 8.

    Attributes:
        a1: Height of the step.
        a2: Its steepness (1 per unit of the metric).
        a3: Its centre (units of the metric).
        a4: Slope of the line.
        a5: Offset.
    """

    a1: float
    a2: float
    a3: float
    a4: float
    a5: float

    def __call__(self, values: Array) -> Array:
        """Map values of a metric to scores; NaN stays NaN."""
        step = sigmoid(self.a2 * (values - self.a3))
        mapped: Array = self.a1 * (step - 0.5) + self.a4 * values + self.a5
        return mapped


def sigmoid(values: Array) -> Array:
    """Return ``1 / (1 + exp(-values))``, of the same shape."""
    from scipy.special import expit  # noqa: PLC0415 - slow to import, and not for --help

    step: Array = expit(values)
    return step


def fit_logistic(values: Array, scores: Array) -> Logistic | None:
    """Fit the logistic by least squares.

    The three linear parameters follow from steepness and centre. The best of a grid of these two is where
    the refinement of all five starts, so that the result does not depend on a guess.

    Args:
        values: ``(N,)`` of a metric; rows without two finite numbers do not count.
        scores: ``(N,)``.

    Returns:
        None for fewer rows than parameters, or where the values are constant.
    """
    from scipy.optimize import least_squares  # noqa: PLC0415 - slow to import, and not for --help

    known = np.isfinite(values) & np.isfinite(scores)
    q, y = values[known], scores[known]
    if len(q) < _PARAMETERS or np.ptp(q) == 0:
        return None
    middle, scale = float(np.median(q)), float(q.std())
    z = (q - middle) / scale
    start = _best_of_grid(z, y)
    found = least_squares(
        lambda p: _curve(p, z) - y, start, lambda p: _jacobian(p, z), method="lm", max_nfev=_MAX_EVALUATIONS
    )
    start_cost = 0.5 * float(np.square(_curve(start, z) - y).sum())
    a1, a2, a3, a4, a5 = (float(p) for p in (found.x if found.cost <= start_cost else start))
    return Logistic(a1, a2 / scale, middle + a3 * scale, a4 / scale, a5 - a4 * middle / scale)


def _curve(p: Array, z: Array) -> Array:
    curve: Array = p[0] * (sigmoid(p[1] * (z - p[2])) - 0.5) + p[3] * z + p[4]
    return curve


def _jacobian(p: Array, z: Array) -> Array:
    step = sigmoid(p[1] * (z - p[2]))
    slope = p[0] * step * (1 - step)
    return np.stack([step - 0.5, slope * (z - p[2]), -slope * p[1], z, np.ones_like(z)], axis=1)


def _best_of_grid(z: Array, y: Array) -> Array:
    rows = np.unique(np.linspace(0, len(z) - 1, min(len(z), _GRID_ROWS)).round().astype(int))
    part, target = z[rows], y[rows]
    best, least = np.zeros(_PARAMETERS), np.inf
    for centre in np.percentile(part, _CENTRES):
        for steepness in _STEEPNESS:
            step = sigmoid(steepness * (part - centre)) - 0.5
            design = np.stack([step, part, np.ones_like(part)], axis=1)
            linear = np.linalg.lstsq(design, target, rcond=None)[0]
            cost = float(np.square(design @ linear - target).sum())
            if cost < least:
                least = cost
                best = np.array([linear[0], steepness, centre, linear[1], linear[2]])
    return best
