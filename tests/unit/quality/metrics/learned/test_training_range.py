"""The range of a trained metric: a damaged file is an error in one line, and what is no number is outside."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from embodied_iqa.base.errors import InputError
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
    assert load_training_range(tmp_path) is None
    RANGE.save(tmp_path)
    loaded = load_training_range(tmp_path)
    assert loaded is not None
    values = RNG.normal(size=(5, 8))
    np.testing.assert_array_equal(loaded.distances(values), RANGE.distances(values))


@pytest.mark.parametrize("kept", [0, 200, -30])
def test_a_range_that_was_cut_is_an_input_error(tmp_path: Path, kept: int) -> None:
    RANGE.save(tmp_path)
    content = (tmp_path / RANGE_FILE).read_bytes()
    (tmp_path / RANGE_FILE).write_bytes(content[:kept])
    with pytest.raises(InputError, match=f"cannot read .*{RANGE_FILE}"):
        load_training_range(tmp_path)


def test_a_range_with_a_changed_byte_is_an_input_error(tmp_path: Path) -> None:
    RANGE.save(tmp_path)
    content = bytearray((tmp_path / RANGE_FILE).read_bytes())
    content[100] ^= 255
    (tmp_path / RANGE_FILE).write_bytes(content)
    with pytest.raises(InputError, match=f"cannot read .*{RANGE_FILE}"):
        load_training_range(tmp_path)


def test_an_input_that_is_not_a_number_is_outside() -> None:
    metric = TrainedMetric.__new__(TrainedMetric)
    metric._range = RANGE  # a network would be trained for this alone
    assert metric.outside_training(np.full(8, np.nan)) is True
    assert metric.outside_training(RANGE.mean) is False
