"""Metrics against a score: statistics by split and subset, ranks, generalisation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.data.analysis.correlation import srcc
from embodied_iqa.data.analysis.grid import PairTable
from embodied_iqa.data.analysis.resampling import References
from embodied_iqa.quality.metrics.benchmark.benchmark_plan import Unseen
from embodied_iqa.quality.metrics.benchmark.benchmark_results import (
    DifferenceRow,
    RankRow,
    ScoreRow,
    UnseenRow,
    number,
)
from embodied_iqa.quality.metrics.benchmark.benchmark_statistics import Statistic, statistics
from embodied_iqa.quality.metrics.benchmark.bootstrap import compare, resampled_srcc
from embodied_iqa.quality.metrics.benchmark.entries import Entry
from embodied_iqa.quality.metrics.benchmark.folds import Fold
from embodied_iqa.quality.metrics.benchmark.logistic import FEWEST_FITTED, fit_logistic
from embodied_iqa.quality.metrics.benchmark.targets import TargetScores, subsets_of

Array = NDArray[np.float64]
_SRCC: Final = list(Statistic).index(Statistic.SRCC)
_AUC: Final = list(Statistic).index(Statistic.AUC)


def score_rows(
    entries: Sequence[Entry], target: TargetScores, pairs: PairTable, folds: Sequence[Fold]
) -> Iterator[ScoreRow]:
    """Yield a row for each subset and metric: mean and spread over the splits.

    One logistic is fitted for each metric and split, on all of its test pairs; every subset uses it.
    """
    subsets, opinion = subsets_of(target, pairs), target.opinion()
    found = np.full((len(folds), len(subsets), len(entries), len(Statistic)), np.nan)
    for at, fold in enumerate(folds):
        values = np.stack([entry.on(fold) for entry in entries], axis=1)
        mapped = mapped_values(values[fold.test], opinion[fold.test])
        for place, subset in enumerate(subsets):
            rows = subset.rows[fold.test]
            found[at, place] = statistics(values[fold.test][rows], mapped[rows], opinion[fold.test][rows])
    mean, spread = _mean_and_spread(found)
    splits = np.isfinite(found[..., _SRCC]).sum(axis=0)
    for (place, subset), (column, entry) in product(enumerate(subsets), enumerate(entries)):
        yield ScoreRow(
            entry.name,
            target.target,
            subset.by,
            subset.value,
            subset.pairs,
            subset.references,
            _named(mean[place, column]),
            _named(spread[place, column]),
            int(splits[place, column]),
            number(subset.ceiling),
            number(mean[place, column, _SRCC] / subset.ceiling),
        )


def mapped_values(values: Array, scores: Array) -> Array:
    """Return ``(N, M)`` the values after a logistic for each of M metrics; NaN without a fit.

    Fewer than `FEWEST_FITTED` rows with a value and a score are not fitted.
    """
    mapped = np.full(values.shape, np.nan)
    pairs = (np.isfinite(values) & np.isfinite(scores)[:, None]).sum(axis=0)
    for column in np.flatnonzero(pairs >= FEWEST_FITTED):
        logistic = fit_logistic(values[:, column], scores)
        if logistic is not None:
            mapped[:, column] = logistic(values[:, column])
    return mapped


def comparison_rows(
    entries: Sequence[Entry], target: TargetScores, folds: Sequence[Fold], references: References
) -> tuple[list[RankRow], list[DifferenceRow]]:
    """Rank the metrics as the table does, and compare them pairwise on the same draws of references."""
    by_split = [
        np.where(fold.test[:, None], np.stack([entry.on(fold) for entry in entries], axis=1), np.nan)
        for fold in folds
    ]
    found = compare([entry.name for entry in entries], by_split, target.opinion(), references)
    ranks = [
        RankRow(
            rank.metric, target.target, number(rank.srcc), number(rank.low), number(rank.high),
            rank.pairs, rank.references,
        )
        for rank in found.ranks
    ]  # fmt: skip
    differences = [
        DifferenceRow(
            one.first, one.second, target.target, one.value, number(one.low), number(one.high), one.certain
        )
        for one in found.differences
    ]
    return ranks, differences


def unseen_rows(
    entries: Sequence[Entry],
    target: TargetScores,
    study: Unseen,
    folds: Sequence[Fold],
    references: References,
) -> Iterator[UnseenRow]:
    """Yield a row for each metric: unseen against seen, mean over the folds, interval over the references."""
    parts = np.full((2, len(folds), len(entries), len(Statistic)), np.nan)
    labels = np.full(len(folds), np.nan)
    tested, opinions = list[Array](), list[Array]()
    for at, fold in enumerate(folds):
        values = np.stack([entry.on(fold) for entry in entries], axis=1)
        learned, predicted = target.opinion(fold.train_subjects), target.opinion(fold.test_subjects)
        for side, (rows, scores) in enumerate(((fold.test, predicted), (fold.seen, learned))):
            parts[side, at] = statistics(values[rows], np.full(values[rows].shape, np.nan), scores[rows])
        if fold.test_subjects:
            labels[at] = srcc(learned[fold.test], predicted[fold.test]).value
        tested.append(np.where(fold.test[:, None], values, np.nan))
        opinions.append(predicted)
    mean, spread = _mean_and_spread(parts.swapaxes(0, 1))
    agreed = _mean_and_spread(labels)[0]
    for column, entry in enumerate(entries):
        by_fold = parts[0, :, column, _SRCC]
        low, high = resampled_srcc([values[:, column] for values in tested], opinions, references).interval
        yield UnseenRow(
            entry.name,
            entry.trained_on,
            study,
            target.target,
            int(np.isfinite(by_fold).sum()),
            number(mean[0, column, _SRCC]),
            number(spread[0, column, _SRCC]),
            number(mean[1, column, _SRCC]),
            number(mean[0, column, _AUC]),
            number(float(agreed)),
            {fold.title: number(value) for fold, value in zip(folds, by_fold.tolist(), strict=True)},
            number(low),
            number(high),
        )


def _named(values: Array) -> dict[str, float | None]:
    return {str(name): number(value) for name, value in zip(Statistic, values.tolist(), strict=True)}


def _mean_and_spread(values: Array) -> tuple[Array, Array]:
    """Return mean and standard deviation of the finite values along the first axis; NaN without any."""
    known = np.isfinite(values)
    count = known.sum(axis=0)
    mean = np.where(known, values, 0.0).sum(axis=0) / np.where(count, count, np.nan)
    squares = np.where(known, np.square(values - mean), 0.0).sum(axis=0)
    return mean, np.sqrt(squares / np.where(count, count, np.nan))
