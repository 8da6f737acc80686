"""Statistics of texture, plain and compiled, equal their definitions, written in NumPy with float64."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from embodied_iqa.quality.metrics.learned import compiled_texture
from embodied_iqa.quality.metrics.learned.compiled_texture import use_compiled_texture
from embodied_iqa.quality.metrics.learned.input_statistics import edges, percentiles
from embodied_iqa.quality.metrics.learned.texture import moments, mscn_statistics, spectrum, steps

Array = NDArray[np.float64]
RNG = np.random.default_rng(5)
NOISE = RNG.uniform(0, 255, (60, 80))
PLANES = {
    "noise": NOISE,
    "smooth": cv2.GaussianBlur(NOISE, (0, 0), 3),
    "flat": np.full((60, 80), 77.0),
    "half black": np.where(np.arange(80) < 40, 0.0, NOISE),
}


@pytest.fixture(autouse=True, params=["plain", "compiled"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(compiled_texture, "kernels", None)
    if request.param == "compiled":
        use_compiled_texture()
    return str(request.param)


@pytest.fixture(params=PLANES)
def plane(request: pytest.FixtureRequest) -> Array:
    return PLANES[request.param].astype(np.float32).astype(np.float64)


def test_moments_are_mean_and_deviation(plane: Array) -> None:
    assert moments(plane.astype(np.float32)) == pytest.approx((plane.mean(), plane.std()), abs=1e-4)


def test_edges_equal_their_definition(plane: Array) -> None:
    across, down = (cv2.Scharr(plane, cv2.CV_64F, *axes) / 32 for axes in ((1, 0), (0, 1)))
    slope, bend = np.hypot(across, down), np.abs(cv2.Laplacian(plane, cv2.CV_64F))
    expected = np.log1p([slope.mean(), slope.std(), bend.mean(), bend.std()])
    found = edges(plane.astype(np.float32))
    assert np.allclose(found[-4:], expected, atol=1e-4)
    assert np.expm1(found[3]) == pytest.approx(np.percentile(slope, 50, method="nearest"), abs=1e-3)


def test_normalised_luminance_equals_its_definition(plane: Array) -> None:
    blurred, squares = (cv2.GaussianBlur(one, (7, 7), 7 / 6) for one in (plane, plane * plane))
    deviation = np.sqrt(np.maximum(squares - blurred * blurred, 0))
    normal = (plane - blurred) / (deviation + 1)
    power = (normal**2).mean()
    expected = [np.abs(normal).mean(), power**0.5, np.abs(normal).mean() ** 2 / (power + 1e-6)]
    expected += [np.log1p(deviation).mean(), np.log1p(deviation).std()]
    for down, right in ((0, 1), (1, 0), (1, 1)):
        product = normal[down:, right:] * normal[: 60 - down, : 80 - right]
        above, below = np.maximum(product, 0), np.minimum(product, 0)
        expected += [product.mean(), (above**2).mean() ** 0.5, (below**2).mean() ** 0.5]
    found = mscn_statistics(plane.astype(np.float32))
    assert np.allclose(found, expected, rtol=2e-3, atol=2e-3)  # the variance is a difference in float32


@pytest.mark.parametrize("shape", [(60, 80), (61, 80), (60, 81), (61, 81)])
@pytest.mark.parametrize("waves", ["noise", "chequers"])
def test_spectrum_of_any_shape_has_the_power_of_each_direction(shape: tuple[int, int], waves: str) -> None:
    rows, columns = np.indices(shape)
    plane = RNG.uniform(0, 255, shape) if waves == "noise" else 255.0 * ((rows + columns) % 2)
    plane = plane.astype(np.float32).astype(np.float64)
    power = np.abs(np.fft.rfft2(plane - plane.mean())) ** 2
    fy, fx = np.meshgrid(np.fft.fftfreq(shape[0]), np.fft.rfftfreq(shape[1]), indexing="ij")
    sector = np.minimum(np.mod(np.arctan2(fy, fx), np.pi) / np.pi * 4, 3).astype(int)
    expected = np.array([power[(sector == index) & (np.hypot(fx, fy) > 0.1)].sum() for index in range(4)])
    assert np.allclose(spectrum(plane.astype(np.float32))[12:], expected / expected.sum(), atol=1e-4)


def test_spectrum_has_the_power_of_the_image(plane: Array) -> None:
    power = np.abs(np.fft.rfft2(plane - plane.mean())) ** 2 / plane.size
    fy, fx = np.meshgrid(np.fft.fftfreq(60), np.fft.rfftfreq(80), indexing="ij")
    ring = np.minimum(np.hypot(fx, fy) / 0.5 * 12, 11).astype(int)
    expected = [np.log1p(power[ring == index].mean()) for index in range(12)]
    assert np.allclose(spectrum(plane.astype(np.float32))[:12], expected, atol=1e-4)


def test_steps_count_equal_neighbours(plane: Array) -> None:
    plane = np.round(plane)
    found = steps(plane.astype(np.uint8))
    for axis in (0, 1):
        step = np.abs(np.diff(plane, axis=axis))
        line = step.mean(axis=1 - axis)
        shares = [(step < limit).mean() for limit in (1, 2, 4)]
        expected = [*shares, *np.log1p([line.std(), line.max(), line.min()])]
        assert np.allclose(found[6 * axis : 6 * axis + 6], expected, atol=1e-5)


def test_percentiles_of_a_small_image_are_those_of_all_its_pixels(plane: Array) -> None:
    expected = np.percentile(plane, (1, 5, 25, 50, 75, 95, 99), method="nearest")
    assert np.allclose(percentiles(plane.astype(np.float32)), expected)


@pytest.mark.parametrize("size", [(180, 240), (240, 320), (480, 640)])
def test_percentiles_of_a_large_image_meet_every_column(size: tuple[int, int]) -> None:
    columns = np.tile(np.arange(size[1], dtype=np.float32), (size[0], 1))
    expected = np.percentile(columns, (1, 5, 25, 50, 75, 95, 99))
    assert np.allclose(percentiles(columns), expected, atol=0.01 * size[1])


def test_spectrum_has_the_direction_of_the_waves() -> None:
    waves = np.sin(np.arange(80) * 2 * np.pi * 0.2)
    across = np.tile(waves, (80, 1)).astype(np.float32)
    of_columns, of_rows = spectrum(across)[12:], spectrum(np.ascontiguousarray(across.T))[12:]
    assert of_columns[0] == pytest.approx(1, abs=0.01)
    assert of_rows[2] == pytest.approx(1, abs=0.01)
