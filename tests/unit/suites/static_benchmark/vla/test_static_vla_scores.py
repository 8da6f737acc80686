"""Scores of a VLA: identities, worked values, both orders, both angles, the published rows."""

from __future__ import annotations

import numpy as np
import pytest

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.kinematics import rotation_to_rotvec
from embodied_iqa.models.subjects.actions.rotations import euler_xyz_to_rotation
from embodied_iqa.suites.static_benchmark.vla.scores import (
    AngleError,
    Order,
    StepErrors,
    geodesic_rad,
    overall,
    points,
    step_errors,
    task_score,
    wrap_angle_rad,
)

RNG = np.random.default_rng(5)


def _poses(count: int = 50) -> np.ndarray:
    poses = RNG.uniform(-1.0, 1.0, (count, 7))
    poses[:, 6] = RNG.uniform(0.0, 1.0, count)
    return poses


@pytest.mark.parametrize(
    ("error", "expected"),
    [(0.0, 100.0), (1e-9, 100.0), (1e-3, 100.0), (1e-2, 200 / 3), (0.1, 100 / 3), (1.0, 0.0), (7.0, 0.0)],
)
def test_points_at_the_corners_of_the_curve(error: float, expected: float) -> None:
    assert float(points(error)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("error", [np.nan, np.inf, -1e-12])
def test_an_error_that_is_no_distance_is_refused(error: float) -> None:
    with pytest.raises(InputError, match="not a number"):
        points([0.1, error])


@pytest.mark.parametrize("order", Order)
@pytest.mark.parametrize("angles", AngleError)
def test_the_expert_against_itself_has_100(order: Order, angles: AngleError) -> None:
    expert = _poses()
    score = task_score(step_errors(expert, expert), order, angles)
    assert (score.position, score.orientation, score.end_effector) == (100.0, 100.0, 100.0)
    assert score.overall == pytest.approx(100.0)


@pytest.mark.parametrize("order", Order)
def test_one_centimetre_off_has_66_67(order: Order) -> None:
    expert = _poses()
    shift = RNG.normal(size=(50, 3))
    poses = expert.copy()
    poses[:, :3] += 0.01 * shift / np.linalg.norm(shift, axis=1, keepdims=True)
    score = task_score(step_errors(poses, expert), order, AngleError.WRAPPED)
    assert score.position == pytest.approx(66.67, abs=0.004)
    assert (score.orientation, score.end_effector) == (100.0, 100.0)


def test_the_two_orders_are_what_their_names_say() -> None:
    errors = StepErrors(*(np.array([0.01, 0.1]),) * 4)
    mean_first = task_score(errors, Order.MEAN_FIRST, AngleError.WRAPPED)
    log_first = task_score(errors, Order.LOG_FIRST, AngleError.WRAPPED)
    assert mean_first.position == pytest.approx(-100 * np.log10(0.055) / 3)
    assert log_first.position == pytest.approx(50.0)


def test_log_first_is_at_least_mean_first_where_no_error_is_below_a_thousandth() -> None:
    for _ in range(300):
        errors = StepErrors(*10 ** RNG.uniform(-3.0, 0.6, (4, 20)))
        mean_first, log_first = (task_score(errors, order, AngleError.GEODESIC) for order in Order)
        for part in ("position", "orientation", "end_effector"):
            assert getattr(log_first, part) >= getattr(mean_first, part) - 1e-9


def test_below_a_thousandth_the_order_may_turn_round() -> None:
    errors = StepErrors(*(np.array([1e-9, 0.0019]),) * 4)
    mean_first, log_first = (task_score(errors, order, AngleError.WRAPPED) for order in Order)
    assert mean_first.position == 100.0
    assert log_first.position < 96.0


def test_angles_wrap_around_at_half_a_turn() -> None:
    angles = wrap_angle_rad([np.pi, -np.pi, 3 * np.pi, 0.0, 2 * np.pi - 0.1])
    assert angles == pytest.approx([np.pi, np.pi, np.pi, 0.0, -0.1])
    expert, poses = np.zeros((1, 7)), np.zeros((1, 7))
    expert[0, 3], poses[0, 3] = np.pi - 0.005, -np.pi + 0.005
    errors = step_errors(poses, expert)
    assert errors.wrapped_rad == pytest.approx([0.01])
    assert errors.geodesic_rad == pytest.approx([0.01])


def test_the_geodesic_angle_is_that_of_the_rotation_vector() -> None:
    first, second = RNG.uniform(-np.pi, np.pi, (2, 200, 3))
    between = np.swapaxes(euler_xyz_to_rotation(first), -1, -2) @ euler_xyz_to_rotation(second)
    assert geodesic_rad(first, second) == pytest.approx(np.linalg.norm(rotation_to_rotvec(between), axis=1))
    tiny = first + np.array([1e-9, 0.0, 0.0])
    assert geodesic_rad(first, tiny) == pytest.approx(1e-9, rel=1e-3)


def test_wrapped_and_geodesic_differ_near_the_gimbal() -> None:
    first, second = np.array([[0.0, np.pi / 2, 0.4]]), np.array([[0.4, np.pi / 2, 0.8]])
    rows = [np.hstack([np.zeros((1, 3)), angles, np.zeros((1, 1))]) for angles in (first, second)]
    errors = step_errors(*rows)
    assert errors.wrapped_rad == pytest.approx([0.4 * np.sqrt(2)])
    assert errors.geodesic_rad == pytest.approx([0.0], abs=1e-9)


def test_other_shapes_and_numbers_are_refused() -> None:
    for shapes in (((2, 7), (3, 7)), ((2, 6), (2, 6)), ((0, 7), (0, 7)), ((7,), (7,))):
        with pytest.raises(UsageError, match="wrong poses"):
            step_errors(*(np.zeros(shape) for shape in shapes))
    broken = np.zeros((3, 7))
    broken[1, 6] = np.nan
    for pair in ((broken, np.zeros((3, 7))), (np.zeros((3, 7)), broken)):
        with pytest.raises(InputError, match="not finite"):
            step_errors(*pair)


def test_weights_are_the_degrees_of_freedom() -> None:
    assert overall(70.37, 49.17, 49.17) == pytest.approx(58.25, abs=0.01)
    assert overall(0.0, 0.0, 7.0) == pytest.approx(1.0)
    assert overall(7.0, 0.0, 0.0) == overall(0.0, 7.0, 0.0) == pytest.approx(3.0)
