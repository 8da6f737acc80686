"""Gates on matched runs: pairing, differences, and statistics against SciPy and by hand."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from scipy.stats import binom, bootstrap

from embodied_iqa.data.analysis.paired import mcnemar, mean_of, median_of, paired_difference
from embodied_iqa.data.analysis.resampling import References
from embodied_iqa.data.database.run_rows import RunRow
from embodied_iqa.runs.experiment.gate_arms import ALL, CLEAN, Measure, compare_arms, match_runs

_BURST = "burst:start=0.0,length=1.0,every=0.0"


def run(arm: str, scene: int, distortion: str = "12", outcome: str = "success", **more: object) -> RunRow:
    values: dict[str, object] = {field.name: None for field in dataclasses.fields(RunRow)}
    values |= {
        "subject": "a",
        "task": "pick the red cube",
        "scene_seed": scene,
        "distortion_id": distortion,
        "level": 5 if distortion else 0,
        "distortion_seed": 0,
        "schedule": _BURST if distortion else "",
        "arm": arm,
        "outcome": outcome,
        "duration_s": 4.0,
        "wrong_motions": 0,
        "held_s": 0.0,
        "clean_frames": 50,
        "false_holds": 0,
    }
    return RunRow(**(values | more))


def scenes_of(count: int) -> References:
    return References.drawn(np.array([f"{at:03}" for at in range(count)]), draws=4000, seed=1)


def test_a_paired_difference_has_the_interval_of_newcombe_and_stays_within_its_range() -> None:
    """20, 12, 2, 16 is an example of the paper: 0.2 from 0.0562 to 0.329."""
    one = np.repeat([True, True, False, False], [20, 12, 2, 16])
    two = np.repeat([True, False, True, False], [20, 12, 2, 16])
    found = paired_difference(two, one)
    assert (found.value, found.low, found.high) == pytest.approx((0.2, 0.0562, 0.3292), abs=5e-5)
    back = paired_difference(one, two)
    assert (back.value, back.low, back.high) == pytest.approx((-0.2, -0.3292, -0.0562), abs=5e-5)
    lost = paired_difference(np.ones(24, bool), np.zeros(24, bool))
    assert (lost.value, lost.low) == (-1.0, -1.0)
    assert -1.0 < lost.high < -0.75
    same = paired_difference(one, one)
    assert same.value == 0.0
    assert same.low < 0.0 < same.high


def test_mcnemar_is_the_exact_binomial_test_of_the_discordant_pairs() -> None:
    first = np.array([True] * 9 + [False] * 11)
    second = np.array([True] * 8 + [False] + [True] * 7 + [False] * 4)
    assert mcnemar(first, second) == pytest.approx(2 * binom.cdf(1, 8, 0.5))
    assert mcnemar(first, second) == pytest.approx(mcnemar(second, first))
    assert mcnemar(first, first) == 1.0


def test_intervals_agree_with_scipy_where_each_scene_has_one_run() -> None:
    values = np.random.default_rng(4).gamma(2.0, size=60)
    for estimate, statistic in ((mean_of, np.mean), (median_of, np.median)):
        ours = estimate(values, scenes_of(60))
        theirs = bootstrap((values,), statistic, n_resamples=4000, method="percentile", rng=2)
        assert ours.value == pytest.approx(statistic(values))
        assert ours.low == pytest.approx(theirs.confidence_interval.low, abs=0.05)
        assert ours.high == pytest.approx(theirs.confidence_interval.high, abs=0.05)


def test_runs_of_one_scene_are_drawn_together() -> None:
    values = np.repeat(np.random.default_rng(4).normal(size=20), 5)
    scenes = References.drawn(np.repeat([f"{at:03}" for at in range(20)], 5), draws=4000, seed=1)
    alone = mean_of(values, scenes_of(100))
    together = mean_of(values, scenes)
    assert together.value == pytest.approx(alone.value)
    assert together.high - together.low > 1.8 * (alone.high - alone.low)
    single = mean_of(values[:5], References.drawn(np.array(["1"] * 5)))
    assert math.isnan(single.low)
    assert math.isnan(median_of(np.full(3, np.nan), scenes_of(3)).value)


def test_only_whole_matches_count_and_what_the_policy_cannot_do_is_left_out() -> None:
    rows = [run(arm, scene, what) for arm in ("learned", "off") for scene in (7, 8, 9) for what in ("", "12")]
    rows = [row for row in rows if (row.arm, row.scene_seed, row.distortion_id) != ("learned", 7, "12")]
    failing = ("off", 9, "")
    rows = [
        dataclasses.replace(row, outcome="failure")
        if (row.arm, row.scene_seed, row.distortion_id) == failing
        else row
        for row in rows
    ]
    matches, unmatched = match_runs(rows, ("off", "learned"))
    assert (len(matches), unmatched) == (5, 1)
    assert all([row.arm for row in match.runs] == ["off", "learned"] for match in matches)
    assert all(len({(row.scene_seed, row.distortion_id) for row in match.runs}) == 1 for match in matches)
    compared = compare_arms(rows, ["learned", "off"], draws=50)
    assert compared.arms == ("off", "learned")
    assert (compared.left_out, compared.unmatched) == (2, 1)
    assert compared.of(ALL, "off", Measure.SUCCESS).runs == 1
    assert compared.of(CLEAN, "off", Measure.SUCCESS).runs == 2


def test_differences_to_off_and_to_the_oracle_by_hand() -> None:
    rows = [run(arm, scene, "") for arm in ("off", "learned", "oracle") for scene in range(10)]
    for scene in range(10):
        bad = scene < 6
        rows.append(run("off", scene, outcome="failure" if bad else "success", wrong_motions=int(bad)))
        caught = scene < 5
        rows.append(
            run(
                "learned",
                scene,
                outcome="failure" if bad and not caught else "success",
                wrong_motions=int(bad and not caught),
                duration_s=5.0,
                held_s=1.5,
                false_holds=5,
            )
        )
        rows.append(run("oracle", scene, duration_s=4.5, held_s=1.0))
    compared = compare_arms(rows, ["off", "learned", "oracle"], draws=400)
    success = compared.of(ALL, "learned", Measure.SUCCESS)
    assert success.estimate.value == pytest.approx(0.9)
    assert success.difference is not None
    assert success.to_oracle is not None
    assert success.difference.value == pytest.approx(0.5)
    assert 0.1 < success.difference.low < 0.5 < success.difference.high < 0.9
    assert success.to_oracle.value == pytest.approx(-0.1)
    assert success.p_value == pytest.approx(2 * 0.5**5)
    wrong = compared.of(ALL, "learned", Measure.WRONG_MOTIONS)
    assert (wrong.estimate.value, wrong.p_value) == (pytest.approx(0.1), None)
    time = compared.of(ALL, "learned", Measure.TIME_TO_FINISH)
    assert time.difference is not None
    assert time.difference.value == pytest.approx(1.0)  # of the four scenes that both finish
    assert compared.of(ALL, "learned", Measure.FALSE_HOLDS).estimate.value == pytest.approx(0.1)
    assert math.isnan(compared.of(ALL, "off", Measure.PEAK_CONTACT).estimate.value)
    off = compared.of(ALL, "off", Measure.SUCCESS)
    assert (off.difference, off.p_value) == (None, None)
    assert compared.of(f"12 {_BURST}", "oracle", Measure.TIME_HELD).estimate.value == pytest.approx(1.0)
