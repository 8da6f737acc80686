"""Automatic exposure and white balance."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embodied_iqa.world.simulation.camera.exposure import FULL_SCALE_S, exposure_of, settled, step

LIGHT = st.floats(0.001, 1.0)


def grey(level: float) -> np.ndarray:
    return np.full(3, level)


@given(LIGHT, LIGHT, LIGHT)
def test_time_and_gain_make_the_brightness_within_their_limits(red: float, green: float, blue: float) -> None:
    state = settled(np.array([red, green, blue]), 0)
    exposure = exposure_of(state)
    assert exposure.scale == pytest.approx(math.exp(state.log_scale))
    assert 1e-4 <= exposure.time_s <= 0.033
    assert 1.0 <= exposure.gain <= 8.0
    assert all(0.77 < gain < 1.29 for gain in (exposure.red, exposure.blue))


@given(LIGHT, LIGHT)
def test_less_light_gets_no_shorter_time_and_no_smaller_gain(one: float, other: float) -> None:
    bright, dim = (exposure_of(settled(grey(level), 0)) for level in (max(one, other), min(one, other)))
    assert dim.time_s >= bright.time_s - 1e-12
    assert dim.gain >= bright.gain - 1e-12


@pytest.mark.parametrize("level", [0.05, 0.2, 0.5, 0.9])
def test_the_image_becomes_mid_grey(level: float) -> None:
    """128 of 255 on the sRGB curve."""
    exposure = exposure_of(settled(grey(level), 0))
    assert level * exposure.gain * exposure.time_s / FULL_SCALE_S == pytest.approx(
        ((128 / 255 + 0.055) / 1.055) ** 2.4, 0.02
    )


def test_controls_lag_behind_the_light() -> None:
    """After one time constant of the exposure 63 % of a change are done, whatever the number of steps."""
    begin, end = settled(grey(0.5), 0), settled(grey(0.1), 0)
    once = step(begin, grey(0.1), 150_000_000)
    state = begin
    for stamp_ns in range(10_000_000, 160_000_000, 10_000_000):
        state = step(state, grey(0.1), stamp_ns)
    share = (once.log_scale - begin.log_scale) / (end.log_scale - begin.log_scale)
    assert share == pytest.approx(1 - math.exp(-1))
    assert state.log_scale == pytest.approx(once.log_scale)


def test_white_balance_makes_a_yellowish_image_less_so() -> None:
    exposure = exposure_of(settled(np.array([0.5, 0.4, 0.25]), 0))
    assert exposure.red < 1 < exposure.blue
    before, after = 0.5 / 0.25, 0.5 * exposure.red / (0.25 * exposure.blue)
    assert 1 < after < before
