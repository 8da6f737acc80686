"""The range of a trained metric: a damaged file is an error in one line, and what is no number is outside."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.quality.metrics.learned import training_range
from embodied_iqa.quality.metrics.learned.trained import TrainedMetric
from embodied_iqa.quality.metrics.learned.training_range import (
    RANGE_FILE,
    TrainingRange,
    load_training_range,
)

RNG = np.random.default_rng(0)
RANGE = TrainingRange.of(RNG.normal(size=(50, 8)), RNG.normal(size=(10, 8)))


@pytest.mark.parametrize(("images", "values", "axes"), [(50, 8, 8), (60, 40, 15), (12, 40, 3), (1, 5, 1)])
def test_the_axes_are_the_widest_of_the_covariance(images: int, values: int, axes: int) -> None:
    """Of more and of fewer images than values."""
    learned = np.random.default_rng(1).normal(size=(images, values))
    found = TrainingRange.of(learned, learned[:0])
    assert found.axes.shape == (axes, values)
    standard = (learned - found.mean) / found.spread
    covariance = standard.T @ standard
    widest = np.linalg.eigvalsh(covariance)[::-1][:axes]
    np.testing.assert_allclose(found.axes @ covariance @ found.axes.T, np.diag(widest), atol=1e-9)
    np.testing.assert_allclose(found.axes @ found.axes.T, np.eye(axes), atol=1e-9)


def test_a_stored_range_measures_as_before(tmp_path: Path) -> None:
    assert load_training_range(tmp_path, of_images=False) is None
    RANGE.save(tmp_path)
    loaded = load_training_range(tmp_path, of_images=False)
    assert loaded is not None
    values = RNG.normal(size=(5, 8))
    np.testing.assert_array_equal(loaded.distances(values), RANGE.distances(values))


def test_flat_and_noisy_images_are_outside_those_of_a_camera(tmp_path: Path) -> None:
    """Also where the means of all regions are those of the training, as of gray and of noise."""
    learned, validation = smooth_images(90), smooth_images(30)
    TrainingRange.of(learned, validation).save(tmp_path)
    found = load_training_range(tmp_path, of_images=True)
    assert found is not None
    assert np.mean(found.distances(smooth_images(40)) <= 1) >= 0.8
    noise = RNG.integers(0, 256, (96, 128, 3), np.uint8)
    assert (found.distances(np.stack([np.full_like(noise, 128), noise])) > 1).all()


def test_a_sample_has_every_kind_of_an_order_that_repeats_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_range, "_MOST_IMAGES", 40)
    images = smooth_images(120)
    images[1::3] = 255
    found = TrainingRange.of(images, images)
    assert found.distances(images[1:2])[0] <= 1


def test_a_range_of_an_earlier_description_of_images_is_not_used(tmp_path: Path) -> None:
    RANGE.save(tmp_path)
    assert load_training_range(tmp_path, of_images=True) is None


def smooth_images(count: int) -> NDArray[np.uint8]:
    coarse = RNG.integers(60, 200, (count, 6, 8, 3), np.uint8)
    return np.stack([cv2.resize(one, (128, 96), interpolation=cv2.INTER_CUBIC) for one in coarse])


@pytest.mark.parametrize("kept", [0, 200, -30])
def test_a_range_that_was_cut_is_an_input_error(tmp_path: Path, kept: int) -> None:
    RANGE.save(tmp_path)
    content = (tmp_path / RANGE_FILE).read_bytes()
    (tmp_path / RANGE_FILE).write_bytes(content[:kept])
    with pytest.raises(InputError, match=f"cannot read .*{RANGE_FILE}"):
        load_training_range(tmp_path, of_images=False)


def test_a_range_with_a_changed_byte_is_an_input_error(tmp_path: Path) -> None:
    RANGE.save(tmp_path)
    content = bytearray((tmp_path / RANGE_FILE).read_bytes())
    content[100] ^= 255
    (tmp_path / RANGE_FILE).write_bytes(content)
    with pytest.raises(InputError, match=f"cannot read .*{RANGE_FILE}"):
        load_training_range(tmp_path, of_images=False)


def test_an_input_that_is_not_a_number_is_outside() -> None:
    metric = TrainedMetric.__new__(TrainedMetric)
    metric._range = RANGE  # a network would be trained for this alone
    assert metric.outside_training(np.full(8, np.nan)) is True
    assert metric.outside_training(RANGE.mean) is False
