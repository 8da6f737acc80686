"""Results of an evaluation of metrics on labels of machine-vision quality."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Final

from embodied_iqa.models.vision.predictions import VisionTask
from embodied_iqa.suites.miqa.evaluation.agreement import Agreement
from embodied_iqa.suites.miqa.training_rows import Label

EVALUATION_FILE: Final = "evaluation.json"
ALL_TYPES: Final = "all"
LABEL: Final = "label"
"""Name of the labels where they stand beside metrics."""


class Breakdown(StrEnum):
    """What the images of a subset have in common."""

    MODE = "mode"
    """Region mode: UD, ROI-DD or BG-DD."""
    KIND = "type"
    """Type of the distortion."""
    LEVELS = "levels"
    """Pair of levels, such as ``4:1`` for 4 inside of the region and 1 outside."""


@dataclass(frozen=True, slots=True)
class MetricRow:
    """A metric on the labels of a task.

    Attributes:
        metric: Name.
        task: Of the labels.
        trained_on: Task and label that it was trained on, such as ``cls:composite``; empty for other metrics.
        agreement: With the labels of all images.
        low: Lower end of the 95 % interval of SRCC from drawing references; None if undefined.
        high: Upper end.
        failures: Images without a value.
        milliseconds: Median time of an image; None without one.
    """

    metric: str
    task: VisionTask
    trained_on: str
    agreement: Agreement
    low: float | None
    high: float | None
    failures: int
    milliseconds: float | None


@dataclass(frozen=True, slots=True)
class SubsetRow:
    """A metric on some of the images; the logistic is the one of all images.

    Attributes:
        metric: Name.
        task: Of the labels.
        by: What the images have in common.
        value: Its value.
        images: Number of images.
        agreement: With their labels.
    """

    metric: str
    task: VisionTask
    by: Breakdown
    value: str
    images: int
    agreement: Agreement


@dataclass(frozen=True, slots=True)
class PairedRow:
    """SRCC of the first metric minus that of the second, on the same draws of references.

    Attributes:
        task: Of the labels.
        first: The metric with the higher SRCC.
        second: The other one.
        value: Over all images.
        low: Lower end of the 95 % interval; None if undefined.
        high: Upper end; the metrics differ if the interval excludes 0.
    """

    task: VisionTask
    first: str
    second: str
    value: float
    low: float | None
    high: float | None

    @property
    def certain(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


@dataclass(frozen=True, slots=True)
class Share:
    """A mean over references of values from 0 to 1.

    Attributes:
        value: None without a reference that has one.
        low: Lower end of the 95 % interval from drawing references; None for fewer than ten.
        high: Upper end.
    """

    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class FallRow:
    """How a score follows the levels of a type of distortion, within each reference.

    Attributes:
        metric: Name; ``label`` for the labels themselves.
        task: Of the labels.
        kind: Type of the distortion; ``all`` for all types.
        means: Mean score at each of the 25 pairs of levels: level inside the region 1 with background 1 to 5,
            then inside 2, and so on; None without an image.
        ordered: Share of the comparable pairs of images in which the worse one has the lower score. One
            image is worse than another if neither level is lower and one is higher.
        monotone: Share of the references whose score falls from each uniform level to the next.
        references: Number of references with two uniform levels or more, which `monotone` is of.
    """

    metric: str
    task: VisionTask
    kind: str
    means: tuple[float | None, ...]
    ordered: Share
    monotone: Share
    references: int

    @property
    def uniform(self) -> tuple[float | None, ...]:
        """Mean score at the five uniform levels."""
        return self.means[::6]

    @property
    def falls(self) -> bool:
        """Whether the mean score falls from each uniform level that has images to the next."""
        known = [value for value in self.uniform if value is not None]
        return self.has_levels and all(mild > strong for mild, strong in pairwise(known))

    @property
    def has_levels(self) -> bool:
        """Whether two uniform levels or more have images: with fewer, nothing can fall."""
        return sum(value is not None for value in self.uniform) > 1


@dataclass(frozen=True, slots=True)
class TaskFacts:
    """Held-out images of a task.

    Attributes:
        task: The task.
        images: Number of images.
        references: Number of references.
        deviation: Standard deviation of the labels.
    """

    task: VisionTask
    images: int
    references: int
    deviation: float


@dataclass(frozen=True, slots=True)
class MiqaEvaluation:
    """Everything that an evaluation found.

    Attributes:
        database: Name of the database.
        label: Which labels.
        tasks: Their images, a row for each task.
        metrics: Best metric first, task by task.
        subsets: By region mode, type and pair of levels.
        differences: Between every two metrics.
        remarks: What a reader has to know, such as models that were trained on other references.
        falls: Whether scores and labels fall with the levels, by type.
    """

    database: str
    label: Label
    tasks: tuple[TaskFacts, ...]
    metrics: tuple[MetricRow, ...]
    subsets: tuple[SubsetRow, ...]
    differences: tuple[PairedRow, ...]
    remarks: tuple[str, ...] = ()
    falls: tuple[FallRow, ...] = ()

    def falls_of(self, task: VisionTask) -> tuple[FallRow, ...]:
        """Return the rows of a task over all types, a metric each; empty for an older evaluation."""
        return tuple(row for row in self.falls if (row.task, row.kind) == (task, ALL_TYPES))

    def falling_types(self, task: VisionTask, metric: str) -> tuple[int, int]:
        """Return how many types' mean scores fall at each level, and how many have several levels."""
        rows = [row for row in self.falls if (row.task, row.metric) == (task, metric)]
        kinds = [row.falls for row in rows if row.kind != ALL_TYPES and row.has_levels]
        return sum(kinds), len(kinds)
