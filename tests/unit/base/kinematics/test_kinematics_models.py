"""The standard geometries against an independent source, and which of them a pose fits."""

from __future__ import annotations

import numpy as np
import pytest

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.kinematics import Kinematics, pose_to_transform
from embodied_iqa.base.kinematics.models import UR_MODELS, PoseDeviation, flange_pose, nearest_model

MODELS = list(UR_MODELS.values())


def _random_q(count: int) -> np.ndarray:
    return np.random.default_rng(11).uniform(-2 * np.pi, 2 * np.pi, (count, 6))


@pytest.mark.parametrize("name", UR_MODELS)
def test_every_model_agrees_with_the_peer(name: str) -> None:
    peer = pytest.importorskip("ur_analytic_ik", reason="publishes no wheel for Python 3.12")
    arm = getattr(peer, name.lower())
    for q in _random_q(200):
        np.testing.assert_allclose(flange_pose(UR_MODELS[name], q), arm.forward_kinematics(*q), atol=1e-9)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_pose_without_kernels_is_that_of_the_kernels(model: object) -> None:
    q = _random_q(50)
    expected = Kinematics(geometry=model).forward(q)
    np.testing.assert_allclose([flange_pose(model, row) for row in q], expected, atol=1e-12)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_pose_of_a_model_fits_that_model(model: object) -> None:
    for q in _random_q(50):
        found, deviation = nearest_model(q, flange_pose(model, q))
        assert found is model
        assert deviation.distance_m < 1e-12


def test_no_two_models_are_alike() -> None:
    lengths = [model.table[:, :2].ravel() for model in MODELS]
    apart = [np.abs(a - b).max() for i, a in enumerate(lengths) for b in lengths[:i]]
    assert min(apart) > 0.01


def test_deviation_is_distance_and_angle() -> None:
    A = pose_to_transform([0.1, 0.2, 0.3, 0.4, -0.5, 0.6])
    B = A @ pose_to_transform([0.003, 0.0, -0.004, 0.0, np.radians(0.25), 0.0])
    deviation = PoseDeviation.between(A, B)
    assert deviation.distance_m == pytest.approx(0.005)
    assert deviation.angle_rad == pytest.approx(np.radians(0.25))
    assert str(deviation) == "5.0 mm and 0.25 degrees"


@pytest.mark.parametrize("q", [np.zeros(5), np.full(6, np.nan), np.zeros((2, 6))])
def test_bad_configuration_is_a_usage_error(q: np.ndarray) -> None:
    with pytest.raises(UsageError, match="six finite angles"):
        flange_pose(MODELS[0], q)
