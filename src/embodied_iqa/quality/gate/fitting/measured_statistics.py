"""The statistics of the gate as numbers that are measured once and kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.quality.gate.image_statistics import STATISTICS_VERSION, ImageStatistics, Statistic, measure
from embodied_iqa.quality.metrics.metric import Image, MetricContext

_SIZE: Final = 2


@dataclass(frozen=True, slots=True)
class GateStatistics:
    """Measures width, height and the fifteen statistics; a `Measurable`."""

    size_px: tuple[int, int] = (0, 0)

    def version(self) -> str:
        """Return text that changes whenever a number can change."""
        return f"gate statistics {STATISTICS_VERSION}"

    def measure(
        self, distorted: Image, reference: Image | None = None, context: MetricContext | None = None
    ) -> NDArray[np.float64]:
        """Return ``(17,)`` float64.

        Raises:
            InputError: Not an image, or too small.
        """
        del reference, context
        found = measure(distorted)
        values = [found.value(statistic) for statistic in Statistic]
        return np.array([found.width_px, found.height_px, *values], np.float64)


def statistics_from(row: NDArray[np.float64]) -> ImageStatistics:
    """Return the statistics of a row of `GateStatistics`."""
    values = {statistic.value: float(row[_SIZE + k]) for k, statistic in enumerate(Statistic)}
    return ImageStatistics(int(row[0]), int(row[1]), **values)
