"""Statistics of the benchmark against scipy and pandas, and on data with a known answer."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from embodied_iqa.data.analysis.resampling import References, interval_of
from embodied_iqa.quality.metrics.benchmark.benchmark_statistics import FEWEST_PAIRS, Statistic, statistics
from embodied_iqa.quality.metrics.benchmark.bootstrap import compare, resampled_srcc
from embodied_iqa.quality.metrics.benchmark.logistic import FEWEST_FITTED, Logistic, fit_logistic
from embodied_iqa.quality.metrics.benchmark.scoring import mapped_values

NAMES = list(Statistic)


def _tied(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    return np.round(rng.normal(size=(rows, columns)), 1)


@pytest.mark.parametrize("rows", [40, 300])
def test_correlations_equal_those_of_scipy_and_pandas_also_with_ties(rows: int) -> None:
    rng = np.random.default_rng(0)
    values, scores = _tied(rng, rows, 4), np.round(rng.normal(size=rows), 1)
    values[:, 0] += scores
    found = statistics(values, values, scores)
    for column, row in zip(values.T, found, strict=True):
        frame = pd.DataFrame({"value": column, "score": scores})
        for name, method in (
            (Statistic.SRCC, "spearman"), (Statistic.KRCC, "kendall"), (Statistic.PLCC, "pearson"),
        ):  # fmt: skip
            assert row[NAMES.index(name)] == pytest.approx(frame.corr(method=method).iloc[0, 1], abs=1e-12)
        assert row[NAMES.index(Statistic.KRCC)] == pytest.approx(stats.kendalltau(column, scores).statistic)
        assert row[NAMES.index(Statistic.RMSE)] == pytest.approx(np.sqrt(np.mean((column - scores) ** 2)))


def test_auc_is_the_share_of_harmed_pairs_that_rank_below_others() -> None:
    rng = np.random.default_rng(1)
    values, scores = _tied(rng, 200, 1), rng.uniform(3, 5, 200)
    bad, good = values[scores < 4.5, 0], values[scores >= 4.5, 0]
    wins = (bad[:, None] < good).mean() + 0.5 * (bad[:, None] == good).mean()
    assert statistics(values, values, scores)[0, NAMES.index(Statistic.AUC)] == pytest.approx(wins)


def test_a_missing_value_concerns_its_own_metric_only() -> None:
    rng = np.random.default_rng(2)
    values, scores = rng.normal(size=(50, 3)), rng.normal(size=50)
    whole = statistics(values, values, scores)
    holed = values.copy()
    holed[:20, 1] = np.nan
    found = statistics(holed, holed, scores)
    np.testing.assert_allclose(found[[0, 2]], whole[[0, 2]])
    np.testing.assert_allclose(found[1], statistics(values[20:], values[20:], scores[20:])[1])


def test_too_few_pairs_and_constant_values_have_no_statistics() -> None:
    scores = np.arange(FEWEST_PAIRS - 1.0)
    assert np.isnan(statistics(scores[:, None], scores[:, None], scores)).all()
    constant = np.full((20, 1), 3.0)
    found = statistics(constant, constant, np.linspace(4, 5, 20))[0]
    assert np.isnan(found[[NAMES.index(name) for name in (Statistic.SRCC, Statistic.KRCC)]]).all()


@pytest.mark.parametrize(
    "truth",
    [Logistic(4, 0.3, 28, 0.01, 2), Logistic(-3, 25, 0.12, 0, 4), Logistic(0.5, 900, 0.004, -3, 1)],
)
def test_the_logistic_is_recovered(truth: Logistic) -> None:
    rng = np.random.default_rng(3)
    values = truth.a3 + rng.uniform(-6, 6, 800) / truth.a2
    scores = truth(values)
    found = fit_logistic(values, scores)
    assert found is not None
    np.testing.assert_allclose(found(values), scores, atol=1e-4)
    noisy = fit_logistic(values, scores + rng.normal(0, 0.05, 800))
    assert noisy is not None
    np.testing.assert_allclose(noisy(values), scores, atol=0.05)


def test_the_logistic_never_fits_worse_than_a_line_and_refuses_constants() -> None:
    rng = np.random.default_rng(4)
    values = rng.standard_cauchy(400)
    scores = rng.normal(size=400) + 0.01 * values
    found = fit_logistic(values, scores)
    assert found is not None
    line = np.polynomial.Polynomial.fit(values, scores, 1)
    assert np.square(found(values) - scores).sum() <= np.square(line(values) - scores).sum() + 1e-9
    assert fit_logistic(np.ones(50), scores[:50]) is None
    assert fit_logistic(values[:4], scores[:4]) is None


def _plcc_of_noise(rows: int) -> float:
    rng = np.random.default_rng(5)
    found = list[float]()
    for values, scores in rng.normal(size=(25, 2, rows)):
        logistic = fit_logistic(values, scores)
        assert logistic is not None
        found.append(float(np.corrcoef(logistic(values), scores)[0, 1]))
    return float(np.mean(found))


def test_the_logistic_fits_noise_where_there_are_fewer_pairs_than_it_is_used_for() -> None:
    assert _plcc_of_noise(FEWEST_FITTED) < 0.2 < _plcc_of_noise(FEWEST_FITTED // 2)


def test_too_few_pairs_are_not_fitted() -> None:
    values = np.random.default_rng(6).normal(size=(FEWEST_FITTED, 2))
    scores = values.sum(axis=1)
    values[0, 1] = np.nan
    found = np.isfinite(mapped_values(values, scores))
    assert found[:, 0].all()
    assert not found[:, 1].any()
    without_a_score = np.where(np.arange(FEWEST_FITTED) == 1, np.nan, scores)
    assert not np.isfinite(mapped_values(values, without_a_score)).any()


def test_the_paired_bootstrap_covers_the_difference_of_two_metrics() -> None:
    rng = np.random.default_rng(5)
    noises, covered, repeats = (0.6, 0.9), 0, 60
    exact = [6 / np.pi * np.arcsin(1 / np.sqrt(1 + noise**2) / 2) for noise in noises]
    for repeat in range(repeats):
        ids = np.repeat([f"r{n:02d}" for n in range(40)], 10)
        scores = rng.normal(size=400)
        values = scores[:, None] + rng.normal(size=(400, 2)) * noises
        found = compare(("a", "b"), [values], scores, References.drawn(ids, draws=100, seed=repeat))
        one = found.differences[0]
        low, high = (one.low, one.high) if one.first == "a" else (-one.high, -one.low)
        covered += low <= exact[0] - exact[1] <= high
    assert covered / repeats > 0.85


def test_a_metric_equals_itself_and_the_better_one_comes_first() -> None:
    rng = np.random.default_rng(6)
    scores = rng.normal(size=300)
    values = np.stack([rng.normal(size=300), scores, scores, np.full(300, np.nan)], axis=1)
    drawn = References.drawn(np.repeat([f"{n}" for n in range(30)], 10), draws=50)
    found = compare(("noise", "best", "same", "none"), [values], scores, drawn)
    assert [rank.metric for rank in found.ranks] == ["best", "same", "noise", "none"]
    assert found.ranks[0].srcc == 1
    assert np.isnan(found.ranks[-1].srcc)
    tie, lead, _ = found.differences
    assert (tie.value, tie.low, tie.high, tie.certain) == (0, 0, 0, False)
    assert lead.second == "noise"
    assert lead.certain


def test_values_of_differently_trained_metrics_are_not_ranked_together() -> None:
    rng = np.random.default_rng(7)
    scores, ids = rng.normal(size=400), np.repeat([f"r{n:02d}" for n in range(40)], 10)
    first = np.arange(400) < 200
    trained = [np.where(first, scores, np.nan), np.where(first, np.nan, scores + 100)]
    steady = [np.where(rows, scores + rng.normal(size=400) / 4, np.nan) for rows in (first, ~first)]
    by_split = [np.stack(columns, axis=1) for columns in zip(trained, steady, strict=True)]
    found = compare(("trained", "steady"), by_split, scores, References.drawn(ids, draws=50))
    assert [(rank.metric, rank.pairs, rank.references) for rank in found.ranks] == [
        ("trained", 400, 40), ("steady", 400, 40),
    ]  # fmt: skip
    assert found.ranks[0].srcc == found.ranks[0].low == 1
    halves = [stats.spearmanr(values[rows, 1], scores[rows]).statistic
              for values, rows in zip(by_split, (first, ~first), strict=True)]  # fmt: skip
    assert found.differences[0].value == pytest.approx(1 - np.mean(halves))
    assert found.differences[0].certain


def test_the_interval_over_folds_is_that_of_the_mean_on_repeated_rows() -> None:
    rng = np.random.default_rng(5)
    ids = np.repeat([f"reference-{number:02d}" for number in range(15)], 6)
    references = References.drawn(ids, draws=30, seed=1)
    tested = [np.arange(90) < 60, np.arange(90) >= 30]
    opinions = [rng.normal(size=90), rng.normal(size=90)]
    values = [opinion + rng.normal(size=90) for opinion in opinions]
    folds = [np.where(rows, column, np.nan) for rows, column in zip(tested, values, strict=True)]
    found = resampled_srcc(folds, opinions, references)

    def mean_srcc(weights: np.ndarray) -> float:
        times = weights[references.index].astype(int)
        each = [
            stats.spearmanr(np.repeat(column[rows], times[rows]), np.repeat(opinion[rows], times[rows]))[0]
            for column, opinion, rows in zip(values, opinions, tested, strict=True)
        ]
        return float(np.mean(each))

    assert found.srcc == pytest.approx(mean_srcc(np.ones(15)))
    np.testing.assert_allclose(found.draws, [mean_srcc(weights) for weights in references.weights])
    assert found.interval == interval_of(found.draws)
    assert (found.pairs, found.references) == (90, 15)
    few = [np.where(np.arange(90) < 48, column, np.nan) for column in values]
    assert np.isnan(resampled_srcc(few, opinions, references).interval).all()
