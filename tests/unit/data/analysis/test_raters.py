"""Agreement between people against published worked examples and the package krippendorff."""

from __future__ import annotations

import krippendorff
import numpy as np
import pytest

from embodied_iqa.data.analysis.raters import Scale, cohen_kappa, krippendorff_alpha

NAN = np.nan
# K. Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), section C: four observers, twelve units
PUBLISHED = np.array([
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
    [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
])  # fmt: skip


@pytest.mark.parametrize(
    ("scale", "alpha"), [(Scale.NOMINAL, 0.743), (Scale.ORDINAL, 0.815), (Scale.INTERVAL, 0.849)]
)
def test_alpha_of_the_published_example(scale: Scale, alpha: float) -> None:
    found = krippendorff_alpha(PUBLISHED, scale)
    assert found.value == pytest.approx(alpha, abs=5e-4)
    assert (found.units, found.raters) == (11, 4)
    assert found.low < found.value < found.high


def test_alpha_of_two_observers_and_binary_data() -> None:
    # the same paper, section A: ten articles
    ratings = np.array([[0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]], np.float64)
    assert krippendorff_alpha(ratings, Scale.NOMINAL).value == pytest.approx(0.095, abs=5e-4)


@pytest.mark.parametrize("scale", Scale)
@pytest.mark.parametrize("missing", [0.0, 0.2, 0.6])
@pytest.mark.parametrize(("raters", "units", "most"), [(2, 40, 2), (3, 25, 5), (7, 12, 9)])
def test_alpha_is_that_of_the_peer(scale: Scale, missing: float, raters: int, units: int, most: int) -> None:
    rng = np.random.default_rng(raters)
    truth = rng.integers(0, most, units)
    drawn = np.where(rng.random((raters, units)) < 0.4, rng.integers(0, most, (raters, units)), truth)
    ratings = np.where(rng.random((raters, units)) < missing, NAN, drawn)
    peer = krippendorff.alpha(ratings, level_of_measurement=str(scale))
    assert krippendorff_alpha(ratings, scale).value == pytest.approx(peer, abs=1e-12)


def test_kappa_of_a_published_example() -> None:
    # 50 proposals: both yes 20, first only 5, second only 10, neither 15 (kappa 0.4)
    pairs = [(1, 1)] * 20 + [(1, 0)] * 5 + [(0, 1)] * 10 + [(0, 0)] * 15
    first, second = np.array(pairs, np.float64).T
    found = cohen_kappa(first, second)
    assert found.value == pytest.approx(0.4)
    assert found.observed == pytest.approx(0.7)
    assert found.low < 0.4 < found.high


def test_identities() -> None:
    rng = np.random.default_rng(0)
    rating = rng.integers(0, 3, 60).astype(np.float64)
    assert cohen_kappa(rating, rating).value == 1.0
    for scale in Scale:
        assert krippendorff_alpha(np.stack([rating, rating]), scale).value == 1.0
    other = np.roll(rating, 1)
    # names of categories do not matter on a nominal scale
    renamed = krippendorff_alpha(7 - 2 * np.stack([rating, other]), Scale.NOMINAL)
    assert renamed.value == pytest.approx(krippendorff_alpha(np.stack([rating, other]), Scale.NOMINAL).value)
    # ordinal ratings: only their order counts
    grown = krippendorff_alpha(np.exp(np.stack([rating, other])), Scale.ORDINAL)
    assert grown.value == pytest.approx(krippendorff_alpha(np.stack([rating, other]), Scale.ORDINAL).value)


def test_interval_covers_and_narrows() -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 3, 4000).astype(np.float64)
    noise = np.where(rng.random(4000) < 0.3, rng.integers(0, 3, 4000), truth)
    few, many = (krippendorff_alpha(np.stack([truth, noise])[:, :n], Scale.NOMINAL) for n in (40, 4000))
    assert few.high - few.low > 5 * (many.high - many.low)
    # two of three random ratings differ from the truth: observed agreement 0.8, alpha 0.7
    assert many.low < 0.7 < many.high


def test_nothing_to_compare() -> None:
    one = np.array([[1.0, 2.0, NAN]])
    assert np.isnan(krippendorff_alpha(one, Scale.NOMINAL).value)
    constant = krippendorff_alpha(np.ones((2, 5)), Scale.NOMINAL)
    assert np.isnan(constant.value)
    assert constant.observed == 1.0
    assert np.isnan(cohen_kappa(np.ones(3), np.ones(3)).value)
    assert cohen_kappa(np.array([NAN]), np.array([1.0])).units == 0
