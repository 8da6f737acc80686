"""Each statistic answers to its own fault, equals a plain derivation, and ignores the thread count."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy import ndimage
from skimage import data

from embodied_iqa.base.errors import InputError
from embodied_iqa.quality.gate import image_filters
from embodied_iqa.quality.gate.image_filters import compile_for
from embodied_iqa.quality.gate.image_statistics import ImageStatistics, Statistic, measure, measure_halving
from embodied_iqa.quality.metrics.learned import compiled_texture
from embodied_iqa.quality.metrics.learned.inputs import InputKind, NetworkInput

Image = NDArray[np.uint8]


@pytest.fixture(scope="module", params=["astronaut", "coffee"])
def image(request: pytest.FixtureRequest) -> Image:
    photograph = getattr(data, request.param)()
    return np.ascontiguousarray(cv2.resize(photograph, (640, 480), interpolation=cv2.INTER_AREA))


def blurred(image: Image, sigma: float) -> Image:
    return cv2.GaussianBlur(image, (0, 0), sigma)


def noisy(image: Image, sigma: float) -> Image:
    noise = np.random.default_rng(1).normal(0, sigma, image.shape[:2])
    return np.clip(image + noise[..., None], 0, 255).round().astype(np.uint8)


def colour_noisy(image: Image, sigma: float) -> Image:
    ycc = cv2.cvtColor(image, cv2.COLOR_RGB2YCrCb).astype(np.float64)
    ycc[..., 1:] += np.random.default_rng(1).normal(0, sigma, ycc[..., 1:].shape)
    return cv2.cvtColor(np.clip(ycc, 0, 255).round().astype(np.uint8), cv2.COLOR_YCrCb2RGB)


def jpeg(image: Image, quality: float) -> Image:
    _, code = cv2.imencode(".jpg", image[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, int(quality)])
    return np.ascontiguousarray(cv2.imdecode(code, cv2.IMREAD_COLOR)[..., ::-1])


def brighter(image: Image, shift: float) -> Image:
    return np.clip(image.astype(np.int64) + int(shift), 0, 255).astype(np.uint8)


def stretched(image: Image, factor: float) -> Image:
    return np.clip((image - 128.0) * factor + 128, 0, 255).round().astype(np.uint8)


def peppered(image: Image, density: float) -> Image:
    out = image.copy()
    hit = np.random.default_rng(1).random(image.shape[:2]) < density
    out[hit] = np.random.default_rng(2).choice([0, 255], size=(int(hit.sum()), 1))
    return out


def quantised(image: Image, levels: float) -> Image:
    step = 256 / levels
    return (np.floor(image / step) * step + step / 2).astype(np.uint8)


def pixelated(image: Image, factor: float) -> Image:
    size = int(image.shape[1] / factor), int(image.shape[0] / factor)
    small = cv2.resize(image, size, interpolation=cv2.INTER_NEAREST)
    return cv2.resize(small, image.shape[1::-1], interpolation=cv2.INTER_NEAREST)


def with_lost_blocks(image: Image, count: float) -> Image:
    out = image.copy()
    for index in np.random.default_rng(1).permutation(20 * 15)[: int(count)]:
        y, x = 32 * (index // 20), 32 * (index % 20)
        out[y : y + 32, x : x + 32] = (200, 40, 90)
    return out


def with_shifted_green(image: Image, shift: float) -> Image:
    out = image.copy()
    out[..., 1] = np.roll(image[..., 1], int(shift), axis=1)
    return out


def bent(image: Image, gamma: float) -> Image:
    table = np.round(255 * (np.arange(256) / 255) ** gamma).astype(np.uint8)
    return cv2.LUT(image, table)


def coloured(image: Image, factor: float) -> Image:
    ycc = cv2.cvtColor(image, cv2.COLOR_RGB2YCrCb).astype(np.float64)
    ycc[..., 1:] = (ycc[..., 1:] - 128) * factor + 128
    return cv2.cvtColor(np.clip(ycc, 0, 255).round().astype(np.uint8), cv2.COLOR_YCrCb2RGB)


RISING: list[tuple[Statistic, Callable[[Image, float], Image], list[float]]] = [
    (Statistic.SHARPNESS, blurred, [6, 3, 1.5, 0.8]),
    (Statistic.DETAIL, blurred, [2, 1.2, 0.7]),
    (Statistic.SHARPNESS, noisy, [2, 5, 10]),
    (Statistic.NOISE, noisy, [1, 2, 4, 8, 16]),
    (Statistic.BLOCKINESS, jpeg, [90, 40, 20, 10, 5]),
    (Statistic.EXPOSURE, brighter, [-120, -60, 0, 60, 120]),
    (Statistic.CLIPPED_BRIGHT, brighter, [60, 90, 120]),
    (Statistic.CLIPPED_DARK, brighter, [-60, -90, -120]),
    (Statistic.CONTRAST, stretched, [0.1, 0.4, 0.8, 1.0, 1.5]),
    (Statistic.SPECKS, peppered, [0, 0.002, 0.01, 0.05]),
    (Statistic.TONES, quantised, [64, 170, 230, 256]),
    (Statistic.REPEATED, pixelated, [1, 1.4, 2, 4]),
    (Statistic.FLAT, with_lost_blocks, [0, 2, 8, 30]),
    (Statistic.CHROMA, coloured, [0.1, 0.4, 1.0, 2.0]),
    (Statistic.CHROMA_DETAIL, colour_noisy, [2, 5, 10]),
    (Statistic.CHROMA_DETAIL, with_shifted_green, [0, 1, 3]),
    (Statistic.VIVIDNESS, coloured, [0.1, 0.4, 1.0, 2.0]),
    (Statistic.TONES, bent, [2.0, 1.5, 1.1, 1.0]),
]


@pytest.mark.parametrize(("statistic", "damage", "amounts"), RISING)
def test_a_statistic_rises_with_its_cause(
    image: Image,
    statistic: Statistic,
    damage: Callable[[Image, float], Image],
    amounts: list[float],
) -> None:
    values = [measure(damage(image, amount)).value(statistic) for amount in amounts]
    assert values == sorted(values)
    assert values[0] < values[-1]


@pytest.mark.parametrize("sigma", [2.0, 5.0, 10.0, 20.0])
def test_noise_on_a_flat_image_is_its_standard_deviation(sigma: float) -> None:
    gray = np.full((480, 640, 3), 128, np.uint8)
    assert measure(noisy(gray, sigma)).noise == pytest.approx(sigma, rel=0.04)


def test_noise_hardly_sees_edges() -> None:
    columns = np.arange(640) // 40 % 2 * 180 + 30
    stripes = np.repeat(columns.astype(np.uint8)[None, :, None], 480, axis=0).repeat(3, axis=2)
    assert measure(stripes).noise == 0
    assert measure(noisy(stripes, 5)).noise == pytest.approx(5, rel=0.1)


def test_a_uniform_image_has_plain_values() -> None:
    statistics = measure(np.full((48, 64, 3), 128, np.uint8))
    assert (statistics.sharpness, statistics.contrast, statistics.noise, statistics.specks) == (0, 0, 0, 0)
    assert (statistics.blockiness, statistics.detail, statistics.tones, statistics.flat) == (1, 1, 0, 1)
    assert statistics.exposure == pytest.approx(128 / 255)
    assert (statistics.chroma, statistics.chroma_detail, statistics.vividness) == (0, 1, 0)


def plain_values(image: Image) -> dict[Statistic, float]:
    """The statistics that have a one-line definition, in plain NumPy and SciPy."""
    gray = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY).astype(np.int64)
    laplacian = ndimage.laplace(gray, mode="mirror")
    steps = [np.abs(np.diff(gray, axis=axis)) for axis in (0, 1)]
    border = np.concatenate([steps[0][7::8].ravel(), steps[1][:, 7::8].ravel()])
    inside = np.concatenate([np.delete(s, np.s_[7::8], axis=axis).ravel() for axis, s in enumerate(steps)])
    height, width = (side // 16 for side in gray.shape)
    small = cv2.resize(image, (gray.shape[1] // 2, gray.shape[0] // 2), interpolation=cv2.INTER_AREA)
    far = np.abs(cv2.cvtColor(small, cv2.COLOR_RGB2YCrCb)[..., 1:].astype(np.int64) - 128).sum(axis=2)
    response = np.abs(ndimage.convolve(gray, np.outer([1, -2, 1], [1, -2, 1]), mode="mirror")).clip(max=255)
    calm = (gray.size + 1) // 2
    cells = [gray[16 * y : 16 * y + 16, 16 * x : 16 * x + 16] for y in range(height) for x in range(width)]
    return {
        Statistic.SHARPNESS: np.mean(laplacian**2),
        Statistic.EXPOSURE: gray.mean() / 255,
        Statistic.CONTRAST: gray.std() / 255,
        Statistic.CLIPPED_DARK: np.mean(gray <= 1),
        Statistic.CLIPPED_BRIGHT: np.mean(gray >= 254),
        Statistic.BLOCKINESS: (border.mean() + 0.01) / (inside.mean() + 0.01),
        Statistic.FLAT: np.mean([np.ptp(cell) == 0 for cell in cells]),
        Statistic.VIVIDNESS: min(np.sort(far, axis=None)[::-1][far.size // 200], 255),
        Statistic.NOISE: np.sort(response, axis=None)[:calm].sum() / calm / (6 * 0.32466),
        Statistic.SPECKS: np.mean(np.abs(gray - ndimage.median_filter(gray, 3, mode="nearest")) > 24),
    }


@given(
    st.tuples(st.integers(16, 70), st.integers(16, 70)).flatmap(
        lambda shape: arrays(np.uint8, (*shape, 3), elements=st.sampled_from([0, 1, 40, 41, 90, 254, 255]))
    )
)
@settings(max_examples=40, deadline=None)
def test_statistics_equal_their_plain_definitions(image: Image) -> None:
    statistics = measure(image)
    for statistic, expected in plain_values(image).items():
        assert statistics.value(statistic) == pytest.approx(float(expected), rel=1e-9, abs=1e-12), statistic


def test_statistics_of_photographs_equal_their_plain_definitions(image: Image) -> None:
    statistics = measure(with_lost_blocks(jpeg(image, 30), 9))
    for statistic, expected in plain_values(with_lost_blocks(jpeg(image, 30), 9)).items():
        assert statistics.value(statistic) == pytest.approx(float(expected), rel=1e-9), statistic


@given(arrays(np.uint8, (24, 40, 3)))
@settings(max_examples=60, deadline=None)
def test_statistics_are_finite_and_in_range(image: Image) -> None:
    statistics = measure(image)
    assert all(np.isfinite(statistics.value(statistic)) for statistic in Statistic)
    for share in ("exposure", "clipped_dark", "clipped_bright", "specks", "repeated", "flat", "tones"):
        assert 0 <= getattr(statistics, share) <= 1
    assert 0 <= statistics.contrast <= 0.5 + 1e-12


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the compiled code, in use until the end of the test."""
    monkeypatch.setattr(image_filters, "_kernels", None)
    monkeypatch.setattr(compiled_texture, "kernels", None)
    compile_for([640 * 480, 1280 * 720])
    assert compiled_texture.kernels is not None
    return image_filters._kernels


@pytest.mark.parametrize("size", [(16, 16), (17, 33), (33, 1026), (40, 2077), (225, 319), (600, 17)])
def test_compiled_statistics_are_those_of_opencv_bit_by_bit(
    size: tuple[int, int], compiled: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(39)
    noise = random.integers(0, 256, (*size, 3), np.uint8)
    for image in (noise, noise // 128 * 255, cv2.resize(data.astronaut(), size[::-1])):
        monkeypatch.setattr(image_filters, "_kernels", compiled)
        found = measure(image)
        monkeypatch.setattr(image_filters, "_kernels", None)
        assert found == measure(image)


def test_nothing_is_compiled_after_the_start(compiled: Any) -> None:
    def compiled_types() -> int:
        code = [*vars(compiled).values(), *vars(compiled_texture.kernels).values()]
        return sum(len(one.signatures) for one in code if hasattr(one, "signatures"))

    before, image = compiled_types(), np.zeros((720, 1280, 3), np.uint8)
    received = image.copy()
    received.setflags(write=False)
    for one in (image, received, image[:, ::-1]):
        _, half = measure_halving(one)
        NetworkInput(InputKind.FINE).measure(half)
    assert compiled_types() == before


def test_code_is_compiled_for_large_images_where_numba_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_filters, "_kernels", None)
    compile_for([640 * 480])
    assert image_filters._kernels is None
    with monkeypatch.context() as patch:
        patch.setattr("importlib.util.find_spec", {"numba": None}.get)
        compile_for([1280 * 720])
    assert image_filters._kernels is None


@pytest.fixture
def thread_counts() -> Iterator[list[int]]:
    before = cv2.getNumThreads()
    yield [1, 2, 5]
    cv2.setNumThreads(before)


def test_statistics_do_not_depend_on_threads_or_memory_layout(image: Image, thread_counts: list[int]) -> None:
    results: set[ImageStatistics] = set()
    for count in thread_counts:
        cv2.setNumThreads(count)
        results.add(measure(noisy(image, 3)))
        results.add(measure(np.asfortranarray(noisy(image, 3))))
    assert len(results) == 1


def test_the_image_is_not_changed(image: Image) -> None:
    read_only = image.copy()
    read_only.setflags(write=False)
    measure(read_only)
    np.testing.assert_array_equal(read_only, image)


@pytest.mark.parametrize(
    "bad",
    [
        np.zeros((32, 32), np.uint8),
        np.zeros((32, 32, 4), np.uint8),
        np.zeros((15, 32, 3), np.uint8),
        np.zeros((32, 32, 3), np.float32),
    ],
)
def test_other_images_are_refused(bad: Image) -> None:
    with pytest.raises(InputError, match="at least 16 x 16"):
        measure(bad)
