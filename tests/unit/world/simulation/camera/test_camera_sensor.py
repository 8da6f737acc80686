"""The sensor against the laws of photon noise, measured as EMVA 1288 does."""

import numpy as np
import pytest
from numpy.typing import NDArray

from embodied_iqa.imaging.images.frame import View
from embodied_iqa.world.simulation.camera.exposure import Exposure
from embodied_iqa.world.simulation.camera.sensor import Raw, Sensor

LEVELS = (20, 60, 100, 140, 180, 220)


def sensor(*, mosaic: bool) -> Sensor:
    """A narrow sensor; its resolution is what decides how many pixels make a value."""
    return Sensor(View.TOP, 1280, 128) if mosaic else Sensor(View.TOP, 640, 128)


def flat(level: int, of: Sensor) -> NDArray[np.uint8]:
    return np.full((of.height_px, of.width_px, 3), level, np.uint8)


def raw(of: Sensor, level: int, seed: int, gain: float = 1.0) -> Raw:
    light = np.ones((of.height_px, of.width_px), np.float32)
    return of.expose(flat(level, of), Exposure(0.0156 / gain, gain), (seed,), light)


def green(values: Raw) -> NDArray[np.float64]:
    return (values[..., 1] if values.ndim == 3 else values[::2, 1::2]).astype(np.float64)


@pytest.mark.parametrize("gain", [1.0, 4.0])
@pytest.mark.parametrize("mosaic", [True, False])
def test_photon_transfer(gain: float, *, mosaic: bool) -> None:
    """The variance over time is the gain times the mean, plus read noise and rounding."""
    of = sensor(mosaic=mosaic)
    means, variances = [], []
    for level in LEVELS:
        one, two = (green(raw(of, level, seed, gain)) for seed in (1, 2))
        means.append((one.mean() + two.mean()) / 2)
        variances.append(np.var(one - two) / 2)
    slope, offset = np.polyfit(means, variances, 1)
    electrons = 10**3.8 / gain  # 38 dB; a combined value has two green pixels, and the well of one red pixel
    samples = 1.0 if mosaic else 2.0
    assert slope == pytest.approx(1023 / electrons / samples, rel=0.04)
    read_dn = 1023 / electrons * 10**3.8 / 10 ** (68 / 20) / np.sqrt(samples)
    assert offset == pytest.approx(read_dn**2 + 1 / 12, abs=0.03 * max(variances))


def test_combined_pixels_have_less_noise() -> None:
    relative = []
    for of in (sensor(mosaic=True), sensor(mosaic=False)):
        one, two = (green(raw(of, 140, seed)) for seed in (1, 2))
        relative.append(np.std(one - two) / one.mean())
    assert relative[0] / relative[1] == pytest.approx(np.sqrt(2), rel=0.03)


def test_the_fixed_pattern_stays_and_differs_between_cameras() -> None:
    of = sensor(mosaic=True)
    mean = np.mean([green(raw(of, 180, seed)) for seed in range(60)], axis=0)
    rows = mean - mean.mean(axis=0)  # without the columns' offsets
    assert np.std(rows) / mean.mean() == pytest.approx(0.008, rel=0.15)
    other = Sensor(View.SIDE, of.width_px, of.height_px)
    elsewhere = np.mean([green(raw(other, 180, seed)) for seed in range(60, 120)], axis=0)
    assert abs(np.corrcoef(mean.ravel(), elsewhere.ravel())[0, 1]) < 0.1


def test_noise_follows_from_the_seed_alone() -> None:
    of = sensor(mosaic=True)
    assert np.array_equal(raw(of, 100, 5), raw(of, 100, 5))
    one, two = green(raw(of, 100, 5)), green(raw(of, 100, 6))
    assert abs(np.corrcoef(one.ravel(), two.ravel())[0, 1]) < 0.15, "only the fixed pattern is common"


def test_a_full_pixel_clips() -> None:
    of = sensor(mosaic=True)
    light = np.ones((of.height_px, of.width_px), np.float32)
    values = of.expose(flat(255, of), Exposure(0.033, 4.0), (0,), light)
    assert set(np.unique(values)) == {1023}
