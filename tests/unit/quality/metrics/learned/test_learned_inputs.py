"""What learned metrics measure of an image: finite, of one length, and changed by what they stand for."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.quality.metrics.learned.differences import image_differences
from embodied_iqa.quality.metrics.learned.input_statistics import gradient, image_statistics, small_image
from embodied_iqa.quality.metrics.learned.inputs import InputKind, NetworkInput
from embodied_iqa.quality.metrics.learned.texture import mscn_statistics, spectrum, steps


def scene(seed: int = 0, size: tuple[int, int] = (240, 320)) -> NDArray[np.uint8]:
    rng = np.random.default_rng(seed)
    image = np.full((*size, 3), 130, np.uint8)
    for _ in range(12):
        x, y = int(rng.integers(size[1])), int(rng.integers(size[0]))
        colour = tuple(int(value) for value in rng.integers(0, 255, 3))
        cv2.rectangle(image, (x, y), (x + 40, y + 30), colour, -1)
    return cv2.GaussianBlur(image, (0, 0), 1.0)


FLAT = np.full((64, 64, 3), 7, np.uint8)


@pytest.mark.parametrize("size", [(180, 240), (720, 1280), (48, 64)])
def test_statistics_have_one_length_and_are_finite(size: tuple[int, int]) -> None:
    found = image_statistics(scene(size=size))
    assert found.shape == image_statistics(FLAT).shape
    assert found.dtype == np.float32
    assert np.isfinite(found).all()
    assert np.isfinite(image_statistics(FLAT)).all()


def test_gradients_do_not_depend_on_where_things_are_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    plane, scharr = scene()[..., 0].astype(np.float32), cv2.Scharr
    found = []
    for offset in (0, 4, 20, 36):

        def moved(*words: Any, offset: int = offset, **options: Any) -> NDArray[np.float32]:
            values = scharr(*words, **options)
            buffer = np.empty(values.nbytes + 128, np.uint8)
            first = -buffer.ctypes.data % 64 + offset
            copy = buffer[first : first + values.nbytes].view(np.float32).reshape(values.shape)
            copy[:] = values
            return copy

        monkeypatch.setattr(cv2, "Scharr", moved)
        found.append(gradient(plane))
    assert all(np.array_equal(one, found[0]) for one in found)


def test_statistics_are_those_of_the_small_image() -> None:
    large = scene(size=(720, 960))
    assert np.array_equal(image_statistics(large), image_statistics(small_image(large)))


@pytest.mark.parametrize("size", [(720, 1280), (480, 640), (1080, 1920), (200, 250)])
def test_small_image_is_near_the_mean_of_the_area(size: tuple[int, int]) -> None:
    large = scene(size=size)
    expected = cv2.resize(large.astype(np.float64), (240, 180), interpolation=cv2.INTER_AREA)
    found = small_image(large)
    assert found.shape == (180, 240, 3)
    assert np.abs(found - expected).mean() < 0.5
    assert np.abs(found - expected).max() < 16  # at edges: pixels of the halved image are divided


def test_differences_of_an_image_from_itself_vanish_and_grow_with_noise() -> None:
    reference = scene()
    noise = np.random.default_rng(1).normal(size=reference.shape)
    weak, strong = (np.clip(reference + s * noise, 0, 255).astype(np.uint8) for s in (8, 40))
    none, little, much = (image_differences(one, reference) for one in (reference, weak, strong))
    assert np.isfinite(np.stack([none, little, much, image_differences(FLAT, FLAT).astype(float)])).all()
    assert none[0] == 0.0
    assert 0 < little[0] < much[0]
    own = len(image_statistics(reference))
    np.testing.assert_allclose(none[-own:], 0, atol=1e-5)
    np.testing.assert_allclose(
        much[-own:], image_statistics(strong) - image_statistics(reference), rtol=1e-4, atol=1e-4
    )


def test_root_mean_square_is_that_of_the_small_images() -> None:
    reference, dark = scene(), scene() // 2
    a, b = (small_image(one).astype(float) for one in (reference, dark))
    expected = np.log1p(np.sqrt(np.square(a - b).mean()))
    assert image_differences(dark, reference)[0] == pytest.approx(expected, rel=1e-5)


def test_texture_tells_blur_from_noise() -> None:
    gray = cv2.cvtColor(scene(), cv2.COLOR_RGB2GRAY).astype(np.float32)
    blurred = cv2.GaussianBlur(gray, (0, 0), 4.0)
    noisy = gray + np.random.default_rng(0).normal(0, 25, gray.shape).astype(np.float32)
    rings = [spectrum(one)[8:12].mean() for one in (blurred, gray, noisy)]
    assert rings == sorted(rings)
    ratios = [mscn_statistics(one)[2] for one in (gray, noisy)]
    assert ratios[1] > ratios[0]
    assert ratios[1] == pytest.approx(2 / np.pi, abs=0.1)  # of a Gaussian


def test_equal_neighbours_are_counted_by_axis() -> None:
    rows = np.repeat(np.arange(0, 240, 10, dtype=np.uint8)[:, None], 30, axis=1)
    found = steps(rows)
    assert found[:3].tolist() == [0, 0, 0]
    assert found[6:9].tolist() == [1, 1, 1]


def test_input_of_a_network_is_checked_and_has_a_version() -> None:
    image = NetworkInput(InputKind.IMAGE, size_px=(32, 24))
    assert image.measure(scene()).shape == (24, 32, 3)
    assert image.version() != NetworkInput(InputKind.IMAGE, size_px=(64, 48)).version()
    differences = NetworkInput(InputKind.DIFFERENCES)
    with pytest.raises(InputError, match="compares with a reference"):
        differences.measure(scene())
    with pytest.raises(InputError, match="differ in size"):
        differences.measure(scene(), FLAT)
    with pytest.raises(InputError, match="not an image"):
        NetworkInput(InputKind.STATISTICS).measure(np.zeros((20, 20, 3), np.float32))  # type: ignore[arg-type]
