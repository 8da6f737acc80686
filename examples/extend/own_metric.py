"""A metric of your own: the mean absolute difference. Name: python:own_metric:mean_difference"""

import numpy as np

from embodied_iqa.metrics import FullReferenceMetric


def _mean_difference(reference: np.ndarray, distorted: np.ndarray) -> float:
    return float(np.abs(reference.astype(np.int16) - distorted).mean())


mean_difference = FullReferenceMetric(
    name="mean-difference",
    measure=_mean_difference,
    higher_is_better=False,
    perfect=0.0,
    worst=255.0,
    source="an example",
)
