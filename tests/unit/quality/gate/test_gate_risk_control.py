"""Thresholds keep their promise on fresh scenes; frames that are counted as independent do not."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.quality.gate.risk_control import (
    Promise,
    SceneFrames,
    betting_p_value,
    control_risk,
    p_value,
)

FRAMES = 30


Frames = tuple[np.ndarray, np.ndarray]
Risk = Callable[[float], float]
"""By threshold."""


def draw(rng: np.random.Generator, count: int) -> Frames:
    """Predictions and losses of scenes that differ: in some the policy loses much more than is predicted."""
    hardness = rng.beta(0.4, 2.0, count)[:, None]
    predicted = rng.uniform(0, 1, (count, FRAMES))
    return predicted, np.clip(predicted * hardness * 2, 0, 1) * (rng.uniform(size=predicted.shape) < 0.7)


def scenes_of(rng: np.random.Generator, count: int) -> list[SceneFrames]:
    return [SceneFrames(p, x) for p, x in zip(*draw(rng, count), strict=True)]


def risk_of(frames: Frames) -> Risk:
    """Return the mean loss of all frames that a threshold lets pass, by threshold."""
    predicted, loss = (part.ravel() for part in frames)
    order = predicted.argsort()
    ascending, sums = predicted[order], np.concatenate([[0.0], loss[order].cumsum()])
    return lambda value: float(sums[ascending.searchsorted(value, side="right")] / len(loss))


@pytest.fixture(scope="module")
def fresh_risk() -> Risk:
    return risk_of(draw(np.random.default_rng(99), 20_000))


@pytest.mark.parametrize("risk", [0.03, 0.1])
def test_mean_risk_on_fresh_scenes_is_within_the_promise(fresh_risk: Risk, risk: float) -> None:
    rng = np.random.default_rng(1)
    seen = [fresh_risk(control_risk(scenes_of(rng, 100), Promise(risk)).value) for _ in range(200)]
    error = np.std(seen) / math.sqrt(len(seen))
    assert np.mean(seen) <= risk + 2 * error
    assert np.mean(seen) > risk - 1 / 101 - 3 * error  # and it is not needlessly strict


def test_a_promise_with_confidence_is_rarely_broken(fresh_risk: Risk) -> None:
    rng, promise = np.random.default_rng(2), Promise(0.05, confidence=0.9)
    values = [control_risk(scenes_of(rng, 150), promise).value for _ in range(200)]
    broken = sum(fresh_risk(value) > promise.risk for value in values)
    assert binomtest(broken, len(values), 0.1, alternative="greater").pvalue > 0.01
    assert np.mean([fresh_risk(value) for value in values]) > 0.5 * promise.risk


def test_frames_that_count_as_independent_break_it(fresh_risk: Risk) -> None:
    rng, promise = np.random.default_rng(2), Promise(0.05, confidence=0.9)
    broken = 0
    for _ in range(60):
        frames = [
            SceneFrames(scene.predicted[at : at + 1], scene.loss[at : at + 1])
            for scene in scenes_of(rng, 40)
            for at in range(FRAMES)
        ]
        broken += fresh_risk(control_risk(frames, promise).value) > promise.risk
    assert binomtest(broken, 60, 0.1, alternative="greater").pvalue < 0.01


@pytest.mark.parametrize("promise", [Promise(0.04), Promise(0.04, confidence=0.8)])
def test_the_threshold_is_the_largest_that_holds(promise: Promise) -> None:
    frames = predicted, _ = draw(np.random.default_rng(5), 200)
    risk_at = risk_of(frames)
    found = control_risk([SceneFrames(p, x) for p, x in zip(*frames, strict=True)], promise)
    assert found.seen_risk == pytest.approx(risk_at(found.value))
    assert found.passed == np.mean(predicted <= found.value)
    above = predicted[predicted > found.value].min()
    if promise.confidence is None:
        assert 200 / 201 * risk_at(found.value) + 1 / 201 <= promise.risk
        assert 200 / 201 * risk_at(above) + 1 / 201 > promise.risk
    else:
        assert p_value(np.array([risk_at(above)]), 200, promise.risk)[0] > 0.1


def test_hoeffding_bentkus_is_that_of_the_papers() -> None:
    count, risk, means = 80, 0.1, np.array([0.0, 0.0125, 0.05, 0.0999, 0.1, 0.4, 1.0])
    for mean, found in zip(means, p_value(means, count, risk), strict=True):
        low = min(mean, risk)
        divergence = sum(a * math.log(a / b) for a, b in ((low, risk), (1 - low, 1 - risk)) if a > 0)
        bentkus = math.e * binom.cdf(math.ceil(round(count * mean, 9)), count, risk)
        assert found == pytest.approx(min(math.exp(-count * divergence), bentkus, 1.0))
    assert p_value(np.zeros(1), count, risk)[0] == pytest.approx((1 - risk) ** count)


def test_a_bet_is_the_product_of_its_stakes() -> None:
    rng, risk, error = np.random.default_rng(3), 0.2, 0.1
    losses = rng.beta(0.3, 2.5, 60)
    capital, best, total, squares, variance = 1.0, 1.0, 0.0, 0.0, 0.25
    for number, loss in enumerate(losses, start=1):
        stake = min(1.0, math.sqrt(2 * math.log(1 / error) / (60 * variance)))
        capital *= 1 - stake * (loss - risk)
        best = max(best, capital)
        total += loss
        mean = (0.5 + total) / (number + 1)
        squares += (loss - mean) ** 2
        variance = (0.25 + squares) / (number + 1)
    assert betting_p_value(losses[:, None], risk, error)[0] == pytest.approx(1 / best)


def test_a_bet_against_the_truth_seldom_wins() -> None:
    rng, risk = np.random.default_rng(4), 0.1
    losses = (rng.uniform(size=(120, 4000)) < risk).astype(float)
    wins = int((betting_p_value(losses, risk, 0.1) <= 0.1).sum())
    assert binomtest(wins, 4000, 0.1, alternative="greater").pvalue > 0.01


@pytest.mark.parametrize(
    ("promise", "fewest"),
    [(Promise(0.03), 33), (Promise(0.5), 1), (Promise(0.02, confidence=0.9), 114), (Promise(0.1, 0.9), 22)],
)
def test_the_fewest_scenes_are_named(promise: Promise, fewest: int) -> None:
    assert promise.fewest_scenes == fewest
    if promise.confidence is not None:
        assert (1 - promise.risk) ** fewest <= 1 - promise.confidence < (1 - promise.risk) ** (fewest - 1)
    harmless = [SceneFrames(np.arange(3.0), np.zeros(3))] * (fewest - 1)
    with pytest.raises(InputError, match=f"at least {fewest}; got {fewest - 1}"):
        control_risk(harmless, promise)


def test_harmless_frames_all_pass_and_hopeless_ones_never() -> None:
    harmless = [SceneFrames(np.arange(3.0), np.zeros(3))] * 40
    found = control_risk(harmless, Promise(0.03))
    assert (found.value, found.passed, found.seen_risk) == (2.0, 1.0, 0.0)
    hopeless = [SceneFrames(np.zeros(3), np.ones(3))] * 40
    for promise in (Promise(0.03), Promise(0.1, confidence=0.9)):
        found = control_risk(hopeless, promise)
        assert (found.value, found.passed) == (-math.inf, 0.0)


@given(st.integers(0, 10_000), st.floats(0.02, 0.6))
def test_a_looser_promise_passes_no_less(seed: int, risk: float) -> None:
    scenes = scenes_of(np.random.default_rng(seed), 120)
    for confidence in (None, 0.7):
        strict, loose = (control_risk(scenes, Promise(r, confidence)).value for r in (risk, risk + 0.1))
        assert strict <= loose


def test_the_sentence_says_what_is_not_promised() -> None:
    scenes = scenes_of(np.random.default_rng(5), 150)
    mean = control_risk(scenes, Promise(0.03)).sentence
    assert "at most 0.03" in mean
    assert "150" in mean
    assert "Nothing is promised for a single scene" in mean
    assert "probability 0.9" in control_risk(scenes, Promise(0.03, confidence=0.9)).sentence


@pytest.mark.parametrize(
    ("predicted", "loss"),
    [
        ([], []),
        ([1.0], [0.5, 0.5]),
        ([math.nan], [0.5]),
        ([1.0], [1.5]),
        ([1.0], [-0.1]),
        ([1.0], [math.nan]),
    ],
)
def test_wrong_scenes_are_refused(predicted: list[float], loss: list[float]) -> None:
    with pytest.raises(InputError, match="scene"):
        control_risk([SceneFrames(np.array(predicted), np.array(loss))] * 50, Promise(0.1))


@pytest.mark.parametrize(("risk", "confidence"), [(0.0, None), (1.0, None), (math.nan, None), (0.1, 1.0)])
def test_wrong_promises_are_refused(risk: float, confidence: float | None) -> None:
    with pytest.raises(UsageError, match="wrong"):
        Promise(risk, confidence)
