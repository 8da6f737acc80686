"""Failure detectors of the literature: invariances, independent references, coverage, an injected change."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import multivariate_normal

from embodied_iqa.base.errors import InputError
from embodied_iqa.runs.peers.comparison import FunctionalBand, WatchedRun, compare_detectors, conformal_bound
from embodied_iqa.runs.peers.scores import (
    Perceptron,
    action_entropy,
    fit_classifier,
    fit_consistency,
    fit_density,
    fit_distillation,
    squared_mmd,
)
from embodied_iqa.runs.peers.signals import Signals, read_signals, write_signals
from embodied_iqa.runs.peers.stored import ComparedDetectors, read_detectors, write_detectors

Array = NDArray[np.float64]
IMAGES, SIZE, COPIES, WAY = 6, 8, 5, 6


def drawn(
    rng: np.random.Generator, shift: float = 0.0, spread_m: float = 0.001, jump_m: float = 0.0
) -> Signals:
    """Return a run; a change begins with its third image."""
    changed = (np.arange(IMAGES) >= 2)[:, None]
    embeddings = rng.normal(size=(IMAGES, SIZE)) + shift * changed
    way = np.linspace(0, 0.3, WAY) + jump_m * changed * rng.normal(size=(IMAGES, 1))
    spread = np.where(changed, spread_m, 0.001)[..., None]
    chunks = way[:, None] + spread * rng.normal(size=(IMAGES, COPIES, WAY))
    verdict = 2.0 * changed[:, 0] * bool(shift)
    time_s = np.arange(IMAGES) / 15
    return Signals(time_s, embeddings, chunks, verdict / 2, verdict / 2, verdict, np.ones(4))


def runs_of(scenes: int, seed: int = 0) -> list[WatchedRun]:
    """Return for each scene a clean run, and a distorted one that is wrong in every second scene."""
    rng = np.random.default_rng(seed)
    runs = []
    for scene in range(scenes):
        runs.append(WatchedRun(drawn(rng), str(scene), clean=True, wrong=False, failed=False))
        wrong = scene % 2 == 0
        changed = drawn(rng, 4.0, 0.02, 0.1) if wrong else drawn(rng)
        runs.append(WatchedRun(changed, str(scene), clean=False, wrong=wrong, failed=wrong))
    return runs


@pytest.fixture(scope="module")
def clean() -> list[Signals]:
    rng = np.random.default_rng(3)
    return [drawn(rng) for _ in range(20)]


def test_the_gradient_of_the_perceptron_leads_to_a_fit() -> None:
    x = np.linspace(-2, 2, 60)[:, None]
    network = Perceptron.drawn(x, 8, 1, 0)
    before = np.square(network(x) - np.sin(x)).mean()
    after = np.square(network.fitted(x, np.sin(x))(x) - np.sin(x)).mean()
    assert after < 0.1 * before
    labels = (x > 0.5).astype(float)
    assert ((network.fitted(x, labels, logistic=True)(x) > 0) == (labels > 0.5)).all()


def test_entropy_is_that_of_scipy_and_ignores_where_the_chunks_lead() -> None:
    run = drawn(np.random.default_rng(1))
    entropy = action_entropy(run)
    centred = run.chunks[0] - run.chunks[0].mean(axis=0)
    covariance = centred.T @ centred / (COPIES - 1) + 1e-6 * np.eye(WAY)
    assert entropy[0] == pytest.approx(multivariate_normal(cov=covariance).entropy())
    moved = dataclasses.replace(run, chunks=run.chunks + 0.5)
    assert action_entropy(moved) == pytest.approx(entropy)
    wider = dataclasses.replace(run, chunks=3 * run.chunks)
    assert (action_entropy(wider) > entropy).all()
    shuffled = dataclasses.replace(run, chunks=run.chunks[:, ::-1])
    assert action_entropy(shuffled) == pytest.approx(entropy)


def test_density_is_that_of_a_normal_distribution_and_ignores_units(clean: list[Signals]) -> None:
    run = clean[0]
    inputs = np.concatenate([one.embeddings for one in clean])
    scaled = (inputs - inputs.mean(axis=0)) / (inputs.std(axis=0) + 1e-6)
    covariance = scaled.T @ scaled / len(scaled)
    # with one component less than dimensions the rest is a single variance: the covariance itself
    expected = -multivariate_normal(np.zeros(SIZE), covariance).logpdf(scaled[:IMAGES])
    assert fit_density(clean)(run) == pytest.approx(expected, rel=1e-4)

    def converted(one: Signals) -> Signals:
        return dataclasses.replace(one, embeddings=1000 * one.embeddings + 7)

    converted_score = fit_density([converted(one) for one in clean])(converted(run))
    assert converted_score == pytest.approx(expected, rel=1e-3)


def test_mmd_is_the_mean_over_all_pairs_and_zero_for_equal_batches() -> None:
    rng = np.random.default_rng(5)
    first, second = rng.normal(size=(4, 3)), rng.normal(1, 1, size=(5, 3))

    def kernel(one: Array, other: Array) -> float:
        return float(np.mean([[math.exp(-float(np.sum((a - b) ** 2)) / 2) for b in other] for a in one]))

    expected = kernel(first, first) + kernel(second, second) - 2 * kernel(first, second)
    assert squared_mmd(first, second, 1.0) == pytest.approx(expected)
    assert squared_mmd(second, first, 1.0) == pytest.approx(expected)
    assert squared_mmd(first, first[::-1], 1.0) == pytest.approx(0.0, abs=1e-12)


def test_accumulated_scores_never_fall_and_start_at_the_first_image(clean: list[Signals]) -> None:
    run = drawn(np.random.default_rng(8), 3.0, 0.02, 0.1)
    consistency = fit_consistency(clean)(run)
    assert consistency[0] == 0.0
    assert (np.diff(consistency) >= 0).all()
    failed = np.array([False] * len(clean) + [True])
    assert (np.diff(fit_classifier([*clean, run], failed)(run)) > 0).all()


@pytest.mark.parametrize("fit", [fit_density, fit_distillation])
def test_a_score_of_clean_runs_rises_with_an_injected_change(fit: object, clean: list[Signals]) -> None:
    score = fit(clean)  # type: ignore[operator]
    values = score(drawn(np.random.default_rng(9), 6.0))
    usual = np.concatenate([score(one) for one in clean])
    assert values[2:].min() > np.quantile(usual, 0.99)
    assert values[2:].min() > values[:2].max()


def test_the_bound_covers_exchangeable_runs_and_has_no_value_for_too_few() -> None:
    rng = np.random.default_rng(11)
    alarms = [
        rng.normal(size=30).max() > conformal_bound(rng.normal(size=(39, 30)).max(axis=1), 0.1)
        for _ in range(3000)
    ]
    # exactly 4 of 40 on average; three standard errors of 3,000 repetitions
    assert np.mean(alarms) == pytest.approx(0.1, abs=0.017)
    assert conformal_bound(np.zeros(18), 0.05) == math.inf
    assert conformal_bound(np.arange(19.0), 0.05) == 18.0


def test_a_band_does_not_depend_on_the_unit_of_a_score() -> None:
    rng = np.random.default_rng(12)
    clean, score = list(rng.normal(size=(9, 5))), rng.normal(size=5)
    margins = FunctionalBand.of(clean).margins(score)
    converted = FunctionalBand.of([8 * one - 3 for one in clean]).margins(8 * score - 3)
    assert converted == pytest.approx(margins)
    assert len(FunctionalBand.of(clean).margins(score[:2])) == 2


def test_every_detector_sees_an_injected_change_when_it_begins() -> None:
    results = {one.name: one for one in compare_detectors(runs_of(100))}
    assert len(results) == 7
    for one in results.values():
        assert (one.runs, one.wrong) == (200, 50)
        assert one.auc is not None
        assert one.auc > 0.95, one.name
        assert one.stopped is not None
        assert one.stopped > 0.8, one.name
        assert one.stopped_at_first is not None
        assert one.stopped_at_first < 0.1
        assert one.clean_alarms is not None
        assert one.clean_alarms < 0.15
        assert one.detection_s is not None
        assert 2 / 15 - 1e-9 <= one.detection_s <= 4 / 15


def test_too_few_scenes_are_refused() -> None:
    with pytest.raises(InputError, match="too few scenes"):
        compare_detectors(runs_of(4))


def test_signals_and_results_are_stored_as_they_were(tmp_path: Path) -> None:
    run = drawn(np.random.default_rng(2))
    write_signals(run, tmp_path / "a.npz")
    again = read_signals(tmp_path / "a.npz")
    for item in dataclasses.fields(Signals):
        assert np.array_equal(getattr(again, item.name), getattr(run, item.name))
    (tmp_path / "b.npz").write_bytes(b"PK damaged")
    with pytest.raises(InputError, match="cannot read the signals"):
        read_signals(tmp_path / "b.npz")
    assert read_detectors(tmp_path) is None
    compared = ComparedDetectors(0.5, 10, tuple(compare_detectors(runs_of(10), rate=0.5)))
    write_detectors(compared, tmp_path)
    assert read_detectors(tmp_path) == compared
