"""Thirds, levels that leave mild, breakdowns, intervals, execution."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from database_grids import grid, pair_table
from embodied_iqa.data.analysis.breakdowns import breakdown, columns_of, levels_are_mixed, worst_distortion
from embodied_iqa.data.analysis.execution_correlation import ExecutionRuns, execution_table
from embodied_iqa.data.analysis.grid import Group, GroupScores, PairTable, ScoreGrid
from embodied_iqa.data.analysis.jnd import NEVER, Third, leaving_levels, thirds
from embodied_iqa.data.analysis.means import cell_means
from embodied_iqa.data.analysis.opinion import mean_opinion
from embodied_iqa.data.analysis.resampling import References


def test_thirds_are_thirds() -> None:
    found = thirds(np.random.default_rng(0).permutation(np.arange(300.0)))
    assert found.counts == {Third.MILD: 100, Third.MEDIUM: 100, Third.SEVERE: 100}


def test_equal_scores_stay_together_and_missing_ones_are_counted() -> None:
    scores = np.array([5.0] * 7 + [1.0, 2.0, np.nan])
    found = thirds(scores)
    assert found.counts == {Third.MILD: 7, Third.MEDIUM: 0, Third.SEVERE: 2}
    assert found.unscored == 1
    assert found.labels[-1] == ""
    assert set(found.labels[:7]) == {"mild"}


def test_all_equal_is_all_mild_and_nothing_is_nothing() -> None:
    assert thirds(np.full(4, 2.0)).counts[Third.MILD] == 4
    assert thirds(np.full(4, np.nan)).unscored == 4


def test_leaving_level_is_where_fewer_than_half_are_mild() -> None:
    ids = np.repeat(["01", "02", "03"], 10)
    levels = np.tile(np.repeat([1, 2, 3, 4, 5], 2), 3)
    mild, medium, severe = ("mild", "mild"), ("mild", "medium"), ("severe", "medium")
    by_level = [mild, medium, severe, medium, severe] + [mild] * 5 + [severe, *[mild] * 4]
    labels = np.array([label for pair in by_level for label in pair])
    few = leaving_levels(labels, ids, levels, References.drawn(np.tile(["r0", "r1"], 15)))
    assert [item.level for item in few] == [3, NEVER, 1]
    assert few[0].shares == (1, 0.5, 0, 0.5, 0)
    assert {(item.low, item.high) for item in few} == {(None, None)}, "two references"
    names = np.repeat([f"r{number}" for number in range(10)], 30)
    ten = leaving_levels(np.tile(labels, 10), np.tile(ids, 10), np.tile(levels, 10), References.drawn(names))
    assert [item.level for item in ten] == [3, NEVER, 1]
    assert [(item.low, item.high) for item in ten[1:]] == [(NEVER, NEVER), (1, 1)]


def test_leaving_level_is_defined_if_most_scores_are_the_highest() -> None:
    """Any mean is below the highest score; a count of the unchanged pairs still tells levels apart."""
    levels = np.repeat([1, 2, 3, 4, 5], 100)
    changed = np.concatenate([np.arange(100) < 10 * level for level in (1, 3, 4, 6, 9)])
    labels = thirds(np.where(changed, 4.0, 5.0)).labels
    references = References.drawn(np.tile([f"r{i}" for i in range(100)], 5))
    (found,) = leaving_levels(labels, np.full(500, "10"), levels, references)
    assert found.level == 4
    assert found.shares == pytest.approx((0.9, 0.7, 0.6, 0.4, 0.1))


def test_interval_of_the_level_covers_what_noise_can_do() -> None:
    rng = np.random.default_rng(1)
    ids, levels = np.full(500, "01"), np.tile([1, 2, 3, 4, 5], 100)
    labels = thirds(4 - 0.5 * levels + rng.normal(0, 2, 500)).labels
    references = References.drawn(np.repeat([f"r{i}" for i in range(100)], 5))
    (found,) = leaving_levels(labels, ids, levels, references)
    assert found.low is not None
    assert found.high is not None
    assert found.low <= (found.level or 0) <= found.high
    assert found.low < found.high


def test_unscored_distortion_has_no_level() -> None:
    references = References.drawn(np.array(list("abab")))
    (found,) = leaving_levels(np.full(4, ""), np.full(4, "07"), np.arange(1, 5), references)
    assert found.level is None


def test_means_are_those_of_pandas_and_intervals_hold_the_truth() -> None:
    """Of 200 made-up databases the 95 % interval holds the true mean in most; in all would be wide."""
    rng = np.random.default_rng(2)
    held = 0
    for seed in range(200):
        offsets = rng.normal(0, 1, 40)
        names = np.repeat([f"r{i:02d}" for i in range(40)], 5)
        scores = np.repeat(offsets, 5) + rng.normal(0, 0.3, 200)
        found = cell_means(scores, np.zeros(200, np.int64), 1, References.drawn(names, draws=200, seed=seed))
        assert found.means[0] == pytest.approx(scores.mean())
        held += found.low[0] <= 0 <= found.high[0]
    assert 175 <= held <= 199


@pytest.mark.parametrize(("references", "has_interval"), [(2, False), (9, False), (10, True)])
def test_means_of_few_references_have_no_interval(references: int, has_interval: bool) -> None:
    names = np.array([f"r{number}" for number in range(references)])
    scores = np.arange(references, dtype=np.float64)
    found = cell_means(scores, np.zeros(references, np.int64), 1, References.drawn(names))
    assert np.isfinite([found.low[0], found.high[0]]).tolist() == [has_interval] * 2


def test_breakdown_is_that_of_pandas() -> None:
    made = grid()
    scores = mean_opinion(made.groups[Group.COGNITION].total).raw
    scores[5] = np.nan
    third = thirds(scores).labels
    references = References.drawn(made.pairs.reference_ids)
    for name, values in columns_of(made.pairs).items():
        rows = breakdown(scores, values, third, references)
        table = pd.DataFrame({"score": scores, "value": values, "third": third})
        means = table.groupby("value")["score"].mean()
        assert [row.value for row in rows] == list(means.index), name
        np.testing.assert_allclose([row.mean for row in rows], means.to_numpy())
        assert [row.count for row in rows] == table.groupby("value")["score"].count().tolist()
        scored = table[table["third"] != ""]
        mild = (scored["third"] == "mild").groupby(scored["value"]).mean()
        np.testing.assert_allclose([row.shares[Third.MILD] for row in rows], mild.to_numpy())
        assert all(row.low <= row.mean <= row.high for row in rows if math.isfinite(row.low))


def test_order_of_rows_changes_no_mean_and_no_interval() -> None:
    made = grid()
    scores = mean_opinion(made.groups[Group.DECISION].total).raw
    pairs = made.pairs
    order = np.random.default_rng(0).permutation(len(pairs))
    results = []
    for rows in (np.arange(len(pairs)), order):
        cut = thirds(scores[rows])
        references = References.drawn(pairs.reference_ids[rows])
        ids, levels = pairs.distortion_ids[rows], pairs.levels[rows]
        leaving = leaving_levels(cut.labels, ids, levels, references)
        results.append((leaving, breakdown(scores[rows], ids, cut.labels, references)))
    ours, theirs = results
    assert [(a.level, a.low, a.high) for a in ours[0]] == [(a.level, a.low, a.high) for a in theirs[0]]
    for a, b in zip(ours[1], theirs[1], strict=True):
        assert (a.mean, a.low, a.high) == pytest.approx((b.mean, b.low, b.high), nan_ok=True)


def test_thirty_distortions_have_seven_classes() -> None:
    assert len(set(columns_of(pair_table())["class"])) == 7


def runs_and_grid() -> tuple[ExecutionRuns, ScoreGrid]:
    rng = np.random.default_rng(4)
    ids = np.repeat(["02", "12", "19"], 40)
    decision = rng.random(120)
    execution = 100 * decision + rng.normal(0, 5, 120)
    execution[3] = np.nan
    scores = {Group.COGNITION: np.full(120, np.nan), Group.DECISION: decision}
    runs = ExecutionRuns(np.full(120, "vla"), ids, np.full(120, 5), execution, scores)
    levels = np.tile([1, 5], 30)
    pair_ids = np.repeat(["02", "12", "19"], 20)
    score = np.where(levels == 5, 1.0, 4.0) + (pair_ids == "12") + 2 * (pair_ids == "19")
    columns = np.stack([score, score + 0.5], axis=1) - 0.25
    names = np.arange(60).astype(str)
    groups = {
        group: GroupScores(
            group, ("a", "b"), {}, total, np.zeros(2, np.int64), np.zeros(total.shape, np.bool_)
        )
        for group, total in zip(Group, (columns, 5 - columns), strict=True)
    }
    return runs, ScoreGrid(PairTable(names, names, pair_ids, levels, {}), groups)


def test_execution_is_correlated_over_runs_and_over_distortions() -> None:
    runs, database = runs_and_grid()
    found = execution_table(runs, database)
    known = np.isfinite(runs.execution)
    assert found.over_runs[Group.DECISION].value == pytest.approx(
        spearmanr(runs.scores[Group.DECISION][known], runs.execution[known]).statistic
    )
    assert found.over_runs[Group.COGNITION].undefined is not None
    assert [(row.runs, row.left_out) for row in found.rows] == [(39, 1), (40, 0), (40, 0)]
    assert [row.opinions[Group.COGNITION] for row in found.rows] == [1, 2, 3], "only the level that was run"
    execution = [row.execution for row in found.rows]
    over = {group: one.value for group, one in found.over_distortions.items()}
    assert over[Group.COGNITION] == pytest.approx(spearmanr([1, 2, 3], execution).statistic)
    assert over[Group.DECISION] == pytest.approx(-over[Group.COGNITION])
    assert np.isnan(found.ceilings[Group.DECISION]), "one VLA has run"


def test_ceiling_of_execution_is_that_of_both_sides() -> None:
    runs, database = runs_and_grid()
    other = np.arange(120) % 2 == 0
    runs = dataclasses.replace(runs, subjects=np.where(other, "a", "b"))
    found = execution_table(runs, database)
    table = pd.DataFrame({"score": runs.execution, "name": runs.distortion_ids, "subject": runs.subjects})
    means = table.pivot_table("score", "name", "subject", "mean").to_numpy()
    half = spearmanr(means[:, 0], means[:, 1]).statistic
    corrected = 2 * half / (1 + half)
    expected = np.sqrt(corrected) if corrected >= 0 else np.nan  # the two VLMs rank the distortions alike
    np.testing.assert_allclose(found.ceilings[Group.COGNITION], expected)


def test_the_worst_distortion_is_named_and_a_tie_or_too_few_references_are_said() -> None:
    rng = np.random.default_rng(4)
    distortions = np.tile(["01", "02", "03", "04"], 30)
    references = References.drawn(np.repeat([f"r{number:02d}" for number in range(30)], 4), draws=200)
    level = np.tile([3.0, 1.0, 1.02, 4.0], 30)
    found = worst_distortion(level + rng.normal(0, 0.5, 120), distortions, references)
    assert found is not None
    assert {found.distortion_id, *(found.ties or ())} == {"02", "03"}
    found = worst_distortion(
        level - 2 * (distortions == "03") + rng.normal(0, 0.5, 120), distortions, references
    )
    assert found is not None
    assert (found.distortion_id, found.ties, found.references) == ("03", (), 30)
    few = np.where(np.arange(120) < 8, level, np.nan)
    found = worst_distortion(few, distortions, references)
    assert found is not None
    assert (found.distortion_id, found.ties, found.references) == ("02", None, 2)
    assert worst_distortion(np.where(distortions == "01", level, np.nan), distortions, references) is None


def test_random_levels_are_recognised() -> None:
    pairs = pair_table(6)
    assert levels_are_mixed(pairs)
    assert not levels_are_mixed(dataclasses.replace(pairs, levels=np.full_like(pairs.levels, 3)))
    both = np.arange(2 * len(pairs)) % len(pairs)
    ids = {name: getattr(pairs, name)[both] for name in ("pair_ids", "reference_ids", "distortion_ids")}
    labels = {name: column[both] for name, column in pairs.labels.items()}
    levels = np.concatenate([pairs.levels, pairs.levels % 5 + 1])
    assert not levels_are_mixed(PairTable(**ids, levels=levels, labels=labels))
