"""Correlation of cognition and decision with execution, the scores of an experiment's runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.data.analysis.correlation import Correlation, srcc
from embodied_iqa.data.analysis.grid import Group, PairTable, ScoreGrid
from embodied_iqa.data.analysis.means import finite_mean
from embodied_iqa.data.analysis.noise_ceiling import joint_ceiling, noise_ceiling
from embodied_iqa.data.analysis.opinion import mean_opinion

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ExecutionRuns:
    """Runs of an experiment on distorted images; all arrays ``(runs,)``.

    Attributes:
        subjects: Name of the VLA.
        distortion_ids: Two digits.
        levels: 1 to 5.
        execution: Score, 0 to 100; NaN if the reference run failed.
        scores: Scores of the same run, 0 to 1: of its first decision, and of the answer about its first
            frame; NaN if there was none.
    """

    subjects: NDArray[np.str_]
    distortion_ids: NDArray[np.str_]
    levels: NDArray[np.int64]
    execution: Array
    scores: Mapping[Group, Array]


@dataclass(frozen=True, slots=True)
class ExecutionRow:
    """One distortion.

    Attributes:
        distortion_id: Two digits.
        runs: Number of runs with an execution score.
        left_out: Number of runs without one.
        execution: Mean execution score, 0 to 100.
        opinions: Mean opinion in the database at the levels that were run; NaN without scores.
        correlations: SRCC over the runs: score of the run with its execution.
    """

    distortion_id: str
    runs: int
    left_out: int
    execution: float
    opinions: Mapping[Group, float]
    correlations: Mapping[Group, Correlation]


@dataclass(frozen=True, slots=True)
class ExecutionTable:
    """Results of a whole experiment.

    Attributes:
        rows: By distortion.
        over_runs: SRCC over all runs.
        over_distortions: SRCC over the rows: mean opinion with mean execution.
        ceilings: Noise ceiling of `over_distortions`; NaN if one side has a single subject.
    """

    rows: tuple[ExecutionRow, ...]
    over_runs: Mapping[Group, Correlation]
    over_distortions: Mapping[Group, Correlation]
    ceilings: Mapping[Group, float]


def execution_table(runs: ExecutionRuns, grid: ScoreGrid) -> ExecutionTable:
    """Correlate the scores of a database and of runs with the execution of the runs."""
    names = [str(number) for number in np.unique(runs.distortion_ids)]
    chosen = {name: pairs_at_levels_run(runs, grid.pairs, name) for name in names}
    rows = tuple(_row(runs, grid, name, pairs) for name, pairs in chosen.items())
    execution = np.array([row.execution for row in rows])
    by_vla = [[runs.execution[(runs.distortion_ids == name) & (runs.subjects == vla)]
               for vla in np.unique(runs.subjects)] for name in names]  # fmt: skip
    ceiling = _ceiling(by_vla)
    return ExecutionTable(
        rows,
        {group: srcc(runs.scores[group], runs.execution) for group in Group},
        {group: srcc(np.array([row.opinions[group] for row in rows]), execution) for group in Group},
        {
            group: joint_ceiling(
                _ceiling([list(_total(grid, group)[pairs].T) for pairs in chosen.values()]), ceiling
            )
            for group in Group
        },
    )


def pairs_at_levels_run(runs: ExecutionRuns, pairs: PairTable, number: str) -> Mask:
    """Select the pairs of a distortion at the levels that were run."""
    levels = np.unique(runs.levels[(runs.distortion_ids == number) & np.isfinite(runs.execution)])
    chosen: Mask = (pairs.distortion_ids == number) & np.isin(pairs.levels, levels)
    return chosen


def _row(runs: ExecutionRuns, grid: ScoreGrid, number: str, pairs: Mask) -> ExecutionRow:
    own = runs.distortion_ids == number
    execution = runs.execution[own]
    scored = int(np.isfinite(execution).sum())
    return ExecutionRow(
        number,
        scored,
        len(execution) - scored,
        finite_mean(execution),
        {group: finite_mean(mean_opinion(_total(grid, group)[pairs]).raw) for group in Group},
        {group: srcc(runs.scores[group][own], execution) for group in Group},
    )


def _total(grid: ScoreGrid, group: Group) -> Array:
    """Return ``(pairs, subjects)`` scores; no column for a group without subjects."""
    return grid.groups[group].total if group in grid.groups else np.empty((len(grid.pairs), 0))


def _ceiling(scores: list[list[Array]]) -> float:
    """Return the noise ceiling of mean scores, given the scores by distortion and subject."""
    means = np.array([[finite_mean(values) for values in line] for line in scores])
    return noise_ceiling(means.reshape(len(scores), -1)).ceiling if scores and scores[0] else float("nan")
