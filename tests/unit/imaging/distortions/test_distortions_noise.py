"""Noise: its moments, its independence, and scikit-image's noise of the same parameters."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from skimage import util

from embodied_iqa.imaging.distortions import distort, entry
from embodied_iqa.imaging.distortions.image import Image
from embodied_iqa.imaging.distortions.random_fields import gaussian_field, normal_quantiles


def difference(distorted: Image, reference: Image) -> np.ndarray:
    return (distorted.astype(float) - reference) / 255


@pytest.mark.parametrize("level", range(1, 6))
def test_white_noise_has_its_variance_in_every_channel(level: int, flat: Image):
    (variance,) = entry("12").parameters[level - 1]
    noise = difference(distort(flat, "12", level, np.random.default_rng(level)), flat)
    peer = difference(
        util.img_as_ubyte(util.random_noise(flat, "gaussian", var=variance, rng=level, clip=True)), flat
    )
    assert noise.var(axis=(0, 1)) == pytest.approx(np.full(3, variance), rel=0.02)
    assert noise.var() == pytest.approx(peer.var(), rel=0.02)
    assert abs(noise.mean()) < 4 * math.sqrt(variance / noise.size)
    assert np.abs(np.corrcoef(noise.reshape(-1, 3).T) - np.eye(3)).max() < 0.01
    assert abs(np.corrcoef(noise[:, 1:].ravel(), noise[:, :-1].ravel())[0, 1]) < 0.01


def test_the_table_of_the_normal_is_normal():
    quantiles = normal_quantiles()
    assert quantiles.var() == pytest.approx(1.0, abs=1e-12)
    assert quantiles.mean() == pytest.approx(0.0, abs=1e-12)
    assert (quantiles**4).mean() == pytest.approx(3.0, abs=0.01)
    field = gaussian_field(np.random.default_rng(1), (300, 300, 3), 2000.0)
    assert stats.kstest(field.ravel()[::17] / 2000.0, "norm").pvalue > 0.01


@pytest.mark.parametrize("level", range(1, 6))
def test_color_noise_has_its_variance_in_ycbcr(level: int, flat: Image):
    (variance,) = entry("13").parameters[level - 1]
    noise = 255 * difference(distort(flat, "13", level, np.random.default_rng(level)), flat)
    to_ycbcr = (
        np.array([[65.481, 128.553, 24.966], [-37.797, -74.203, 112.0], [112.0, -93.786, -18.214]]) / 255
    )
    ycbcr = noise.reshape(-1, 3) @ to_ycbcr.T / 255
    rounding = 0.5 / 255**2 / 3
    assert np.all(np.abs(ycbcr.var(axis=0) - variance) < 0.04 * variance + rounding)
    assert np.abs(np.corrcoef(ycbcr.T) - np.eye(3)).max() < 0.05


@pytest.mark.parametrize("level", range(1, 6))
def test_impulse_noise_hits_its_share_equally_black_and_white(level: int, flat: Image):
    (density,) = entry("14").parameters[level - 1]
    out = distort(flat, "14", level, np.random.default_rng(level))
    hits = out != flat
    spread = math.sqrt(density * (1 - density) / out.size)
    assert hits.mean() == pytest.approx(density, abs=4.5 * spread)
    assert set(np.unique(out[hits])) == {0, 255}
    assert (out[hits] == 255).mean() == pytest.approx(0.5, abs=2.5 / math.sqrt(hits.sum()))
    both = (hits[..., 0] & hits[..., 1]).mean()
    assert both < 3 * density**2 + 1e-4


@pytest.mark.parametrize("level", range(1, 6))
@pytest.mark.parametrize("gray", [40, 90, 150])
def test_multiplicative_noise_grows_with_the_value(level: int, gray: int):
    (variance,) = entry("15").parameters[level - 1]
    reference = np.full((300, 300, 3), gray, np.uint8)
    noise = difference(distort(reference, "15", level, np.random.default_rng(level)), reference)
    expected = variance * (gray / 255) ** 2
    assert noise.var() == pytest.approx(expected, rel=0.03, abs=2 / 12 / 255**2)
    assert abs(noise.mean()) < 5 * math.sqrt(expected / noise.size) + 0.05 / 255


def test_multiplicative_noise_leaves_black_black():
    black = np.zeros((64, 64, 3), np.uint8)
    assert not distort(black, "15", 5, np.random.default_rng(0)).any()


def test_gaussian_denoise_is_smoother_than_the_noise_it_starts_from(flat: Image):
    (variance,) = entry("16").parameters[0]
    noise = difference(distort(flat, "16", 1, np.random.default_rng(0)), flat)
    assert noise.var() == pytest.approx(variance / (4 * math.pi * 2.0**2) + 1 / 12 / 255**2, rel=0.1)


@pytest.mark.parametrize("level", range(1, 5))
def test_miqd_noise_has_its_sigma_where_nothing_saturates(level: int, flat: Image):
    (sigma,) = entry("miqd:gaussian-noise").parameters[level - 1]
    out = distort(flat, "miqd:gaussian-noise", level, np.random.default_rng(0)).astype(float)
    quartiles = np.diff(np.quantile(out, [0.4, 0.6]))[0] / 255
    assert quartiles == pytest.approx(2 * 0.2533 * sigma, rel=0.02, abs=1.01 / 255)
