"""Correlations, opinions and ceilings against pandas, SciPy and plain arithmetic."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import rankdata, spearmanr, zscore

from database_grids import group_scores, pair_table
from embodied_iqa.data.analysis.correlation import Undefined, agreement, mean_ranks, srcc
from embodied_iqa.data.analysis.grid import Group
from embodied_iqa.data.analysis.intervals import srcc_interval
from embodied_iqa.data.analysis.noise_ceiling import noise_ceiling
from embodied_iqa.data.analysis.opinion import mean_opinion
from embodied_iqa.data.analysis.resampling import FEWEST_REFERENCES, References

GRADES = arrays(np.float64, st.tuples(st.integers(3, 20), st.just(2)), elements=st.integers(0, 4).map(float))


@settings(max_examples=60, deadline=None)
@given(GRADES)
def test_srcc_is_scipys_with_ties_and_refuses_constants(grades: np.ndarray) -> None:
    found = srcc(grades[:, 0], grades[:, 1])
    if (np.ptp(grades, axis=0) == 0).any():
        assert np.isnan(found.value)
        assert found.undefined is Undefined.CONSTANT
    else:
        assert found.value == pytest.approx(spearmanr(grades[:, 0], grades[:, 1]).statistic, abs=1e-12)


def test_equal_values_get_their_mean_rank() -> None:
    rng = np.random.default_rng(0)
    for size in range(40):
        values = np.append(rng.integers(0, 9, size) / 4, [np.inf, -np.inf] * (size % 3))
        np.testing.assert_array_equal(mean_ranks(values), rankdata(values))


def test_srcc_leaves_rows_without_a_number_out_and_counts_the_rest() -> None:
    first = np.array([1.0, 2, np.nan, 4, 5, 6])
    second = np.array([2.0, 1, 9, np.inf, 7, 8])
    found = srcc(first, second)
    assert found.count == 4
    assert found.value == pytest.approx(spearmanr([1, 2, 5, 6], [2, 1, 7, 8]).statistic)
    assert srcc(first[:2], second[:2]).undefined is Undefined.FEW


def scores_with_holes() -> np.ndarray:
    scores = group_scores(Group.DECISION, pair_table(6)).total.copy()
    rng = np.random.default_rng(3)
    scores[rng.random(scores.shape) < 0.1] = np.nan
    scores[7] = np.nan
    return scores


def test_matrix_is_that_of_pandas() -> None:
    scores = scores_with_holes()
    found = agreement(("a", "b", "c", "d"), scores)
    expected = pd.DataFrame(scores).corr("spearman").to_numpy()
    np.testing.assert_allclose(found.matrix, expected, atol=1e-12)
    assert found.mean == pytest.approx(expected[np.triu_indices(4, 1)].mean())
    assert found.counts[0, 1] == (np.isfinite(scores[:, 0]) & np.isfinite(scores[:, 1])).sum()
    assert found.counts[2, 2] == np.isfinite(scores[:, 2]).sum()


def test_a_constant_subject_has_no_correlation_and_is_counted() -> None:
    scores = scores_with_holes()
    scores[:, 1] = 5.0
    found = agreement(("a", "b", "c", "d"), scores)
    assert found.undefined == 3
    assert np.isnan(found.matrix[1, [0, 2, 3]]).all()
    assert found.mean == pytest.approx(agreement(("a", "c", "d"), scores[:, [0, 2, 3]]).mean)
    assert mean_opinion(scores).constant == (1,)


def test_opinion_is_that_of_pandas() -> None:
    scores = scores_with_holes()
    found = mean_opinion(scores)
    table = pd.DataFrame(scores)
    np.testing.assert_allclose(found.raw, table.mean(axis=1).to_numpy())
    expected = ((table - table.mean()) / table.std(ddof=0)).mean(axis=1)
    np.testing.assert_allclose(found.z_scored, expected.to_numpy(), atol=1e-12)
    assert found.absent == int(table.isna().all(axis=1).sum())
    assert found.partial == int((table.isna().any(axis=1) & ~table.isna().all(axis=1)).sum())


def test_opinion_of_complete_scores_is_scipys() -> None:
    scores = group_scores(Group.COGNITION, pair_table(5)).total
    np.testing.assert_allclose(mean_opinion(scores).z_scored, zscore(scores, axis=0).mean(axis=1))


def test_rescaled_subjects_have_the_same_z_scored_opinion() -> None:
    scores = group_scores(Group.COGNITION, pair_table(5)).total
    other = scores * np.array([1, 2, 0.3, 5]) + np.array([0, 1, -2, 3])
    np.testing.assert_allclose(mean_opinion(other).z_scored, mean_opinion(scores).z_scored, atol=1e-9)


def test_nearly_constant_numbers_are_constant() -> None:
    scores = np.full((9, 2), 0.1 + 0.2)
    scores[:, 1] = np.arange(9)
    assert mean_opinion(scores).constant == (0,)


def test_ceiling_of_four_is_the_mean_over_its_three_splits() -> None:
    scores = group_scores(Group.DECISION, pair_table(6)).total
    splits = (((0, 1), (2, 3)), ((0, 2), (1, 3)), ((0, 3), (1, 2)))
    expected = [
        spearmanr(scores[:, list(a)].mean(1), scores[:, list(b)].mean(1)).statistic for a, b in splits
    ]
    found = noise_ceiling(scores)
    assert found.splits == 3
    assert found.mean == pytest.approx(np.mean(expected))
    assert found.reliability == pytest.approx(2 * np.mean(expected) / (1 + np.mean(expected)))
    assert found.ceiling == pytest.approx(np.sqrt(found.reliability))


@pytest.mark.parametrize(("subjects", "splits"), [(1, 0), (2, 1), (3, 3), (5, 10), (6, 10), (15, 50)])
def test_number_of_splits(subjects: int, splits: int) -> None:
    scores = group_scores(Group.DECISION, pair_table(3), subjects).total
    assert noise_ceiling(scores).splits == splits


def test_ceiling_of_equal_subjects_is_one_and_of_strangers_near_zero() -> None:
    rng = np.random.default_rng(5)
    one = rng.random((400, 1))
    assert noise_ceiling(np.repeat(one, 6, axis=1)).mean == pytest.approx(1)
    assert abs(noise_ceiling(rng.random((400, 6))).mean) < 0.1


def test_drawn_splits_follow_the_seed() -> None:
    scores = group_scores(Group.DECISION, pair_table(3), 15).total
    assert noise_ceiling(scores, seed=1, most=20) == noise_ceiling(scores, seed=1, most=20)
    assert noise_ceiling(scores, seed=1, most=20) != noise_ceiling(scores, seed=2, most=20)


def test_order_of_rows_changes_nothing() -> None:
    scores = scores_with_holes()
    order = np.random.default_rng(0).permutation(len(scores))
    ours, theirs = agreement(tuple("abcd"), scores), agreement(tuple("abcd"), scores[order])
    np.testing.assert_allclose(ours.matrix, theirs.matrix, atol=1e-12)
    np.testing.assert_allclose(mean_opinion(scores).z_scored[order], mean_opinion(scores[order]).z_scored)
    assert noise_ceiling(scores).mean == pytest.approx(noise_ceiling(scores[order]).mean)


def test_interval_of_the_agreement_is_that_of_repeated_rows() -> None:
    pairs, rng = pair_table(12), np.random.default_rng(3)
    scores = np.round(rng.random((len(pairs), 1)) + rng.random((len(pairs), 3)), 1)  # with ties
    scores[rng.random(scores.shape) < 0.1] = np.nan
    references = References.drawn(pairs.reference_ids, draws=200, seed=5)
    found = srcc_interval(scores, references)
    means = []
    for weights in references.weights:
        rows = np.repeat(np.arange(len(scores)), weights[references.index].astype(int))
        matrix = pd.DataFrame(scores[rows]).corr("spearman").to_numpy()
        means.append(np.nanmean(matrix[np.triu_indices(3, 1)]))
    assert (found.low, found.high) == pytest.approx(tuple(np.percentile(means, (2.5, 97.5))))
    assert found.low < agreement(("a", "b", "c"), scores).mean < found.high
    assert found.references == 12


def test_too_few_references_give_no_interval_but_their_number() -> None:
    scores = np.random.default_rng(0).random((60, 2))
    drawn = References.drawn(np.repeat([f"r{number:02d}" for number in range(FEWEST_REFERENCES)], 6))
    assert np.isfinite(srcc_interval(scores, drawn).low)
    scores[-6:, 1] = np.nan  # the last reference has no common scores
    found = srcc_interval(scores, drawn)
    assert found.references == FEWEST_REFERENCES - 1
    assert np.isnan([found.low, found.high]).all()
