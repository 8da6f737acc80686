"""Average precision of COCO, of one image or of many.

The protocol is that of COCOeval in pycocotools: IoU 0.50:0.05:0.95, 101 recall points, greedy one-to-one
matching by falling score, crowd regions that count neither for nor against a model. Results are in [0, 1],
higher is better, and never NaN.

Where COCOeval leaves the value open (it reports -1 if there is nothing to find), an image without truth is
worth 1 if nothing is predicted and 0 if something is.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.models.vision.overlap import box_overlap, mask_overlap
from embodied_iqa.models.vision.predictions import Instances

IOU_THRESHOLDS: Final[tuple[float, ...]] = tuple(np.linspace(0.5, 0.95, 10).tolist())
"""Least overlaps at which a prediction finds an object, as COCO's."""
MOST_PREDICTIONS: Final = 100
"""Predictions of a class in an image that count; the rest has the lowest scores."""
_RECALLS: Final = np.linspace(0.0, 1.0, 101)


def average_precision(
    predicted: Instances,
    truth: Instances,
    *,
    masks: bool,
    iou_thresholds: Sequence[float] = IOU_THRESHOLDS,
) -> float:
    """Return the average precision of the predictions for one image.

    Args:
        predicted: Predictions; equal scores count in the given order.
        truth: Objects of the image.
        masks: Whether masks are compared, else boxes.
        iou_thresholds: Rising, each in (0, 1]; the result is the mean over them.

    Returns:
        The mean over the classes with an object in the truth; see the module for an image without any.

    Raises:
        InputError: Masks are missing, or of different sizes.
    """
    return dataset_average_precision((predicted,), (truth,), masks=masks, iou_thresholds=iou_thresholds)


def dataset_average_precision(
    predicted: Iterable[Instances],
    truth: Iterable[Instances],
    *,
    masks: bool,
    iou_thresholds: Sequence[float] = IOU_THRESHOLDS,
) -> float:
    """Return the average precision over a set of images.

    The predictions of all images are ranked together by score; this is not the mean over images.

    Args:
        predicted: Predictions, one entry an image; equal scores count in the given order.
        truth: Objects, one entry an image.
        masks: Whether masks are compared, else boxes.
        iou_thresholds: Rising, each in (0, 1]; the result is the mean over them.

    Returns:
        The mean over the classes with an object in the truth of any image.

    Raises:
        InputError: Masks are missing, or of different sizes.
        ValueError: The numbers of images differ.
    """
    classes: dict[str, _Ranking] = {}
    for found, there in zip(predicted, truth, strict=True):
        _rank_image(classes, found, there, masks=masks, thresholds=iou_thresholds)
    present = [ranking for ranking in classes.values() if ranking.objects]
    total = len(iou_thresholds)
    if not present:
        every = (1 << total) - 1
        wrong = 0
        for ranking in classes.values():
            for outcome in ranking.outcomes:
                wrong |= every & ~outcome.ignored
        return 1.0 - wrong.bit_count() / total
    return sum(ranking.precision(total) for ranking in present) / len(present)


@dataclass(frozen=True, slots=True)
class _Outcome:
    """Whether a prediction matches an object, or is ignored: bit k stands for threshold k."""

    score: float
    matched: int
    ignored: int


@dataclass(slots=True)
class _Ranking:
    """The predictions of a class, and the number of objects to find."""

    objects: int = 0
    outcomes: list[_Outcome] = field(default_factory=list)

    def precision(self, thresholds: int) -> float:
        """Return the interpolated precision, its mean over recalls and thresholds."""
        ranked = sorted(self.outcomes, key=lambda outcome: -outcome.score)
        weights = _weights_of_recalls(self.objects)
        total = sum(_interpolated(ranked, 1 << bit, weights) for bit in range(thresholds))
        return total / (thresholds * len(_RECALLS))


def _rank_image(
    classes: dict[str, _Ranking],
    predicted: Instances,
    truth: Instances,
    *,
    masks: bool,
    thresholds: Sequence[float],
) -> None:
    """Add the outcomes of one image to the rankings."""
    rows = _rows(predicted.labels, np.argsort(-predicted.scores, kind="stable").tolist())
    objects = _rows(truth.labels, range(len(truth)))
    crowd = [False] * len(truth) if truth.crowd is None else truth.crowd.tolist()
    scores = predicted.scores.tolist()
    for label, there in objects.items():
        ranking = classes.setdefault(label, _Ranking())
        ranking.objects += sum(not crowd[row] for row in there)
    for label, ranked in rows.items():
        found = ranked[:MOST_PREDICTIONS]
        ranking = classes.setdefault(label, _Ranking())
        there = sorted(objects.get(label, ()), key=crowd.__getitem__)
        outcomes = [(0, 0)] * len(found)
        if there:
            overlap = _overlap(predicted, found, truth, there, masks=masks)
            outcomes = _match(overlap, [crowd[row] for row in there], thresholds)
        ranking.outcomes += [_Outcome(scores[row], *bits) for row, bits in zip(found, outcomes, strict=True)]


def _rows(labels: Sequence[str], order: Iterable[int]) -> dict[str, list[int]]:
    rows: dict[str, list[int]] = {}
    for row in order:
        rows.setdefault(labels[row], []).append(row)
    return rows


def _overlap(
    predicted: Instances, places: list[int], truth: Instances, there: list[int], *, masks: bool
) -> NDArray[np.float64]:
    """Return the ``(P, T)`` overlaps of the predictions and objects of a class."""
    crowd = np.zeros(len(there), bool) if truth.crowd is None else truth.crowd[there]
    if not masks:
        return box_overlap(predicted.boxes_px[places], truth.boxes_px[there], crowd)
    if predicted.masks is None or truth.masks is None:
        raise InputError("average precision of masks needs masks", expected="instances with masks")
    return mask_overlap(predicted.masks[places], truth.masks[there], crowd)


def _match(
    overlap: NDArray[np.float64], crowd: Sequence[bool], thresholds: Sequence[float]
) -> list[tuple[int, int]]:
    """Match the predictions of a class, best score first, each with the object that it overlaps most.

    Args:
        overlap: ``(P, T)``; crowd regions last.
        crowd: T flags; a crowd region may be matched more than once, and only by what matches no object.
        thresholds: Least overlaps.

    Returns:
        For each prediction the bits of the thresholds at which it finds an object, and those at which it is
        ignored.
    """
    least = thresholds[0]
    free = [(1 << len(thresholds)) - 1] * len(crowd)
    outcomes = []
    for row in overlap.tolist():
        wanted, found, ignored = (1 << len(thresholds)) - 1, 0, 0
        near = [(crowd[place], -value, -place) for place, value in enumerate(row) if value >= least]
        for is_crowd, negative, minus_place in sorted(near):  # among equal overlaps COCOeval takes the last
            taken = wanted & free[-minus_place] & ((1 << bisect_right(thresholds, -negative)) - 1)
            wanted &= ~taken
            if is_crowd:
                ignored |= taken
            else:
                found |= taken
                free[-minus_place] &= ~taken
        outcomes.append((found, ignored))
    return outcomes


@lru_cache(maxsize=1024)
def _weights_of_recalls(objects: int) -> tuple[int, ...]:
    """Return how many recall points the k-th found object of ``objects`` is the first to reach."""
    reached = np.arange(1, objects + 1) / objects
    first = np.searchsorted(reached, _RECALLS, side="left")
    return tuple(np.bincount(first, minlength=objects).tolist())


def _interpolated(ranked: Sequence[_Outcome], bit: int, weights: Sequence[int]) -> float:
    """Return the sum over recall points of the best precision at this recall or a higher one."""
    precisions: list[float] = []
    counted = 0
    for outcome in ranked:
        if outcome.ignored & bit:
            continue
        counted += 1
        if outcome.matched & bit:
            precisions.append((len(precisions) + 1) / counted)
    best = total = 0.0
    for precision, weight in zip(reversed(precisions), reversed(weights[: len(precisions)]), strict=True):
        best = max(best, precision)
        total += best * weight
    return total
