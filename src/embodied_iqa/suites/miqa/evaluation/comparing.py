"""Measured metrics against the labels of a task's held-out images; whether they fall as levels rise."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.data.analysis.paired import mean_of
from embodied_iqa.data.analysis.resampling import FEWEST_REFERENCES, References
from embodied_iqa.imaging.distortions.region import region_combinations
from embodied_iqa.models.vision.predictions import VisionTask
from embodied_iqa.quality.metrics.benchmark.bootstrap import compare
from embodied_iqa.quality.metrics.benchmark.logistic import FEWEST_FITTED
from embodied_iqa.quality.metrics.drawing import drawn_of_each
from embodied_iqa.suites.miqa.database import MiqaDatabase
from embodied_iqa.suites.miqa.evaluation.agreement import Agreement, agreements, mapped_to_labels
from embodied_iqa.suites.miqa.evaluation.evaluation_results import (
    ALL_TYPES,
    LABEL,
    Breakdown,
    FallRow,
    MetricRow,
    PairedRow,
    Share,
    SubsetRow,
    TaskFacts,
)
from embodied_iqa.suites.miqa.rows import MiqaRow, Part
from embodied_iqa.suites.miqa.training_rows import Label

_FEWEST = 2
"""Images that can be in order."""


@dataclass(frozen=True, slots=True)
class _Order:
    """Scores of one type on one reference.

    Attributes:
        reference: Name of the reference.
        ordered: Share of the comparable pairs of images in which the worse one has the lower score.
        monotone: 1 if the score falls from each uniform level to the next, else 0.
    """

    reference: str
    ordered: float
    monotone: float


def fall_rows(
    task: VisionTask, rows: Sequence[MiqaRow], scores: dict[str, Array], *, draws: int = 500
) -> Iterator[FallRow]:
    """Yield a row for each metric and type, after each metric's row of all types.

    One image is worse than another of the same reference and type if neither level is lower and one is
    higher; images of which each has a higher level somewhere are not compared.

    Args:
        task: Of the labels.
        rows: N images.
        scores: ``(N,)`` of each metric, higher is better; NaN does not count.
        draws: Draws of references, for the intervals.
    """
    groups: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for place, row in enumerate(rows):
        groups[row.kind][row.reference].append(place)
    levels = np.array([(row.roi_level, row.background_level) for row in rows])
    kinds = np.array([row.kind for row in rows])
    for name, values in scores.items():
        orders = {
            kind: [_order(one, levels[places], values[places]) for one, places in sorted(of_kind.items())]
            for kind, of_kind in sorted(groups.items())
        }
        every = [order for kind in orders.values() for order in kind]
        for kind, found in ((ALL_TYPES, every), *orders.items()):
            chosen = (kinds == kind) | (kind == ALL_TYPES)
            means = _means(levels[chosen], values[chosen])
            ordered, monotone = _shares(found, draws)
            yield FallRow(name, task, kind, means, ordered, monotone, _references(found))


def _order(reference: str, levels: NDArray[np.int64], values: Array) -> _Order:
    known = np.isfinite(values)
    levels, values = levels[known], values[known]
    steps = levels[None] - levels[:, None]
    worse = (steps >= 0).all(axis=2) & (steps > 0).any(axis=2)
    falls = values[:, None] > values[None]
    ordered = float(falls[worse].mean()) if worse.any() else np.nan
    uniform = np.flatnonzero(levels[:, 0] == levels[:, 1])
    line = values[uniform[np.argsort(levels[uniform, 0])]]
    monotone = float((np.diff(line) < 0).all()) if len(line) >= _FEWEST else np.nan
    return _Order(reference, ordered, monotone)


def _means(levels: NDArray[np.int64], values: Array) -> tuple[float | None, ...]:
    """Return the mean at each pair of levels; None without an image."""
    known = np.isfinite(values)
    of_pairs = (values[known & (levels == pair).all(axis=1)] for pair in region_combinations())
    return tuple(float(found.mean()) if len(found) else None for found in of_pairs)


def _shares(orders: Sequence[_Order], draws: int) -> Iterator[Share]:
    references = References.drawn(np.array([order.reference for order in orders]), draws=draws)
    for word in ("ordered", "monotone"):
        shares = np.array([getattr(order, word) for order in orders], np.float64)
        mean = mean_of(shares, references)
        few = len({one.reference for one in orders if np.isfinite(getattr(one, word))}) < FEWEST_REFERENCES
        ends = (np.nan, np.nan) if few else (mean.low, mean.high)
        known = (end if np.isfinite(end) else None for end in (mean.value, *ends))
        yield Share(*known)


def _references(orders: Sequence[_Order]) -> int:
    return len({order.reference for order in orders if np.isfinite(order.monotone)})


Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class MeasuredMetric:
    """A metric on N images.

    Attributes:
        name: Name.
        trained_on: Task and label that it was trained on; empty for other metrics.
        values: ``(N,)``, finite and higher is better; NaN where it failed.
        milliseconds: Median time of an image.
    """

    name: str
    trained_on: str
    values: Array
    milliseconds: float


@dataclass(frozen=True, slots=True)
class TaskComparison:
    """What was found on the labels of one task; see `MiqaEvaluation`."""

    facts: TaskFacts
    metrics: tuple[MetricRow, ...]
    subsets: tuple[SubsetRow, ...]
    differences: tuple[PairedRow, ...]
    falls: tuple[FallRow, ...]


def held_out_rows(
    database: MiqaDatabase, task: VisionTask, images_each: int = 0, trained: Collection[VisionTask] = ()
) -> tuple[MiqaRow, ...]:
    """Return the rows of the validation references, those of a reference together.

    The split differs from task to task. So metrics are compared on references that are held out in every
    task that one of them was trained on.

    Args:
        database: The labels.
        task: Of the labels.
        images_each: Images of each reference, drawn with seed 0; 0 for all.
        trained: Tasks that metrics were trained on; the task itself if empty.

    Raises:
        InputError: There is none.
    """
    parts = [
        {row.reference for row in database.rows(one) if row.part is Part.VALIDATION}
        for one in trained or (task,)
    ]
    held_out = set.intersection(*parts)
    found = tuple(row for row in database.rows(task) if row.reference in held_out)
    if not found:
        raise InputError(f"{database.path} has no held-out images of {task}", expected="5 references or more")
    names, owners = [row.image for row in found], [row.reference for row in found]
    return tuple(compress(found, drawn_of_each(names, owners, images_each, seed=0)))


def compare_task(
    task: VisionTask,
    label: Label,
    rows: Sequence[MiqaRow],
    metrics: Sequence[MeasuredMetric],
    *,
    draws: int = 500,
) -> TaskComparison:
    """Compare metrics with the labels of held-out images.

    Args:
        task: Of the labels.
        label: Which labels.
        rows: N images.
        metrics: Their values on these images.
        draws: Draws of references, for the intervals.
    """
    labels = np.array([getattr(row, label.field) for row in rows], np.float64)
    values = np.stack([metric.values for metric in metrics], axis=1)
    mapped = np.stack([_mapped(column, labels) for column in values.T], axis=1)
    references = References.drawn(np.array([row.reference for row in rows]), draws=draws)
    names = [metric.name for metric in metrics]
    compared = compare(names, [values], labels, references)
    whole = dict(zip(names, agreements(values, mapped, labels), strict=True))
    known = {metric.name: metric for metric in metrics}
    return TaskComparison(
        TaskFacts(task, len(rows), len({row.reference for row in rows}), float(labels.std())),
        tuple(
            _metric_row(task, known[rank.metric], whole[rank.metric], (rank.low, rank.high))
            for rank in compared.ranks
        ),
        tuple(_subset_rows(task, rows, names, (values, mapped, labels))),
        tuple(
            PairedRow(task, one.first, one.second, one.value, _known(one.low), _known(one.high))
            for one in compared.differences
        ),
        tuple(fall_rows(task, rows, {**dict(zip(names, values.T, strict=True)), LABEL: labels}, draws=draws)),
    )


def _metric_row(
    task: VisionTask, metric: MeasuredMetric, agreement: Agreement, ends: tuple[float, float]
) -> MetricRow:
    low, high = map(_known, ends)
    failures, milliseconds = int(np.isnan(metric.values).sum()), _known(metric.milliseconds)
    return MetricRow(metric.name, task, metric.trained_on, agreement, low, high, failures, milliseconds)


def _mapped(values: Array, labels: Array) -> Array:
    known, mapped = np.isfinite(values), np.full(len(values), np.nan)
    if known.sum() >= FEWEST_FITTED:
        mapped[known] = mapped_to_labels(values[known], labels[known])
    return mapped


def _subset_rows(
    task: VisionTask, rows: Sequence[MiqaRow], names: Sequence[str], columns: tuple[Array, Array, Array]
) -> Iterator[SubsetRow]:
    values, mapped, labels = columns
    for by, keys in _keys(rows).items():
        for value in sorted(set(keys)):
            chosen = np.array([key == value for key in keys])
            found = agreements(values[chosen], mapped[chosen], labels[chosen])
            for name, agreement in zip(names, found, strict=True):
                yield SubsetRow(name, task, by, value, int(chosen.sum()), agreement)


def _keys(rows: Sequence[MiqaRow]) -> Mapping[Breakdown, list[str]]:
    return {
        Breakdown.MODE: [str(row.mode) for row in rows],
        Breakdown.KIND: [row.kind for row in rows],
        Breakdown.LEVELS: [f"{row.roi_level}:{row.background_level}" for row in rows],
    }


def _known(value: float) -> float | None:
    return value if np.isfinite(value) else None
