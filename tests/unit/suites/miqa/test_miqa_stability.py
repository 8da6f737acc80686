"""Stability of labels under the choice of models."""

from __future__ import annotations

import numpy as np
import pytest

from embodied_iqa.base.errors import InputError
from embodied_iqa.models.vision.predictions import VisionTask
from embodied_iqa.suites.miqa.database import ModelMeasures
from embodied_iqa.suites.miqa.stability import PUBLISHED, stability_of

DET = VisionTask.DETECTION


def measures(consistency: np.ndarray, accuracy: np.ndarray, performance: object = None) -> ModelMeasures:
    images, models = consistency.shape
    weights = np.linspace(0.5, 0.9, models) if performance is None else np.array(performance, np.float64)
    return ModelMeasures([str(number) for number in range(images)], consistency, accuracy, weights)


def test_identical_models_agree_perfectly() -> None:
    rng = np.random.default_rng(0)
    one, other = (np.tile(rng.random((200, 1)), (1, 10)) for _ in range(2))
    found = stability_of(DET, measures(one, other))
    assert [row.label for row in found.rows] == ["consistency", "accuracy", "composite"]
    assert (found.small, found.trials, found.distinct) == (2, 100, 45)
    for row in found.rows:
        assert row.srcc.mean == row.plcc.mean == pytest.approx(1)
        assert row.rmse.mean == pytest.approx(0, abs=1e-12)
        assert row.srcc.std == pytest.approx(0, abs=1e-12)


def test_independent_models_do_not_agree() -> None:
    rng = np.random.default_rng(1)
    found = stability_of(DET, measures(rng.random((2000, 10)), rng.random((2000, 10))))
    for row in found.rows:
        assert abs(row.srcc.mean) < 0.05
        assert abs(row.plcc.mean) < 0.05
        assert row.rmse.mean > 0.1


def test_two_models_by_hand() -> None:
    one = np.array([[0.0, 0.2], [0.5, 0.1], [1.0, 0.9]])
    found = stability_of(DET, measures(one, one, [1.0, 0.5]), trials=5)
    assert (found.small, found.distinct) == (1, 1)
    row = found.rows[0]
    assert row.srcc.mean == pytest.approx(0.5)
    assert row.plcc.mean == pytest.approx(np.corrcoef(one.T)[0, 1])
    assert row.rmse.mean == pytest.approx(np.sqrt(np.mean((one[:, 0] - one[:, 1]) ** 2)))


def test_constant_labels_have_no_correlation_and_are_counted() -> None:
    found = stability_of(DET, measures(np.ones((9, 5)), np.random.default_rng(2).random((9, 5))))
    consistency, accuracy, _ = found.rows
    assert consistency.undefined == 100
    assert consistency.srcc.mean is None
    assert consistency.rmse.mean == 0
    assert accuracy.undefined == 0


@pytest.mark.parametrize("shape", [(10, 1), (0, 5)])
def test_too_few_are_refused(shape: tuple[int, int]) -> None:
    with pytest.raises(InputError, match="needs models to split"):
        stability_of(DET, measures(np.zeros(shape), np.zeros(shape), np.ones(shape[1])))


def test_the_published_table_is_complete() -> None:
    assert len(PUBLISHED) == 9
    assert PUBLISHED[VisionTask.SEGMENTATION, "composite"] == (0.959, 0.960, 0.077)
