"""Cognition and decision against what the arm did."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.analysis.ceiling import noise_ceiling
from embodied_iqa.analysis.correlation import Correlation, srcc
from embodied_iqa.analysis.opinion import mean_opinion

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
    """What the database says of its pairs, scores in [0, 5] or NaN.

    Attributes:
        distortion_ids: ``(pairs,)``.
        levels: ``(pairs,)``.
        cognition: ``(pairs, VLMs)``.
        decision: ``(pairs, VLAs)``.
    """

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
        cognition_ceiling: Of `cognition_means`: geometric mean of both sides' corrected noise ceilings; NaN
            where a side has one subject only.
        decision_ceiling: Likewise.
    """

    rows: tuple[ExecutionRow, ...]
    cognition_runs: Correlation
    decision_runs: Correlation
    cognition_means: Correlation
    decision_means: Correlation
    cognition_ceiling: float
    decision_ceiling: float


def execution_table(runs: ExecutionRuns, opinion: PairOpinion) -> ExecutionTable:
    """Hold scores of understanding and deciding against scores of doing."""
    names = [str(number) for number in np.unique(runs.distortion_ids)]
    levels = {name: _levels_run(runs, name) for name in names}
    means = {
        side: np.array([_means(scores[_pairs(opinion, name, levels[name])]) for name in names])
        for side, scores in (("cognition", opinion.cognition), ("decision", opinion.decision))
    }
    rows = tuple(_row(runs, opinion, name, levels[name]) for name in names)
    own = noise_ceiling(_execution_means(runs, names)).corrected
    limits = {side: noise_ceiling(values).corrected for side, values in means.items() if values.ndim == 2}
    execution = np.array([row.execution for row in rows])
    return ExecutionTable(
        rows,
        srcc(runs.cognition, runs.execution),
        srcc(runs.decision, runs.execution),
        srcc(np.array([row.cognition for row in rows]), execution),
        srcc(np.array([row.decision for row in rows]), execution),
        _both(limits.get("cognition", np.nan), own),
        _both(limits.get("decision", np.nan), own),
    )


def _levels_run(runs: ExecutionRuns, number: str) -> NDArray[np.int64]:
    return np.unique(runs.levels[(runs.distortion_ids == number) & np.isfinite(runs.execution)])


def _pairs(opinion: PairOpinion, number: str, levels: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Choose pairs at the levels that were run: level 5 says nothing about pictures at level 1."""
    chosen: NDArray[np.bool_] = (opinion.distortion_ids == number) & np.isin(opinion.levels, levels)
    return chosen


def _execution_means(runs: ExecutionRuns, names: list[str]) -> Array:
    """``(distortions, VLAs)`` mean execution score."""
    subjects = np.unique(runs.subjects)
    return np.array(
        [
            [
                _mean(runs.execution[(runs.distortion_ids == name) & (runs.subjects == one)])
                for one in subjects
            ]
            for name in names
        ]
    ).reshape(len(names), len(subjects))


def _both(first: float, second: float) -> float:
    known = np.isfinite(first) and np.isfinite(second) and first >= 0 and second >= 0
    return float(np.sqrt(first * second)) if known else float("nan")


def _row(runs: ExecutionRuns, opinion: PairOpinion, number: str, levels: NDArray[np.int64]) -> ExecutionRow:
    own = runs.distortion_ids == number
    execution = runs.execution[own]
    scored = np.isfinite(execution)
    pairs = _pairs(opinion, number, levels)
    return ExecutionRow(
        number,
        int(scored.sum()),
        int((~scored).sum()),
        _mean(execution),
        _mean(mean_opinion(opinion.cognition[pairs]).raw),
        _mean(mean_opinion(opinion.decision[pairs]).raw),
        srcc(runs.cognition[own], execution),
        srcc(runs.decision[own], execution),
    )


def _means(scores: Array) -> list[float]:
    return [_mean(scores[:, column]) for column in range(scores.shape[1])]


def _mean(values: Array) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")
