"""Cognition and decision against what the arm did."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.analysis.database.correlation import Correlation, srcc

__all__ = ["ExecutionRow", "ExecutionRuns", "ExecutionTable", "PairOpinion", "execution_table"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ExecutionRuns:
    """Runs of an experiment on distorted pictures; all arrays ``(runs,)``.

    Attributes:
        subjects: Name of the VLA.
        distortion_ids: Two digits.
        levels: 1 to 5.
        execution: Score, 0 to 100; NaN where the reference run failed.
        decision: Score of the first decision of the same run, 0 to 1; NaN where there was none.
        cognition: Score of the answer about its first frame, 0 to 1; NaN where nobody was asked.
    """

    subjects: NDArray[np.str_]
    distortion_ids: NDArray[np.str_]
    levels: NDArray[np.int64]
    execution: Array
    decision: Array
    cognition: Array


@dataclass(frozen=True, slots=True)
class PairOpinion:
    """Mean opinions of the database; all arrays ``(pairs,)``, scores in [0, 5] or NaN."""

    distortion_ids: NDArray[np.str_]
    levels: NDArray[np.int64]
    cognition: Array
    decision: Array


@dataclass(frozen=True, slots=True)
class ExecutionRow:
    """One distortion.

    Attributes:
        distortion_id: Two digits.
        runs: That have an execution score.
        left_out: That have none.
        execution: Mean execution score, 0 to 100.
        cognition: Mean opinion in the database, of the levels that were run; NaN without.
        decision: Likewise.
        cognition_srcc: Over the runs: cognition of the run against its execution.
        decision_srcc: Likewise decision.
    """

    distortion_id: str
    runs: int
    left_out: int
    execution: float
    cognition: float
    decision: float
    cognition_srcc: Correlation
    decision_srcc: Correlation


@dataclass(frozen=True, slots=True)
class ExecutionTable:
    """Everything about execution.

    Attributes:
        rows: By distortion.
        cognition_runs: SRCC over all runs.
        decision_runs: Likewise.
        cognition_means: SRCC of the rows' means: the database's cognition against execution.
        decision_means: Likewise.
    """

    rows: tuple[ExecutionRow, ...]
    cognition_runs: Correlation
    decision_runs: Correlation
    cognition_means: Correlation
    decision_means: Correlation


def execution_table(runs: ExecutionRuns, opinion: PairOpinion) -> ExecutionTable:
    """Hold scores of understanding and deciding against scores of doing."""
    rows = tuple(_row(runs, opinion, str(number)) for number in np.unique(runs.distortion_ids))
    execution = np.array([row.execution for row in rows])
    return ExecutionTable(
        rows,
        srcc(runs.cognition, runs.execution),
        srcc(runs.decision, runs.execution),
        srcc(np.array([row.cognition for row in rows]), execution),
        srcc(np.array([row.decision for row in rows]), execution),
    )


def _row(runs: ExecutionRuns, opinion: PairOpinion, number: str) -> ExecutionRow:
    own = runs.distortion_ids == number
    execution = runs.execution[own]
    scored = np.isfinite(execution)
    # an experiment at level 5 says nothing about pictures at level 1
    pairs = (opinion.distortion_ids == number) & np.isin(opinion.levels, runs.levels[own][scored])
    return ExecutionRow(
        number,
        int(scored.sum()),
        int((~scored).sum()),
        _mean(execution),
        _mean(opinion.cognition[pairs]),
        _mean(opinion.decision[pairs]),
        srcc(runs.cognition[own], execution),
        srcc(runs.decision[own], execution),
    )


def _mean(values: Array) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")
