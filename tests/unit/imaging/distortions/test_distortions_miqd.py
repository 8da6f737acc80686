"""MIQD's types against their formulas."""

from __future__ import annotations

import numpy as np
import pytest
from skimage import color

from embodied_iqa.imaging.distortions import distort, entry
from embodied_iqa.imaging.distortions.image import Image
from embodied_iqa.imaging.distortions.miqd_environment import plasma

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("level", range(1, 6))
def test_contrast_shrinks_around_each_channels_mean(level: int, photograph: Image):
    (factor,) = entry("miqd:contrast").parameters[level - 1]
    means = photograph.mean(axis=(0, 1))
    expected = (photograph - means) * factor + means
    assert np.abs(distort(photograph, "miqd:contrast", level, RNG) - expected).max() <= 0.51


@pytest.mark.parametrize("level", range(1, 6))
def test_darkness_takes_from_the_value_of_hsv(level: int, photograph: Image):
    (amount,) = entry("miqd:darkness").parameters[level - 1]
    hsv = color.rgb2hsv(photograph)
    hsv[..., 2] = np.maximum(hsv[..., 2] - amount, 0)
    ours = distort(photograph, "miqd:darkness", level, RNG)
    assert np.abs(ours - 255 * color.hsv2rgb(hsv)).max() <= 0.6


@pytest.mark.parametrize("decay", [1.3, 1.6, 3.0])
def test_plasma_fills_its_range_and_decay_sets_how_rough_it_is(decay: float):
    cloud = plasma(np.random.default_rng(2), (180, 250), decay)
    assert cloud.shape == (180, 250)
    assert (cloud.min(), cloud.max()) == (0.0, 1.0)
    smoother = plasma(np.random.default_rng(2), (180, 250), decay + 0.5)
    bends = [np.abs(np.diff(field, 2, axis=1)).mean() for field in (smoother, cloud)]
    assert bends[0] < bends[1]


def test_fog_brightens_the_dark_and_keeps_the_range(photograph: Image):
    black_and_white = np.zeros((100, 100, 3), np.uint8)
    black_and_white[:, 50:] = 255
    out = distort(black_and_white, "miqd:fog", 4, np.random.default_rng(1))
    assert out[:, :50].mean() > 40
    assert out[:, 50:].mean() > out[:, :50].mean()
    assert np.ptp(out[..., 0].astype(int) - out[..., 2]) == 0


def test_snow_is_white_streaks_that_fall(photograph: Image):
    night = np.zeros((240, 320, 3), np.uint8)
    along, across = [], []
    for seed in range(8):
        out = distort(night, "miqd:snow", 1, np.random.default_rng(seed)).astype(float)[..., 0]
        assert 0 < (out > 10).mean() < 0.3
        along.append(np.corrcoef(out[:-2].ravel(), out[2:].ravel())[0, 1])
        across.append(np.corrcoef(out[:, :-2].ravel(), out[:, 2:].ravel())[0, 1])
    assert np.mean(along) > 2 * np.mean(across)


def test_glass_moves_pixels_no_farther_than_its_reach():
    edge = np.zeros((100, 100, 3), np.uint8)
    edge[:, 50:] = 255
    out = distort(edge, "miqd:glass-blur", 2, np.random.default_rng(1))
    assert not out[:, :45].any()
    assert (out[:, 55:] == 255).all()
    assert len(np.unique(out[:, 49])) > 3
