"""Labels of a database for the training of a metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.lazy import load
from embodied_iqa.base.progress import track
from embodied_iqa.data.analysis.grid import PairTable, ScoreGrid, pair_kinds
from embodied_iqa.data.database.splits import SPLIT_SEEDS, training_references
from embodied_iqa.data.export.opinions import opinions_of
from embodied_iqa.quality.metrics.image_set import ImageSet
from embodied_iqa.quality.metrics.metric import Metric
from embodied_iqa.quality.metrics.trainable import TrainingSet

METRIC_TARGET: Final = "metric:"
"""Prefix of a target that is the value of a metric."""

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SplitSamples:
    """A training set and the references that are held out."""

    training: TrainingSet
    held_out: TrainingSet


def split_samples(images: ImageSet, pairs: PairTable, labels: Array, split: int) -> SplitSamples:
    """Split the labelled pairs of a database by reference, 8:2, as the benchmark does.

    Args:
        images: Of the database.
        pairs: ``(N,)``.
        labels: ``(N,)``, higher is better; NaN where there is none.
        split: Seed of the split.

    Raises:
        UsageError: No such split.
        InputError: No pair has a label.
    """
    if split not in SPLIT_SEEDS:
        raise UsageError("no such split", expected=f"0 to {SPLIT_SEEDS[-1]}", got=split)
    known = np.isfinite(labels)
    if not known.any():
        raise InputError("no pair has a label", expected="a database with scores of this target")
    chosen = training_references(pairs.reference_ids.tolist(), split)
    training = np.isin(pairs.reference_ids, list(chosen))

    def part(rows: NDArray[np.bool_]) -> TrainingSet:
        ids, owners = pairs.pair_ids[rows].tolist(), pairs.reference_ids[rows].tolist()
        return TrainingSet(images, tuple(ids), tuple(owners), labels[rows], pair_kinds(pairs, rows))

    return SplitSamples(part(training & known), part(~training & known))


def target_labels(grid: ScoreGrid, target: str) -> Array:
    """Return ``(N,)`` labels of the pairs of a database: mean opinions in [0, 5], higher is better.

    Args:
        grid: The scores.
        target: One of `PairOpinions.targets`.

    Raises:
        UsageError: The database has no such scores.
    """
    targets = opinions_of(grid).targets
    if target not in targets:
        raise UsageError(
            "the database has no such scores", got=target, available=(*targets, f"{METRIC_TARGET}NAME")
        )
    return targets[target].mean


def metric_labels(images: ImageSet, pair_ids: list[str], name: str) -> Array:
    """Return ``(N,)``, the values of a metric, higher is better; NaN where it has none.

    Args:
        images: Of the database.
        pair_ids: N pairs; those of one reference are neighbours.
        name: Of the metric.

    Raises:
        UserError: The metric cannot be loaded, or refuses an image.
    """
    metric: Metric = load("embodied_iqa.quality.metrics.catalogue:metric_by_name")(name)
    values = [
        metric.info.sign * metric.measure(pair.distorted, pair.reference, pair.context)
        for pair in track(images.read(pair_ids), f"measure {name}", len(pair_ids))
    ]
    found = np.array(values, np.float64)
    return np.where(np.isfinite(found), found, np.nan)
