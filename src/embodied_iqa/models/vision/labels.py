"""Labels of machine-vision quality: what a distortion costs vision models.

For an image x, its distorted version x' and models m with weights a_m, which sum to 1 and are in proportion
to the models' performance on clean held-out images:

    consistency  C = sum a_m M(m(x'), m(x))
    accuracy     A = sum a_m M(m(x'), truth)
    composite    S = 0.5 C + 0.5 A

M is 1 for the same class and 0 for another (classifiers), or the average precision of the image (detectors,
segmenters). All are in [0, 1], higher is better; the clean image has C = 1. Source: arXiv 2508.19850; it
leaves open the details of M, which `average_precision` and `pseudo_truth` state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.models.vision.average_precision import MOST_PREDICTIONS, average_precision
from embodied_iqa.models.vision.predictions import Classification, Instances, Prediction, VisionTask

Number = TypeVar("Number", float, NDArray[np.float64])

THRESHOLD: Final = 0.3
"""Least score of a prediction on the clean image that counts as pseudo-truth."""


def pseudo_truth(clean: Prediction, task: VisionTask, threshold: float = THRESHOLD) -> Prediction:
    """Return the prediction on the clean image as the truth of consistency.

    Args:
        clean: The prediction.
        task: Of the model.
        threshold: Least score; that of `VisionModelInfo`.

    Returns:
        The class; or the instances with this score or more, without those that have no area, which nothing
        could match, and at most 100.
    """
    if isinstance(clean, Classification):
        return Classification(clean.label)
    return _chosen(clean, (clean.scores >= threshold) & _has_area(clean, task))


def agreement(
    predicted: Prediction, reference: Prediction, task: VisionTask, threshold: float = THRESHOLD
) -> float:
    """Return M: how well a prediction agrees with the truth or the pseudo-truth.

    Args:
        predicted: On the distorted image.
        reference: The truth, or `pseudo_truth`.
        task: Of the model; segmenters are compared by their masks.
        threshold: Where the reference is empty, predictions below this score count as none: detectors such as
            DETR always predict something.

    Returns:
        In [0, 1], higher is better.

    Raises:
        InputError: A prediction of another task, or masks that are missing or of different sizes.
    """
    if isinstance(predicted, Classification) and isinstance(reference, Classification):
        return float(predicted.label == reference.label)
    if not (isinstance(predicted, Instances) and isinstance(reference, Instances)):
        raise InputError(
            "predictions of two tasks",
            expected=type(reference).__name__,
            got=type(predicted).__name__,
        )
    least = 0.0 if _countable(reference) else threshold
    counted = _chosen(predicted, (predicted.scores >= least) & _has_area(predicted, task))
    return average_precision(counted, reference, masks=task is VisionTask.SEGMENTATION)


@dataclass(frozen=True, slots=True)
class MachineLabels:
    """Labels of N distorted images; names are the columns of MIQD-2.5M.

    Attributes:
        weighted_consistency: ``(N,)`` C.
        weighted_accuracy: ``(N,)`` A.
        mean_consistency: ``(N,)`` mean over models without weights.
        std_consistency: ``(N,)`` standard deviation over models (of a population).
        mean_accuracy: ``(N,)``.
        std_accuracy: ``(N,)``.
    """

    weighted_consistency: NDArray[np.float64]
    weighted_accuracy: NDArray[np.float64]
    mean_consistency: NDArray[np.float64]
    std_consistency: NDArray[np.float64]
    mean_accuracy: NDArray[np.float64]
    std_accuracy: NDArray[np.float64]

    @property
    def composite(self) -> NDArray[np.float64]:
        """``(N,)`` S."""
        return composite(self.weighted_consistency, self.weighted_accuracy)


def composite(consistency: Number, accuracy: Number) -> Number:
    """Return S, the mean of C and A."""
    return 0.5 * consistency + 0.5 * accuracy


def machine_labels(
    consistency: NDArray[np.float64], accuracy: NDArray[np.float64], performance: Sequence[float]
) -> MachineLabels:
    """Return the labels of images from the agreements of models.

    Args:
        consistency: ``(N, M)`` agreement of each of M models with its prediction on the clean image.
        accuracy: ``(N, M)`` agreement with the truth.
        performance: M performances on clean held-out images, in [0, 1].

    Raises:
        InputError: A performance is not usable, or all are 0.
    """
    weights = model_weights(performance)
    return MachineLabels(
        weighted_consistency=weighted(consistency, weights),
        weighted_accuracy=weighted(accuracy, weights),
        mean_consistency=consistency.mean(axis=1),
        std_consistency=consistency.std(axis=1),
        mean_accuracy=accuracy.mean(axis=1),
        std_accuracy=accuracy.std(axis=1),
    )


def model_weights(performance: Sequence[float]) -> NDArray[np.float64]:
    """Return the weights of models: their performances divided by the sum.

    Raises:
        InputError: A performance is not in [0, 1], or all are 0.
    """
    values = np.array(performance, np.float64)
    usable = bool(np.isfinite(values).all() and ((values >= 0) & (values <= 1)).all())
    if not usable or values.sum() == 0:
        raise InputError(
            "the performances of the models give no weights",
            expected="numbers in [0, 1], one above 0",
            got=[float(value) for value in values],
        )
    return np.asarray(values / values.sum())


def weighted(agreements: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weighted mean over models.

    Args:
        agreements: ``(N, M)`` in [0, 1].
        weights: ``(M,)``, not negative; they need not sum to 1.

    Returns:
        ``(N,)``; exactly 1 where all agreements are 1.
    """
    shares = np.ascontiguousarray(agreements * weights).sum(axis=1)
    return np.asarray(shares / np.broadcast_to(weights, (1, len(weights))).copy().sum(axis=1))


def _countable(instances: Instances) -> bool:
    """Return whether there is an object that a model has to find."""
    return len(instances) > 0 and (instances.crowd is None or not bool(instances.crowd.all()))


def _has_area(instances: Instances, task: VisionTask) -> NDArray[np.bool_]:
    if task is VisionTask.SEGMENTATION and instances.masks is not None:
        return np.asarray(instances.masks.any(axis=(1, 2)))
    boxes = instances.boxes_px
    return np.asarray((boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1]))


def _chosen(instances: Instances, kept: NDArray[np.bool_]) -> Instances:
    """Return the kept instances by falling score, at most 100."""
    order = np.argsort(-instances.scores, kind="stable")
    rows = order[kept[order]][:MOST_PREDICTIONS]
    if np.array_equal(rows, np.arange(len(instances))):
        return instances  # masks are large
    return Instances(
        tuple(instances.labels[row] for row in rows),
        instances.scores[rows],
        instances.boxes_px[rows],
        None if instances.masks is None else instances.masks[rows],
        None if instances.crowd is None else instances.crowd[rows],
    )
