"""The benchmark: trains, measures, compares, also with people and execution; resumable."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa import __version__
from embodied_iqa.base.files import write_json_whole
from embodied_iqa.base.jobs.engine import Engine, EngineOptions, Job
from embodied_iqa.base.jobs.folder import JobFolder
from embodied_iqa.base.jobs.plan import digest_of
from embodied_iqa.base.records import unstructure
from embodied_iqa.data.analysis.execution_correlation import ExecutionRuns, pairs_at_levels_run
from embodied_iqa.data.analysis.grid import PairTable
from embodied_iqa.data.analysis.loading import load_grid, runs_of_table
from embodied_iqa.data.analysis.means import finite_mean, finite_means
from embodied_iqa.data.analysis.resampling import References
from embodied_iqa.data.database.joined_runs import joined_execution
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.data.database.unanswered import unseen_targets
from embodied_iqa.quality.metrics.benchmark.benchmark_plan import PLAN_FILE, BenchmarkPlan, Target
from embodied_iqa.quality.metrics.benchmark.benchmark_results import (
    ESTIMATOR,
    RESULTS,
    BenchmarkResults,
    CrossRow,
    DifferenceRow,
    MetricRow,
    RankRow,
    ScoreRow,
    UnseenRow,
    number,
)
from embodied_iqa.quality.metrics.benchmark.benchmark_statistics import FEWEST_PAIRS, Statistic, statistics
from embodied_iqa.quality.metrics.benchmark.beside import database_hashes
from embodied_iqa.quality.metrics.benchmark.entries import Entry
from embodied_iqa.quality.metrics.benchmark.fold_training import training_jobs
from embodied_iqa.quality.metrics.benchmark.folds import Fold
from embodied_iqa.quality.metrics.benchmark.logistic import FEWEST_FITTED
from embodied_iqa.quality.metrics.benchmark.resolving import described, trainable_of, trained_here
from embodied_iqa.quality.metrics.benchmark.scoring import (
    comparison_rows,
    mapped_values,
    score_rows,
    unseen_rows,
)
from embodied_iqa.quality.metrics.benchmark.targets import remarks_of
from embodied_iqa.quality.metrics.benchmark.values import ValueStore, close_loaded, finite_values
from embodied_iqa.quality.metrics.benchmark.work import BenchmarkWork
from embodied_iqa.quality.metrics.human import read_human
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


class Stage(StrEnum):
    """What a benchmark is doing."""

    TRAIN = "train"
    MEASURE = "measure"
    COMPARE = "compare"


Progress = Callable[[Stage, int, int], None]
"""Called with the number of finished jobs of a stage and of all its jobs."""


def run_benchmark(
    store: DatabaseStore, out: Path, plan: BenchmarkPlan, engine: EngineOptions, progress: Progress
) -> BenchmarkResults:
    """Run a benchmark, or continue one, and write `benchmark.json`.

    Args:
        store: A database with scores; nothing is written to it.
        out: New, empty, or the folder of a benchmark of the same plan and database.
        plan: What the results depend on.
        engine: What runs the jobs.
        progress: Observes the progress.

    Raises:
        UsageError: The folder holds a benchmark of another plan; unknown metric or score.
        InputError: A file is missing or damaged; another process works in the folder. Finished work is kept.
    """
    out = out.resolve()  # workers of Ray have another working folder
    grid = load_grid(store, all_views=plan.all_views)
    human = [read_human(text) for text in plan.human]
    work = BenchmarkWork(store.path.resolve(), grid, plan, human, out)
    with JobFolder(out, "metric benchmark", PLAN_FILE).opened(plan_tree(store, plan, human)):
        try:
            with Engine(engine) as running:
                _run(running, Stage.TRAIN, training_jobs(out, list(work.trainings())), progress)
                _run(running, Stage.MEASURE, _measuring(work), progress)
        finally:
            close_loaded()
        results = _compare(store, work, plan, progress)
        write_json_whole(out / RESULTS, unstructure(results))
    return results


def plan_tree(store: DatabaseStore, plan: BenchmarkPlan, human: Sequence[HumanDatabase]) -> dict[str, Any]:
    """Return what must be the same when a benchmark is continued."""
    versions = {name: described(name)[1] for name in plan.zero_shot}
    recipes = {name: trainable_of(name).version for name in plan.recipes}
    return {
        "database": database_hashes(store),
        "metrics": versions,
        "trained": recipes,
        "targets": [str(target) for target in plan.targets],
        "train_on": list(plan.train_on),
        "repeats": plan.repeats,
        "unseen": [str(study) for study in plan.unseen],
        "human": {
            one.name: digest_of(one.digest(one.pair_ids.tolist()), one.opinions.tolist()) for one in human
        },
        "draws": plan.draws,
        "all_views": plan.all_views,
    }


def _run(engine: Engine, stage: Stage, jobs: Sequence[Job], progress: Progress) -> None:
    progress(stage, 0, len(jobs))
    for done, _ in enumerate(engine.run(jobs), start=1):
        progress(stage, done, len(jobs))


def _measuring(work: BenchmarkWork) -> list[Job]:
    wants = [want for by_fold in work.wants.values() for want in by_fold.values()]
    jobs = ValueStore(work.out, work.images).jobs(wants)
    for one in work.human.values():
        jobs += ValueStore(work.out, one).jobs(work.human_wants(one).values())
    return jobs


def _compare(
    store: DatabaseStore, work: BenchmarkWork, plan: BenchmarkPlan, progress: Progress
) -> BenchmarkResults:
    entries = work.entries()
    references = References.drawn(work.pairs.reference_ids, draws=plan.draws)
    scores, ranks, differences = list[ScoreRow](), list[RankRow](), list[DifferenceRow]()
    for done, target in enumerate(work.targets):
        progress(Stage.COMPARE, done, len(work.targets))
        scores += score_rows(entries, target, work.pairs, work.folds)
        ranked, different = comparison_rows(entries, target, work.folds, references)
        ranks += ranked
        differences += different
    progress(Stage.COMPARE, len(work.targets), len(work.targets))
    seen = trained_here(plan.zero_shot, store.record().plan)
    return BenchmarkResults(
        __version__,
        work.images.name,
        len(work.pairs),
        references.weights.shape[1],
        plan.repeats,
        tuple(_metric_row(entry, seen.get(entry.name, "")) for entry in entries),
        tuple(scores),
        tuple(ranks),
        tuple(differences),
        tuple(_unseen(work, entries, references)),
        tuple(_cross(store, work, entries)),
        (
            *remarks_of(work.targets),
            *unseen_targets(store, all_views=plan.all_views).remarks,
            *_without_values(entries),
            *_undefined(scores, {entry.name for entry in entries if _is_without_values(entry)}),
            *_not_fitted(scores),
            *(_seen_in_words(name, split) for name, split in seen.items()),
        ),
        ESTIMATOR,
    )


def _is_without_values(entry: Entry) -> bool:
    return bool(entry.failures) and not any(np.isfinite(values).any() for values in entry.values.values())


def _without_values(entries: Sequence[Entry]) -> Iterator[str]:
    """Say which metrics have no value of any image, and why."""
    for entry in filter(_is_without_values, entries):
        reason, _ = max(entry.failures.items(), key=lambda item: item[1])
        yield f"{entry.name} has no value of any image: {reason}"


def _undefined(scores: Sequence[ScoreRow], failed: Container[str]) -> Iterator[str]:
    """Say which scores other metrics than those that failed were not compared with, and why."""
    metrics: dict[Target, list[str]] = {}
    for row in scores:
        if row.by == "all" and not row.splits and row.metric not in failed:
            metrics.setdefault(row.target, []).append(row.metric)
    for target, names in metrics.items():
        yield (
            f"{target}: no SRCC of {', '.join(names)}: each split tests fewer than {FEWEST_PAIRS} pairs, "
            "or pairs that are all equal."
        )


def _not_fitted(scores: Sequence[ScoreRow]) -> Iterator[str]:
    """Say which metrics have too few pairs for the logistic, all or some; once for equal words."""
    ranked: dict[Target, list[ScoreRow]] = {}
    for row in scores:
        if row.by == "all" and row.splits:
            ranked.setdefault(row.target, []).append(row)
    targets: dict[str, list[Target]] = {}
    for target, rows in ranked.items():
        missing = [row.metric for row in rows if row.mean[Statistic.PLCC] is None]
        if missing:
            words = "" if len(missing) == len(rows) else f" of {', '.join(missing)}"
            targets.setdefault(words, []).append(target)
    for words, of_metrics in targets.items():
        yield (
            f"{', '.join(of_metrics)}: no PLCC and RMSE{words}: each split tests fewer than {FEWEST_FITTED} "
            "pairs, on which the logistic would fit noise; PLCC raw is without it."
        )


def _seen_in_words(name: str, split: str) -> str:
    return (
        f"{name} was trained on split {split} of a database that was made like this one: it has seen most of "
        "these references. Compare train:NAME, which is trained anew for each split."
    )


def _metric_row(entry: Entry, trained_on_split: str) -> MetricRow:
    info, time_ms = entry.info, number(entry.milliseconds)
    return MetricRow(
        entry.name,
        info.needs,
        entry.trained_on,
        info.source,
        time_ms,
        info.megabytes,
        dict(entry.failures),
        trained_on_split,
    )


def _unseen(work: BenchmarkWork, entries: Sequence[Entry], references: References) -> Iterator[UnseenRow]:
    """Yield the studies of each score that is learned, tested on it and on wrong motion.

    Metrics that are used as they are have one row for each study and score.
    """
    done = set[tuple[str, str, str]]()
    for (study, learned), folds in work.studies.items():
        fitting = [entry for entry in entries if "" in entry.values or entry.trained_on == learned]
        for target in work.tested_on(learned):
            for row in unseen_rows(fitting, target, study, folds, references):
                if (row.metric, row.study, row.target) not in done:
                    done.add((row.metric, row.study, row.target))
                    yield row


def _cross(store: DatabaseStore, work: BenchmarkWork, entries: Sequence[Entry]) -> Iterator[CrossRow]:
    runs = joined_execution(store)
    if runs is not None:
        yield from execution_rows(entries, work.pairs, work.folds, runs_of_table(runs))
    for one in work.human.values():
        values = ValueStore(work.out, one)
        found = {
            line: finite_values(values.read(want, one.pair_ids.tolist()).values, want.info.sign)
            for line, want in work.human_wants(one).items()
        }
        trained_on = {line.name: line.trained_on for line in found}
        yield from human_rows(one, {line.name: column for line, column in found.items()}, trained_on)
