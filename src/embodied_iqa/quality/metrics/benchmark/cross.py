"""Metrics on what is not their database: human opinions, and the execution of joined runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.data.analysis.execution_correlation import ExecutionRuns, pairs_at_levels_run
from embodied_iqa.data.analysis.grid import PairTable
from embodied_iqa.data.analysis.means import finite_mean, finite_means
from embodied_iqa.quality.metrics.benchmark.benchmark_results import CrossRow, number
from embodied_iqa.quality.metrics.benchmark.benchmark_statistics import Statistic, statistics
from embodied_iqa.quality.metrics.benchmark.entries import Entry
from embodied_iqa.quality.metrics.benchmark.folds import Fold
from embodied_iqa.quality.metrics.benchmark.scoring import mapped_values
from embodied_iqa.quality.metrics.human.database import HumanDatabase

Array = NDArray[np.float64]
EXECUTION: Final = "execution"


def human_rows(
    human: HumanDatabase, values: Mapping[str, Array], trained_on: Mapping[str, str]
) -> Iterator[CrossRow]:
    """Yield a row for each metric that has values on a human database.

    Args:
        human: The database.
        values: By metric, ``(N,)`` with higher as better.
        trained_on: By metric.
    """
    if not values:
        return
    columns = np.stack(list(values.values()), axis=1)
    mapped = mapped_values(columns, human.opinions)
    found = statistics(columns, mapped, human.opinions)
    for name, row, column in zip(values, found, columns.T, strict=True):
        yield _row(name, trained_on[name], human.name, int(np.isfinite(column).sum()), row)


def execution_rows(
    entries: Sequence[Entry], pairs: PairTable, folds: Sequence[Fold], runs: ExecutionRuns
) -> Iterator[CrossRow]:
    """Yield a row for each metric: its mean value by distortion against the mean execution score.

    Runs share no image with the database, so that distortions are compared, at the levels that were run; on
    the held-out pairs of each split, mean over the splits.
    """
    names = [str(name) for name in np.unique(runs.distortion_ids)]
    execution = np.array([finite_mean(runs.execution[runs.distortion_ids == name]) for name in names])
    chosen = [pairs_at_levels_run(runs, pairs, name) for name in names]
    means = np.array(
        [
            [[finite_mean(entry.on(fold)[rows & fold.test]) for entry in entries] for rows in chosen]
            for fold in folds
        ]
    ).reshape(len(folds), len(names), len(entries))
    found = np.stack([statistics(of_fold, np.full_like(of_fold, np.nan), execution) for of_fold in means])
    known = np.isfinite(means).any(axis=0) & np.isfinite(execution)[:, None]
    for at, (entry, row) in enumerate(zip(entries, finite_means(found, axis=0), strict=True)):
        yield _row(entry.name, entry.trained_on, EXECUTION, int(known[:, at].sum()), row)


def _row(name: str, trained_on: str, tested_on: str, count: int, statistics: Array) -> CrossRow:
    by = dict(zip(Statistic, statistics.tolist(), strict=True))
    wanted = (Statistic.SRCC, Statistic.KRCC, Statistic.PLCC_RAW, Statistic.PLCC)
    return CrossRow(name, trained_on, tested_on, count, *(number(by[one]) for one in wanted))
