"""Statistics of a policy's training data: which kind its family uses, and wrong ones are refused."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.models.subjects.actions.action_statistics import (
    Statistics,
    checked_statistics,
    load_statistics,
)
from embodied_iqa.models.subjects.actions.table import convention_of
from embodied_iqa.models.subjects.backends.policies import statistics_for, with_statistics
from embodied_iqa.models.subjects.catalogue import Role, StatisticsKind, SubjectEntry, entries
from embodied_iqa.models.subjects.subject_options import PolicyOptions


@given(st.lists(st.floats(-5, 5), min_size=7, max_size=7), st.booleans())
@settings(max_examples=50, deadline=None)
def test_normalising_and_undoing_cancel(values: list, bounds: bool):
    low = np.array([-0.1, -0.2, -0.3, -1, -1, -1, 0])
    high = np.array([0.1, 0.3, 0.2, 1, 2, 1, 1])
    statistics = Statistics.from_bounds(low, high) if bounds else Statistics.from_moments(low, high + 0.1)
    assert np.allclose(statistics.apply(statistics.undo(np.array(values))), values)


def test_statistics_files_of_the_three_families_are_read(tmp_path: Path):
    q01, q99, mask = [-1.0] * 6 + [0.0], [1.0, 2.0, 3.0, 1.0, 1.0, 1.0, 1.0], [True] * 6 + [False]
    openvla = tmp_path / "dataset_statistics.json"
    openvla.write_text(
        json.dumps({"bridge_orig": {"action": {"q01": q01, "q99": q99, "mask": mask}}, "b": {}})
    )
    row = np.array([[1.0, 1.0, -1.0, 0.0, 0.0, 0.0, 0.7]])
    undone = load_statistics(openvla, "bridge_orig").undo(row)[0]
    assert np.allclose(undone, [1.0, 2.0, -1.0, 0.0, 0.0, 0.0, 0.7])
    with pytest.raises(UsageError, match="bridge_orig"):
        load_statistics(openvla)
    octo = tmp_path / "octo.json"
    octo.write_text(json.dumps({"action": {"mean": [1.0] * 7, "std": [2.0] * 7}}))
    assert np.allclose(load_statistics(octo).undo(np.ones((1, 7))), 3.0)
    openpi = tmp_path / "norm_stats.json"
    part = {"mean": [0.0], "std": [1.0], "q01": None, "q99": None}
    openpi.write_text(json.dumps({"norm_stats": {"actions": part, "state": {"mean": [5.0], "std": [1.0]}}}))
    assert np.allclose(load_statistics(openpi, of_state=True).apply(np.array([6.0])), 1.0)


@pytest.mark.parametrize(
    "text",
    [
        "no json",
        "[]",
        "{}",
        '{"action": {"q01": [1], "q99": [1, 2]}}',
        '{"action": {"mean": ["a"], "std": [1]}}',
        '{"action": {"mean": [NaN], "std": [1]}}',
        '{"action": 3}',
    ],
)
def test_statistics_files_that_are_none_are_refused(tmp_path: Path, text: str):
    path = tmp_path / "statistics.json"
    path.write_text(text)
    with pytest.raises((InputError, UsageError)):
        load_statistics(path)


NORM_STATS = {"mean": [0.1] * 7, "std": [0.3] * 7, "q01": [-0.2] * 7, "q99": [1.0] * 7}
WIDE = {name: values * 2 for name, values in NORM_STATS.items()}
"""Enough for two arms."""
MEAN_STD, PERCENTILES = 0.25, 0.7
"""What 0.5 means by mean and deviation, and by percentiles."""


def written(folder: Path, **changes: object) -> PolicyOptions:
    """Write statistics as openpi does, and return the options that name them."""
    part = {name: value for name, value in (NORM_STATS | changes).items() if value is not None}
    path = folder / "norm_stats.json"
    path.write_text(json.dumps({"norm_stats": {"actions": part, "state": part}}))
    return PolicyOptions(statistics=str(path))


OTHERS = [entry for entry in entries() if entry.role is Role.VLA and entry.convention != "increments"]


@pytest.mark.parametrize("entry", OTHERS, ids=lambda entry: entry.name)
def test_the_family_decides_which_statistics_a_policy_is_undone_with(tmp_path: Path, entry: SubjectEntry):
    """openpi: ``use_quantile_norm = model_type != PI0``; OpenVLA, CogACT: q01 and q99; Octo: mean, std."""
    by_percentiles = entry.name.startswith(("openvla", "cogact", "embodied-cot", "pi0-fast"))
    policy = written(tmp_path, **WIDE)
    if entry.name == "rt-1-x":  # its actions are not normalised
        with pytest.raises(UsageError, match=r"policy\.statistics_kind"):
            statistics_for(policy, convention_of(entry.convention), entry)
        return
    found = statistics_for(policy, convention_of(entry.convention), entry)
    assert found.undo(np.full((1, 14), 0.5)) == pytest.approx(PERCENTILES if by_percentiles else MEAN_STD)


MOMENTS = StatisticsKind.MOMENTS
DECIDED = {
    "octo-bridge": MEAN_STD,
    **dict.fromkeys(("openvla-bridge", "openvla-libero", "openvla-oft-libero", "cogact-bridge"), PERCENTILES),
}
OPEN = ("pi0-base", "pi0-base-raw", "pi0-aloha", "pi0-libero", "pi0-droid", "rt-1-x")
"""Conventions of families that normalise differently, or not at all."""


@pytest.mark.parametrize("convention", DECIDED)
def test_without_a_family_the_convention_decides(tmp_path: Path, convention: str):
    policy = dataclasses.replace(written(tmp_path, **WIDE), convention=convention)
    assert statistics_for(policy).undo(np.full(14, 0.5)) == pytest.approx(DECIDED[convention])


@pytest.mark.parametrize("convention", OPEN)
def test_where_the_convention_does_not_decide_both_kinds_are_a_question(tmp_path: Path, convention: str):
    policy = dataclasses.replace(written(tmp_path, **WIDE), convention=convention)
    with pytest.raises(UsageError, match=r"which statistics .*available: mean-std .*percentiles \(q01"):
        statistics_for(policy)
    policy = dataclasses.replace(written(tmp_path, **WIDE | {"q01": None}), convention=convention)
    assert statistics_for(policy).undo(np.full(14, 0.5)) == pytest.approx(MEAN_STD)


@pytest.mark.parametrize("convention", ["", *DECIDED, *OPEN])
def test_the_user_decides_before_all(tmp_path: Path, convention: str):
    policy = dataclasses.replace(written(tmp_path, **WIDE), convention=convention)
    for kind, value in ((StatisticsKind.MOMENTS, MEAN_STD), (StatisticsKind.PERCENTILES, PERCENTILES)):
        chosen = statistics_for(dataclasses.replace(policy, statistics_kind=kind))
        assert chosen.undo(np.full(14, 0.5)) == pytest.approx(value)


@given(st.lists(st.floats(-3, 3), min_size=4, max_size=4), st.integers(0, 100))
@settings(max_examples=50, deadline=None)
def test_openpi_undoes_the_same(values: list, seed: int):
    """The formulae of openpi's `transforms.Unnormalize`, with its 1e-6; the last number is constant."""
    rng, x = np.random.default_rng(seed), np.array(values)
    mean, std = rng.normal(size=4), np.append(rng.uniform(0.01, 2, 3), 0.0)
    q01, q99 = mean, mean + std
    moments = checked_statistics(StatisticsKind.MOMENTS, mean, std, "here")
    assert np.allclose(moments.undo(x), x * (std + 1e-6) + mean, rtol=0, atol=4e-6)
    percentiles = checked_statistics(StatisticsKind.PERCENTILES, q01, q99, "here")
    assert np.allclose(percentiles.undo(x), (x + 1) / 2 * (q99 - q01 + 1e-6) + q01, rtol=0, atol=4e-6)
    assert moments.undo(x)[3] == percentiles.undo(x)[3] == mean[3]


@pytest.mark.parametrize(
    ("changes", "kind", "words"),
    [
        (
            {"std": [0.3] * 4 + [-0.3] * 3},
            "mean-std",
            r"norm_stats\.json: actions\.std\[4\]; expected 0 or more",
        ),
        ({"std": [0.0] * 7}, "mean-std", r"actions\.std: no number .* varies; expected a number above 0"),
        ({"std": [0.3] * 6}, "mean-std", r"actions: the lists differ in length; got \{'mean': 7, 'std': 6"),
        ({"mean": [0.1] * 6 + ["x"]}, "mean-std", r"actions\.mean\[6\]; expected a finite number; got 'x'"),
        ({"mean": [0.1] * 6 + [True]}, "mean-std", r"actions\.mean\[6\]; expected a finite number; got True"),
        ({"mean": [[0.1] * 7]}, "mean-std", r"actions\.mean\[0\]; expected a finite number"),
        ({"mean": []}, "mean-std", r"actions\.mean; expected a list of numbers"),
        ({"mean": None}, "mean-std", r"lacks statistics; expected mean and std; available: std, q01, q99"),
        (
            {"q99": [1.0, -0.5] + [1.0] * 5},
            "percentiles",
            r"actions\.q99\[1\]; expected q01 or more; got",
        ),
        ({"q01": [1.0] * 7, "q99": [-0.2] * 7}, "percentiles", r"actions\.q99\[0\]; expected q01 or more"),
        ({"q01": [1.0] * 7}, "percentiles", r"no number .* varies; expected a number above its q01"),
        ({"mask": [True] * 6}, "percentiles", r"the lists differ in length; got .*'mask': 6"),
        ({"mask": [1] * 7}, "percentiles", r"actions\.mask; expected a list of true and false"),
        ({"mask": [False] * 7}, "percentiles", r"no number .* varies"),
    ],
)
def test_statistics_that_mirror_motions_are_refused(tmp_path: Path, changes: dict, kind: str, words: str):
    policy = dataclasses.replace(written(tmp_path, **changes), statistics_kind=StatisticsKind(kind))
    with pytest.raises(InputError, match=words):
        statistics_for(policy)


def test_numbers_that_are_constant_or_masked_are_not_wrong(tmp_path: Path):
    """openpi's files are padded with zeros; OpenVLA's gripper is outside of the mask."""
    padded = written(tmp_path, mean=[0.1] * 7 + [0.0] * 25, std=[0.3] * 7 + [0.0] * 25)
    found = statistics_for(dataclasses.replace(padded, convention="pi0-base", statistics_kind=MOMENTS))
    assert np.array_equal(found.undo(np.ones(32))[7:], np.zeros(25))
    masked = written(tmp_path, q99=[1.0] * 6 + [-1.0], mask=[True] * 6 + [False])
    found = statistics_for(dataclasses.replace(masked, convention="openvla-bridge"))
    assert found.undo(np.full(7, 0.5)) == pytest.approx([PERCENTILES] * 6 + [0.5])


def test_too_few_statistics_for_the_convention_are_refused_before_the_first_action(tmp_path: Path):
    policy = dataclasses.replace(written(tmp_path), convention="pi0-aloha", statistics_kind=MOMENTS)
    with pytest.raises(InputError, match=r"does not fit pi0-aloha; expected at least 14 numbers; got 7"):
        statistics_for(policy)


def test_a_version_shows_which_statistics_were_undone(tmp_path: Path):
    moments = statistics_for(dataclasses.replace(written(tmp_path), convention="octo-bridge"))
    percentiles = statistics_for(dataclasses.replace(written(tmp_path), convention="openvla-bridge"))
    versions = {with_statistics("1", one) for one in (None, moments, percentiles)}
    assert len(versions) == 3
    assert "1" in versions
    assert with_statistics("1", moments) == with_statistics("1", dataclasses.replace(moments))


def test_the_text_of_a_convention_which_versions_are_hashes_of_has_no_kind_of_statistics():
    assert "statistics" not in repr(convention_of("pi0-base"))


def test_statistics_of_other_numbers_are_refused():
    with pytest.raises(InputError):
        Statistics.from_moments(np.zeros(8), np.ones(8)).undo(np.zeros((1, 7)))


def test_a_state_may_be_constant_and_actions_may_not() -> None:
    zeros = np.zeros(7)
    constant = checked_statistics(StatisticsKind.MOMENTS, zeros, zeros, "here", varies=False)
    assert not constant.undo(zeros).any()
    with pytest.raises(InputError, match="no number of the training data varies"):
        checked_statistics(StatisticsKind.MOMENTS, zeros, zeros, "here")
