"""A metric of your own: the mean absolute difference. Name: python:own_metric:MeanDifference"""

import numpy as np

from embodied_iqa import MetricContext, MetricInfo, Needs


class MeanDifference:
    """Mean absolute difference of all values."""

    info = MetricInfo(
        name="mean-difference",
        needs=Needs.REFERENCE,
        higher_is_better=False,
        lowest=0.0,
        highest=255.0,
        source="an example",
    )

    def measure(
        self, distorted: np.ndarray, reference: np.ndarray, context: MetricContext | None = None
    ) -> float:
        return float(np.abs(reference.astype(np.int16) - distorted).mean())
