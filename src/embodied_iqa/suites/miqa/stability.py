"""Stability of labels under the choice of models: table 4 of the paper.

The models are split 80/20 at random, the labels of both parts are computed, each weighted by its own models'
performance, and compared over all images by SRCC, PLCC and RMSE.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import comb
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.models.vision.labels import composite, model_weights, weighted
from embodied_iqa.models.vision.predictions import VisionTask
from embodied_iqa.suites.miqa.database import ModelMeasures

TRIALS: Final = 100
_SMALL_PART: Final = 0.2
_LEAST_MODELS: Final = 2

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean and standard deviation over the splits in which the number is defined.

    Attributes:
        mean: None where it is undefined in all splits, such as the correlation of constant labels.
        std: Of the population; None likewise.
    """

    mean: float | None
    std: float | None


@dataclass(frozen=True, slots=True)
class StabilityRow:
    """Agreement of the labels of two parts of the models.

    Attributes:
        label: ``consistency``, ``accuracy`` or ``composite``.
        srcc: Rank correlation, higher is better.
        plcc: Linear correlation, higher is better.
        rmse: Root mean squared difference, lower is better.
        undefined: Splits in which a part's labels are constant, so that there is no correlation.
    """

    label: str
    srcc: Spread
    plcc: Spread
    rmse: Spread
    undefined: int


@dataclass(frozen=True, slots=True)
class Stability:
    """Stability of the labels of a task.

    Attributes:
        task: The task.
        models: Their number.
        small: Models in the smaller part.
        trials: Number of random splits.
        distinct: Number of different splits that there are.
        images: Labelled images.
        rows: Consistency, accuracy, composite.
    """

    task: VisionTask
    models: int
    small: int
    trials: int
    distinct: int
    images: int
    rows: tuple[StabilityRow, ...]


def stability_of(
    task: VisionTask, measures: ModelMeasures, *, trials: int = TRIALS, seed: int = 0
) -> Stability:
    """Compare the labels of random parts of the models.

    Args:
        task: The task.
        measures: Of every model on every image.
        trials: Number of random splits.
        seed: Of the splits.

    Raises:
        InputError: Fewer than two models, or no image.
    """
    count = len(measures.performance)
    if count < _LEAST_MODELS or not len(measures.images):
        raise InputError(
            f"the stability of {task} needs models to split",
            expected=f"at least {_LEAST_MODELS} models and an image",
            got=f"{count} models, {len(measures.images)} images",
        )
    small = max(1, round(_SMALL_PART * count))
    rng = np.random.default_rng(seed)
    found: dict[str, list[tuple[float, float, float]]] = {
        name: [] for name in ("consistency", "accuracy", "composite")
    }
    for _ in range(trials):
        order = rng.permutation(count)
        first, second = (_labels(measures, part) for part in (order[:small], order[small:]))
        for name, numbers in found.items():
            numbers.append(_agreement(first[name], second[name]))
    distinct = comb(count, small) // (2 if 2 * small == count else 1)
    rows = tuple(_row(name, np.array(numbers)) for name, numbers in found.items())
    return Stability(task, count, small, trials, distinct, len(measures.images), rows)


def _labels(measures: ModelMeasures, models: NDArray[np.int64]) -> Mapping[str, Array]:
    """Return the labels of a part; weights are equal where none of its models does anything right."""
    performance = measures.performance[models]
    weights = model_weights((performance if performance.any() else np.ones(len(models))).tolist())
    consistency, accuracy = (
        weighted(values[:, models], weights) for values in (measures.consistency, measures.accuracy)
    )
    return {
        "consistency": consistency,
        "accuracy": accuracy,
        "composite": composite(consistency, accuracy),
    }


def _agreement(first: Array, second: Array) -> tuple[float, float, float]:
    """Return SRCC, PLCC (NaN where labels are constant) and RMSE."""
    from scipy.stats import rankdata  # noqa: PLC0415 - slow to import, and not for --help

    rmse = float(np.sqrt(np.mean((first - second) ** 2)))
    return _correlation(rankdata(first), rankdata(second)), _correlation(first, second), rmse


def _correlation(first: Array, second: Array) -> float:
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return float("nan")
    return float(np.clip(np.corrcoef(first, second)[0, 1], -1, 1))


def _row(name: str, numbers: Array) -> StabilityRow:
    undefined = int(np.isnan(numbers[:, 0]).sum())
    srcc, plcc, rmse = (_spread(column) for column in numbers.T)
    return StabilityRow(name, srcc, plcc, rmse, undefined)


def _spread(column: Array) -> Spread:
    known = column[np.isfinite(column)]
    return Spread(float(known.mean()), float(known.std())) if len(known) else Spread(None, None)


PUBLISHED: Final = MappingProxyType(
    {
        (VisionTask.CLASSIFICATION, "consistency"): (0.867, 0.926, 0.110),
        (VisionTask.CLASSIFICATION, "accuracy"): (0.913, 0.961, 0.103),
        (VisionTask.CLASSIFICATION, "composite"): (0.914, 0.952, 0.095),
        (VisionTask.DETECTION, "consistency"): (0.942, 0.948, 0.103),
        (VisionTask.DETECTION, "accuracy"): (0.958, 0.961, 0.078),
        (VisionTask.DETECTION, "composite"): (0.959, 0.960, 0.081),
        (VisionTask.SEGMENTATION, "consistency"): (0.941, 0.947, 0.101),
        (VisionTask.SEGMENTATION, "accuracy"): (0.959, 0.961, 0.074),
        (VisionTask.SEGMENTATION, "composite"): (0.959, 0.960, 0.077),
    }
)
"""Means of SRCC, PLCC and RMSE in table 4 of arXiv 2508.19850: other images, 75 models."""
