"""Performance of exported members on held-out scenes, with intervals at 95 %."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.models.vision.average_precision import dataset_average_precision
from embodied_iqa.models.vision.backends.panel import PanelClassifier, PanelDetector
from embodied_iqa.models.vision.predictions import VisionTask
from embodied_iqa.models.vision.samples.sample_store import SampleStore
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS

_GROUPS: Final = 20
"""Parts of the images that are left out in turn to estimate an interval."""
_NORMAL: Final = 1.96


def evaluate(member: PanelClassifier | PanelDetector, store: SampleStore) -> dict[str, float]:
    """Return the performance of a member, all in [0, 1], higher is better.

    Args:
        member: A classifier sees the crop of the object of each image's task, the others the image.
        store: Held-out samples as the cameras deliver them.

    Returns:
        ``main``, the weight in labels: top-1 accuracy, or AP over IoU 0.50:0.05:0.95 of boxes or masks; its
        interval ``low`` and ``high``; ``main_VIEW`` for each camera; for detectors ``ap50``, for segmenters
        also ``box_ap``; ``pictures``.
    """
    if isinstance(member, PanelClassifier):
        return _evaluate_classifier(member, store)
    images = range(len(store))
    found = [member.find(store.image(index)) for index in images]
    masked = member.info.task is VisionTask.SEGMENTATION
    truth = [store.instances(index) for index in images]

    def precision(rows: NDArray[np.int64]) -> float:
        there, seen = [truth[row] for row in rows], [found[row] for row in rows]
        return dataset_average_precision(seen, there, masks=masked)

    results = _with_interval(precision, store.views)
    results["ap50"] = dataset_average_precision(found, truth, masks=masked, iou_thresholds=(0.5,))
    if masked:
        results["box_ap"] = dataset_average_precision(found, truth, masks=False)
    return _rounded(results, len(store))


def _evaluate_classifier(member: PanelClassifier, store: SampleStore) -> dict[str, float]:
    main = np.flatnonzero(store.main)
    classes = member.info.classes
    predicted = [member.classify(store.crop(int(row))) for row in main]
    right = np.array(
        [found.label == classes[store.coloured[row]] for found, row in zip(predicted, main, strict=True)]
    )
    return _rounded(_with_interval(lambda rows: float(right[rows].mean()), store.views), len(main))


def _with_interval(
    measure: Callable[[NDArray[np.int64]], float], views: NDArray[np.int64]
) -> dict[str, float]:
    """Measure all images, those of each camera, and the interval by the jackknife over groups."""
    rows = np.arange(len(views))
    groups = min(_GROUPS, len(rows))
    value = measure(rows)
    without = np.array([measure(rows[rows % groups != group]) for group in range(groups)])
    half = _NORMAL * float(np.sqrt((groups - 1) * without.var()))
    return {
        "main": value,
        "low": max(value - half, 0.0),
        "high": min(value + half, 1.0),
        **{
            f"main_{view}": measure(rows[views == index])
            for index, view in enumerate(CELL_VIEWS)
            if (views == index).any()
        },
    }


def _rounded(results: dict[str, float], images: int) -> dict[str, float]:
    return {name: round(value, 4) for name, value in results.items()} | {"pictures": float(images)}
