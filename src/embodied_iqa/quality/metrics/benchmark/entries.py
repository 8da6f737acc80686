"""The metrics of a benchmark with their values on every fold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.quality.metrics.benchmark.folds import Fold
from embodied_iqa.quality.metrics.metric import MetricInfo

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the leaderboard.

    Attributes:
        name: Of the line: that of the metric, of a trained one with the score it was trained on.
        info: Description of the metric; of one of the trainings.
        trained_on: Score or human database; empty for a metric that is used as it is.
        milliseconds: Median wall time of an image.
        failures: Number of images without a value, by reason.
        values: By fold, ``(pairs,)`` with higher as better and NaN where the fold has no value; under "" for
            a metric whose values do not depend on the fold.
    """

    name: str
    info: MetricInfo
    trained_on: str
    milliseconds: float
    failures: Mapping[str, int]
    values: Mapping[str, Array] = field(repr=False)

    def on(self, fold: Fold) -> Array:
        """Return ``(pairs,)`` the values on a fold."""
        return self.values[""] if "" in self.values else self.values[fold.name]
