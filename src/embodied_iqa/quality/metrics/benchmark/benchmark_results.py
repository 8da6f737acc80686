"""Records of a benchmark's results, as `benchmark.json` has them; None stands for an undefined number."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from embodied_iqa.quality.metrics.benchmark.benchmark_plan import Target, Unseen
from embodied_iqa.quality.metrics.metric import Needs

Number = float | None
RESULTS: Final = "benchmark.json"
ESTIMATOR: Final = "mean over splits"
"""Of every SRCC of a benchmark: on the held-out pairs of a split, mean over the splits."""


def number(value: float) -> Number:
    """Return a number, None for one that is not finite."""
    return float(value) if math.isfinite(value) else None


@dataclass(frozen=True, slots=True)
class MetricRow:
    """A metric of the benchmark.

    Attributes:
        name: Of its lines.
        needs: Full or no reference.
        trained_on: Score or human database; empty for a metric that is used as it is.
        source: Paper.
        milliseconds: Median wall time of an image on one worker, on the machine of the benchmark.
        megabytes: Size of its weights.
        failures: Number of images without a value, by reason.
        trained_on_split: Of a database that was made like this one, on which a metric that is used as it is
            was trained; empty for none. It has seen most of the references.
    """

    name: str
    needs: Needs
    trained_on: str
    source: str
    milliseconds: Number
    megabytes: float
    failures: dict[str, int]
    trained_on_split: str = ""


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """A metric against a score, on the pairs that share a value of a property.

    Attributes:
        metric: Name.
        target: The score.
        by: The property; "all" for all pairs.
        value: Its value.
        pairs: Number of pairs with a score, over all references.
        references: Number of their references.
        mean: Of each statistic over the splits.
        spread: Standard deviation over the splits.
        splits: Number of splits with an SRCC.
        ceiling: SRCC of a predictor without noise.
        share: SRCC as a share of the ceiling.
    """

    metric: str
    target: Target
    by: str
    value: str
    pairs: int
    references: int
    mean: dict[str, Number]
    spread: dict[str, Number]
    splits: int
    ceiling: Number
    share: Number


@dataclass(frozen=True, slots=True)
class RankRow:
    """SRCC of a metric, mean over the splits, with its 95 % interval over references."""

    metric: str
    target: Target
    srcc: Number
    low: Number
    high: Number
    pairs: int
    references: int


@dataclass(frozen=True, slots=True)
class DifferenceRow:
    """SRCC of the first metric minus that of the second on the same references, with its 95 % interval."""

    first: str
    second: str
    target: Target
    value: float
    low: Number
    high: Number
    certain: bool
    """The interval excludes 0."""


@dataclass(frozen=True, slots=True)
class UnseenRow:
    """A metric on what its training has not seen.

    Attributes:
        metric: Name.
        trained_on: As in `MetricRow`.
        study: What is unseen.
        target: The score.
        folds: Number of folds with an SRCC.
        srcc: On the unseen pairs, mean over the folds.
        spread: Standard deviation over the folds.
        seen: Of the same metrics on held-out references with nothing else unseen.
        auc: On the unseen pairs.
        labels: SRCC between the opinions learned and predicted, for unseen subjects: what a metric that
            learned perfectly would reach.
        by_fold: SRCC on the unseen pairs of each fold.
        low: Lower end of the 95 % interval of `srcc`, from drawing references; None without one.
        high: Upper end.
    """

    metric: str
    trained_on: str
    study: Unseen
    target: Target
    folds: int
    srcc: Number
    spread: Number
    seen: Number
    auc: Number
    labels: Number
    by_fold: dict[str, Number]
    low: Number = None
    high: Number = None


@dataclass(frozen=True, slots=True)
class CrossRow:
    """A metric on another database, or on the execution of joined runs.

    Attributes:
        metric: Name.
        trained_on: As in `MetricRow`.
        tested_on: Name of the database, or "execution".
        count: Number of images, or of distortions for execution.
        srcc: SRCC.
        krcc: Kendall's tau-b.
        plcc_raw: Pearson's correlation.
        plcc: After the logistic.
    """

    metric: str
    trained_on: str
    tested_on: str
    count: int
    srcc: Number
    krcc: Number
    plcc_raw: Number
    plcc: Number


@dataclass(frozen=True, slots=True)
class BenchmarkResults:
    """Everything that a benchmark found.

    Attributes:
        embodied_iqa: Version of this package.
        database: Name of the database.
        pairs: Number of pairs.
        references: Number of references.
        repeats: Number of splits.
        metrics: By metric.
        scores: By score, property, value and metric.
        ranks: By score, best metric first.
        differences: By score and pair of metrics.
        unseen: By study, score and metric.
        cross: By database and metric.
        remarks: What is missing or left out.
        estimator: `ESTIMATOR`; empty for results of an earlier version, whose ranks and differences pool the
            values of differently trained metrics.
    """

    embodied_iqa: str
    database: str
    pairs: int
    references: int
    repeats: int
    metrics: tuple[MetricRow, ...]
    scores: tuple[ScoreRow, ...]
    ranks: tuple[RankRow, ...]
    differences: tuple[DifferenceRow, ...]
    unseen: tuple[UnseenRow, ...]
    cross: tuple[CrossRow, ...]
    remarks: tuple[str, ...]
    estimator: str = ""

    def comparable(self, metric: str) -> bool:
        """Return whether a metric was tested on references that it has not seen in its training."""
        return not any(row.trained_on_split for row in self.metrics if row.name == metric)

    def overall(self) -> Mapping[Target, tuple[ScoreRow, ...]]:
        """Return the rows over all pairs by score, best metric first."""
        found: dict[Target, list[ScoreRow]] = {}
        for row in self.scores:
            if row.by == "all":
                found.setdefault(row.target, []).append(row)
        return {target: tuple(sorted(rows, key=_by_srcc)) for target, rows in found.items()}


def _by_srcc(row: ScoreRow) -> tuple[float, str]:
    srcc = row.mean["srcc"]
    return (math.inf if srcc is None else -srcc), row.metric
