"""What is kept of the last reference changes no value."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from numpy.typing import NDArray

from embodied_iqa.quality.metrics import built_in, last_image
from embodied_iqa.quality.metrics.last_image import LastImage

Image = NDArray[np.uint8]
NAMES = ["ssim", "ms-ssim", "gmsd", "gmsd-colour", "fsim", "vsi", "vif"]


def image(seed: int) -> Image:
    return np.random.default_rng(seed).integers(0, 256, (192, 201, 3), dtype=np.uint8)


def counted() -> tuple[LastImage[float], list[Image]]:
    calls: list[Image] = []

    def mean(values: Image) -> float:
        calls.append(values)
        return float(values.mean())

    return LastImage(mean), calls


def test_an_equal_image_is_computed_once():
    mean, calls = counted()
    first = image(1)
    assert mean(first) == mean(first.copy()) == mean(first[::-1][::-1]) == first.mean()
    assert len(calls) == 1


def test_an_image_changed_in_place_is_computed_again():
    mean, calls = counted()
    changed = image(1)
    before = mean(changed)
    changed[100, 100, 1] ^= 1
    assert mean(changed) == changed.mean() != before
    changed[100, 100, 1] ^= 1
    assert mean(changed) == before
    assert len(calls) == 3


def test_the_same_bytes_of_another_shape_are_another_image():
    mean, calls = counted()
    mean(np.zeros((4, 6, 3), np.uint8))
    mean(np.zeros((6, 4, 3), np.uint8))
    assert [one.shape for one in calls] == [(4, 6, 3), (6, 4, 3)]


def test_a_large_image_is_not_kept(monkeypatch: pytest.MonkeyPatch):
    mean, calls = counted()
    one = image(1)
    monkeypatch.setattr(last_image, "_LARGEST_BYTES", one.nbytes - 1)
    assert mean(one) == mean(one)
    assert len(calls) == 2


def test_threads_with_different_images_get_their_own_values():
    mean, _ = counted()
    start = threading.Barrier(4)
    wrong: list[int] = []

    def run(seed: int) -> None:
        own = image(seed)
        start.wait()
        wrong.extend(seed for _ in range(50) if mean(own) != own.mean())

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize("name", NAMES)
def test_values_beside_a_kept_reference_are_bit_equal(name: str):
    metric = built_in(name)
    references, distorted = [image(1), image(2)], [image(3), image(4)]
    alone = {}
    for i, reference in enumerate(references):
        for j, other in enumerate(distorted):
            metric.measure(distorted[0], image(9))  # its reference is not the next one
            alone[i, j] = metric.measure(other, reference)
    for i, reference in enumerate(references):
        for j, other in enumerate(distorted):
            assert metric.measure(other, reference) == alone[i, j]


@pytest.mark.parametrize("name", NAMES)
def test_a_reference_changed_in_place_has_its_own_value(name: str):
    metric = built_in(name)
    reference, distorted = image(1), image(3)
    before = metric.measure(distorted, reference)
    reference[:] = image(2)
    assert metric.measure(distorted, reference) == metric.measure(distorted, image(2)) != before
