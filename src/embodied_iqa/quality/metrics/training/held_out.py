"""Test of a trained metric on references that it was not trained on."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.data.analysis.correlation import srcc
from embodied_iqa.data.analysis.intervals import srcc_interval
from embodied_iqa.data.analysis.resampling import References
from embodied_iqa.quality.metrics.learned.card import MetricCard, load_metric_card, save_metric_card
from embodied_iqa.quality.metrics.learned.trained import TrainedMetric
from embodied_iqa.quality.metrics.trainable import TrainingSet
from embodied_iqa.quality.metrics.training.cache import input_cache
from embodied_iqa.quality.metrics.training.measuring import measure_inputs
from embodied_iqa.quality.metrics.training.metric_training import HELD_OUT_INPUTS
from embodied_iqa.quality.metrics.training.recipes import MetricRecipe

Array = NDArray[np.float64]
_AT_ONCE: Final = 256
"""Images of one inference."""


def measure_held_out(
    folder: Path, recipe: MetricRecipe, held_out: TrainingSet, *, seed: int = 0, workers: int = 1
) -> MetricCard:
    """Measure a trained metric on held-out references and add the results to its card.

    Args:
        folder: Of the trained metric.
        recipe: By which it was trained.
        held_out: Labelled images of other references; as many of each are drawn as in the training.
        seed: Of the draw.
        workers: Processes that measure the images.

    Returns:
        The new card; its results are SRCC of the rank head with its 95 % interval over references, and PLCC,
        SRCC and root mean square error of the predicted label.
    """
    held_out, store = held_out.of_each(recipe.pictures_each, seed), folder / HELD_OUT_INPUTS
    inputs = measure_inputs(
        held_out.images,
        held_out.pair_ids,
        held_out.reference_ids,
        recipe.input,
        input_cache(),
        workers=workers,
        title="measure held-out images",
        store=store if recipe.input.kind.is_image else None,
    )
    metric, steps = TrainedMetric(folder), range(0, len(inputs.views), _AT_ONCE)
    parts = (slice(start, start + _AT_ONCE) for start in steps)
    found = [metric.outputs(inputs.values[part], inputs.views[part]) for part in parts]
    ranks, labels = map(np.concatenate, zip(*found, strict=True))
    results = head_results(ranks, labels, held_out.labels, held_out.reference_ids)
    results |= {"pairs": float(len(ranks)), "references": float(len(set(held_out.reference_ids)))}
    card = replace(load_metric_card(folder), results=results)
    save_metric_card(card, folder)
    shutil.rmtree(store, ignore_errors=True)
    return card


def head_results(
    ranks: Array, labels: Array, truth: Array, reference_ids: tuple[str, ...]
) -> dict[str, float]:
    """Return SRCC with interval, PLCC and RMSE; those that are undefined are left out."""
    references = References.drawn(np.array(reference_ids))
    interval = srcc_interval(np.stack([ranks, truth], axis=1), references)
    values = {
        "srcc": srcc(ranks, truth).value,
        "srcc_low": interval.low,
        "srcc_high": interval.high,
        "label_srcc": srcc(labels, truth).value,
        "label_plcc": _plcc(labels, truth),
        "label_rmse": float(np.sqrt(np.square(labels - truth).mean())),
    }
    return {name: value for name, value in values.items() if np.isfinite(value)}


def _plcc(first: Array, second: Array) -> float:
    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return float("nan")
    return float(np.corrcoef(first, second)[0, 1])
