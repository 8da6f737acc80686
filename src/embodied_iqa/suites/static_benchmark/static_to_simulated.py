"""Static score of a VLA against execution of the same tasks: correlation over tasks.

S2D = PLCC(static score, execution) over the tasks (arXiv 2508.06553). The paper's execution is that of a real
arm; where ours comes from a simulation, the number is called static-to-simulated.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.jobs.plan import digest_of
from embodied_iqa.data.analysis.correlation import Undefined
from embodied_iqa.data.analysis.resampling import drawn_rows, interval_of
from embodied_iqa.data.database.run_rows import RunRow
from embodied_iqa.models.scoring.execution_score import Outcome
from embodied_iqa.suites.static_benchmark.vla.vla_results import VlaResults, VlaTaskRow

Array = NDArray[np.float64]
Executions = Mapping[tuple[str, str], float]
"""Execution in [0, 1] by subject and name of the task."""

PUBLISHED: Final = (0.629, 0.621, 0.729)
"""The paper's S2D of Octo on 50 instances; mean 0.66."""
S2D_FILE: Final = "s2d.json"
_LEAST: Final = 3
_DRAWS: Final = 2000
_COLUMNS: Final = ("subject", "task", "execution")


class Relation(StrEnum):
    """What the static score is correlated with."""

    SIMULATED = "static-to-simulated"
    """Execution in contact physics."""
    REAL = "static-to-real"
    """Execution by a real arm."""


class StaticScore(StrEnum):
    """Static score of a task."""

    MAIN = "main"
    """Overall score with the subject's main timing."""
    ARM = "arm"
    """Overall score of the arm's path through the chunk."""


@dataclass(frozen=True, slots=True)
class Plcc:
    """Pearson's correlation over tasks.

    Attributes:
        value: In [-1, 1]; None if undefined.
        low: Lower end of the 95 % bootstrap interval over tasks; None if undefined.
        high: Upper end.
        tasks: Number of tasks with both numbers.
        undefined: Why there is no value; empty if there is one.
    """

    value: float | None
    low: float | None
    high: float | None
    tasks: int
    undefined: str = ""


@dataclass(frozen=True, slots=True)
class S2dRow:
    """Correlation of a subject.

    Attributes:
        subject: Its reference.
        relation: Simulated or real execution.
        score: Which static score.
        static: Mean static score of these tasks, 0 to 100.
        execution: Mean execution of these tasks, 0 to 1.
        plcc: The correlation.
        scores: `scores_key` of the static scores; empty where it is not known.
    """

    subject: str
    relation: Relation
    score: StaticScore
    static: float
    execution: float
    plcc: Plcc
    scores: str = ""


def scores_key(results: VlaResults, subject: str) -> str:
    """Return a hash of a subject's static scores: a correlation holds only for these."""
    rows = [row for row in results.by_task if row.subject == subject]
    return digest_of("s2d", results.benchmark, [(row.task, row.overall, row.overall_arm) for row in rows])


def plcc(static: ArrayLike, execution: ArrayLike, seed: int = 0) -> Plcc:
    """Correlate two columns over tasks; undefined, not 0, where one of them is constant.

    Args:
        static: ``(n,)`` static scores.
        execution: ``(n,)`` execution of the same tasks.
        seed: Of the bootstrap: tasks are drawn again with replacement; draws in which a column is constant
            are left out.

    Raises:
        InputError: The columns differ in length or hold a number that is not finite.
    """
    first, second = (np.asarray(column, dtype=np.float64) for column in (static, execution))
    if first.ndim != 1 or first.shape != second.shape:
        raise InputError("two columns of the same tasks are needed", got=(first.shape, second.shape))
    if not np.isfinite([first, second]).all():
        raise InputError("a score is not a finite number")
    count = len(first)
    if count < _LEAST:
        return Plcc(None, None, None, count, str(Undefined.FEW))
    whole = np.arange(count)[None]
    (value,) = _correlations(first, second, whole)
    if not np.isfinite(value):
        return Plcc(None, None, None, count, str(Undefined.CONSTANT))
    found = _correlations(first, second, drawn_rows(count, draws=_DRAWS, seed=seed))
    return Plcc(float(value), *interval_of(found), count)


def s2d_rows(results: VlaResults, executions: Executions, relation: Relation) -> tuple[S2dRow, ...]:
    """Correlate each subject's static scores with its executions.

    Args:
        results: Static scores of tasks on clean images.
        executions: Of the same subjects and tasks; others are ignored.
        relation: Where the executions come from.

    Raises:
        InputError: No subject has an execution of a task of the benchmark.
    """
    by_subject: dict[str, list[VlaTaskRow]] = defaultdict(list)
    for row in results.by_task:
        if (row.subject, row.task) in executions:
            by_subject[row.subject].append(row)
    if not by_subject:
        raise InputError(
            "no task of the benchmark was executed by a subject of the results",
            expected=f"subjects {', '.join(sorted({row.subject for row in results.by_task}))}",
            got=sorted({subject for subject, _ in executions}),
        )
    found: list[S2dRow] = []
    for subject, rows in by_subject.items():
        real = np.array([executions[subject, row.task] for row in rows])
        key = scores_key(results, subject)
        for score, column in _static_columns(rows):
            one = plcc(column, real)
            means = float(column.mean()), float(real.mean())
            found.append(S2dRow(subject, relation, score, *means, one, key))
    return tuple(found)


def executions_of_runs(results: VlaResults, runs: Iterable[RunRow]) -> Executions:
    """Return the success (0 or 1) of the undistorted runs of the benchmark's tasks, mean over repetitions.

    A run is of a task if subject, words and scene agree. Runs that the gate held say nothing about the
    policy and are left out.
    """
    tasks = {(row.subject, row.instruction, row.scene_seed): row.task for row in results.by_task}
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for run in runs:
        task = tasks.get((run.subject, run.task, run.scene_seed))
        if task is not None and run.is_reference and run.outcome != Outcome.HELD_BY_GATE.value:
            found[run.subject, task].append(float(run.outcome == Outcome.SUCCESS.value))
    return {key: float(np.mean(values)) for key, values in found.items()}


def executions_of_csv(path: Path) -> Executions:
    """Read executions from a CSV file with the columns subject, task and execution (0 to 1).

    Repetitions of a task are averaged.

    Raises:
        InputError: The file cannot be read, has other columns, or a number out of range.
    """
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            reader = csv.DictReader(stream, strict=True)
            if not set(_COLUMNS) <= set(reader.fieldnames or ()):
                raise InputError(
                    f"{path} has other columns", expected=", ".join(_COLUMNS), got=reader.fieldnames
                )
            rows = [tuple(row[name] for name in _COLUMNS) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} cannot be read as CSV: {error}") from None
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for line, (subject, task, text) in enumerate(rows, start=2):
        found[subject, task].append(_execution(text, f"{path}, row {line}"))
    return {key: float(np.mean(values)) for key, values in found.items()}


def _execution(text: str | None, where: str) -> float:
    try:
        value = float(text or "")
    except ValueError:
        value = np.nan
    if not 0.0 <= value <= 1.0:
        raise InputError(f"{where}: wrong execution", expected="a number from 0 to 1", got=text)
    return value


def _static_columns(rows: list[VlaTaskRow]) -> list[tuple[StaticScore, Array]]:
    choices: list[tuple[StaticScore, Callable[[VlaTaskRow], float | None]]] = [
        (StaticScore.MAIN, lambda row: row.overall),
        (StaticScore.ARM, lambda row: row.overall_arm),
    ]
    columns = [(score, [value_of(row) for row in rows]) for score, value_of in choices]
    return [(score, np.array(column)) for score, column in columns if None not in column]


def _correlations(first: Array, second: Array, drawn: NDArray[np.int64]) -> Array:
    """Return Pearson's correlation for each row of indices; NaN where one side is constant."""
    a, b = first[drawn], second[drawn]
    constant = (np.ptp(a, axis=1) == 0.0) | (np.ptp(b, axis=1) == 0.0)
    a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
    norm = np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
    value = (a * b).sum(axis=1) / np.where(constant | (norm == 0.0), np.nan, norm)
    return np.asarray(np.clip(value, -1.0, 1.0), dtype=np.float64)
