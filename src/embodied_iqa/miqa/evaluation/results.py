"""Results of an evaluation of metrics on labels of machine-vision quality."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from embodied_iqa.miqa.evaluation.agreement import Agreement
from embodied_iqa.miqa.training_rows import Label
from embodied_iqa.vision.predictions import VisionTask

EVALUATION_FILE: Final = "evaluation.json"


class Breakdown(StrEnum):
    """What the pictures of a subset have in common."""

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
        agreement: With the labels of all pictures.
        low: Lower end of the 95 % interval of SRCC from drawing references; None if undefined.
        high: Upper end.
        failures: Pictures without a value.
        milliseconds: Median time of a picture; None without one.
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
    """A metric on some of the pictures; the logistic is the one of all pictures.

    Attributes:
        metric: Name.
        task: Of the labels.
        by: What the pictures have in common.
        value: Its value.
        pictures: Number of pictures.
        agreement: With their labels.
    """

    metric: str
    task: VisionTask
    by: Breakdown
    value: str
    pictures: int
    agreement: Agreement


@dataclass(frozen=True, slots=True)
class PairedRow:
    """SRCC of the first metric minus that of the second, on the same draws of references.

    Attributes:
        task: Of the labels.
        first: The metric with the higher SRCC.
        second: The other one.
        value: Over all pictures.
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
class TaskFacts:
    """Held-out pictures of a task.

    Attributes:
        task: The task.
        pictures: Number of pictures.
        references: Number of references.
        deviation: Standard deviation of the labels.
    """

    task: VisionTask
    pictures: int
    references: int
    deviation: float


@dataclass(frozen=True, slots=True)
class MiqaEvaluation:
    """Everything that an evaluation found.

    Attributes:
        database: Name of the database.
        label: Which labels.
        tasks: Their pictures, a row for each task.
        metrics: Best metric first, task by task.
        subsets: By region mode, type and pair of levels.
        differences: Between every two metrics.
        remarks: What a reader has to know, such as models that were trained on other references.
    """

    database: str
    label: Label
    tasks: tuple[TaskFacts, ...]
    metrics: tuple[MetricRow, ...]
    subsets: tuple[SubsetRow, ...]
    differences: tuple[PairedRow, ...]
    remarks: tuple[str, ...] = ()
