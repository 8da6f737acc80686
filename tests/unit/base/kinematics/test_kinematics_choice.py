"""Singularities, collisions and the choice among solutions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.kinematics import (
    UR5,
    ChoiceOptions,
    CollisionModel,
    Kinematics,
    Singularity,
    World,
    choose,
    nearest_turns,
    pose_to_transform,
    tool_along_z,
)
from embodied_iqa.base.kinematics.collision_kernels import segment_distance

ARM = Kinematics(tool_along_z(0.2))
HOME = np.array([0.0, -1.57, 1.57, -1.57, -1.57, 0.0])
TAU = 2 * np.pi


def test_the_determinant_factors_into_the_singularities():
    q = np.random.default_rng(0).uniform(-TAU, TAU, (2000, 6))
    determinant = np.abs(np.linalg.det(ARM.jacobian(q)))
    for row, expected in zip(q, determinant, strict=True):
        margins = ARM.singularity_margins(row)
        product = np.sin(margins.elbow_rad) * np.sin(margins.wrist_rad) * margins.shoulder_m
        assert abs(UR5.a2_m * UR5.a3_m) * product == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("q", "name"),
    [
        ([0.3, -1.2, 1.0, -0.8, np.pi, 0.2], Singularity.WRIST),
        ([0.3, -1.2, -np.pi, -0.8, 1.0, 0.2], Singularity.ELBOW),
    ],
)
def test_singularities_are_named(q: list[float], name: Singularity):
    margins = ARM.singularity_margins(q)
    assert margins.nearest is name
    assert margins.closeness == pytest.approx(1.0, abs=1e-12)
    assert margins.within(0.0, 0.1) is name
    assert ARM.singularity_margins(HOME + 0.3).within(0.01, 0.05) is None


def test_the_shoulder_singularity_is_where_the_wrist_stands_over_the_base():
    q2, q3 = -2.0, 1.0
    missing = -(UR5.a2_m * np.cos(q2) + UR5.a3_m * np.cos(q2 + q3)) / UR5.d5_m
    assert abs(missing) < 1
    q = np.array([0.3, q2, q3, np.arcsin(missing) - q2 - q3, 1.0, 0.2])
    margins = ARM.singularity_margins(q)
    assert margins.shoulder_m < 1e-12
    assert margins.nearest is Singularity.SHOULDER
    wrist = ARM.link_frames(q)[5, :2, 3]
    assert np.hypot(*wrist) == pytest.approx(UR5.d4_m, abs=1e-9)


def test_the_choice_is_the_nearest_with_wrap_around():
    rng = np.random.default_rng(1)
    for _ in range(200):
        q = rng.uniform(-TAU, TAU, 6)
        choice = choose(ARM, ARM.forward(q), q + rng.normal(0, 1e-4, 6))
        if ARM.singularity_margins(q).closeness < 0.98:
            assert choice.q_rad == pytest.approx(q, abs=1e-6)


def test_the_choice_beats_every_other_within_limits():
    rng = np.random.default_rng(2)
    for _ in range(50):
        q, now = rng.uniform(-3, 3, 6), rng.uniform(-TAU, TAU, 6)
        T = ARM.forward(q)
        choice = choose(ARM, T, now)
        turns = TAU * np.stack(np.meshgrid(*[[-1, 0, 1]] * 6, indexing="ij"), -1).reshape(-1, 1, 6)
        others = (ARM.inverse(T).q_rad[None] + turns).reshape(-1, 6)
        others = others[(np.abs(others) <= TAU).all(axis=1)]
        best = np.linalg.norm(others - now, axis=1).min()
        assert np.linalg.norm(choice.q_rad - now) == pytest.approx(best, abs=1e-9)
        assert np.abs(choice.q_rad).max() <= TAU


def test_limits_and_margins_refuse_with_reasons():
    T = ARM.forward(HOME)
    narrow = ChoiceOptions(q_min_rad=(1.0,) * 6, q_max_rad=(1.5,) * 6)
    assert "joint limits" in choose(ARM, T, HOME, narrow).reason
    assert choose(ARM, T, HOME, narrow).q_rad is None
    wide = ChoiceOptions(angular_margin_rad=np.pi / 2)
    assert "singularity" in choose(ARM, T, HOME, wide).reason
    assert "stretched" in choose(ARM, pose_to_transform([9, 0, 0, 0, 0, 0]), HOME).reason


def test_an_obstruction_leads_to_another_solution():
    T = ARM.forward(HOME)
    free = choose(ARM, T, HOME)
    other = choose(
        ARM, T, HOME, ChoiceOptions(obstruction=lambda q: "elbow down" if abs(q[2] - HOME[2]) < 0.1 else None)
    )
    assert other.branch != free.branch
    assert abs(other.q_rad[2] - HOME[2]) > 0.1


@settings(max_examples=200, deadline=None)
@given(q=st.floats(-10, 10), near=st.floats(-10, 10), low=st.floats(-7, 0), width=st.floats(0.1, 14))
def test_turns_stay_within_limits_or_are_masked(q: float, near: float, low: float, width: float):
    turned, within = nearest_turns(np.full(6, q), np.full(6, near), np.full(6, low), np.full(6, low + width))
    turns = [q + TAU * k for k in range(-6, 7)]
    assume(all(abs(turn - limit) > 1e-9 for turn in turns for limit in (low, low + width)))
    candidates = [turn for turn in turns if low <= turn <= low + width]
    assert bool(within[0]) == bool(candidates)
    if candidates:
        assert abs(turned[0] - near) == pytest.approx(min(abs(c - near) for c in candidates), abs=1e-6)


def _gap(at: np.ndarray, ends: tuple[np.ndarray, ...]) -> float:
    a, b, c, d = ends
    return float(np.linalg.norm(a + at[0] * (b - a) - c - at[1] * (d - c)))


def test_segment_distance_agrees_with_an_optimiser():
    rng = np.random.default_rng(3)
    distance = segment_distance
    for _ in range(60):
        p1, q1, p2, q2 = rng.normal(0, 1, (4, 3))
        ends = (p1, q1, p2, q2)
        starts = [(0.5, 0.5), (0, 0), (1, 1), (0, 1), (1, 0)]
        best = min(minimize(_gap, start, args=(ends,), bounds=[(0, 1)] * 2).fun for start in starts)
        assert distance(p1, q1, p2, q2) == pytest.approx(best, abs=1e-5)
        assert distance(p1, p1, p2, p2) == pytest.approx(np.linalg.norm(p1 - p2))
        assert distance(p1, p1, p2, q2) == pytest.approx(distance(p2, q2, p1, p1))


def test_home_is_free_and_bad_postures_are_named():
    model = CollisionModel(ARM)
    assert model(HOME) is None
    assert "table" in (model(np.array([0.0, 0.3, 0.4, -1.57, -1.57, 0.0])) or "")
    folded = model(np.array([0.0, -1.57, 3.0, -1.57, -1.57, 0.0]))
    assert folded is not None
    assert "table" not in folded
    behind = np.array([0.0, -0.4, 0.0, -1.2, -1.57, 0.0])
    assert ARM.link_frames(behind)[6, 0, 3] < -0.8
    assert "wall" in (CollisionModel(ARM, World(table_z_m=None, wall_x_m=-0.8))(behind) or "")


def test_the_gripper_may_touch_the_table_with_its_tip():
    T = pose_to_transform([-0.5, 0.0, 0.01, np.pi, 0, 0])
    choice = choose(ARM, T, HOME, ChoiceOptions(obstruction=CollisionModel(ARM)))
    assert choice.q_rad is not None
    low = pose_to_transform([-0.5, 0.0, -0.01, np.pi, 0, 0])
    assert "table" in choose(ARM, low, HOME, ChoiceOptions(obstruction=CollisionModel(ARM))).reason


def test_a_batch_names_the_first_collision():
    model = CollisionModel(ARM)
    q = np.linspace(HOME, [0.0, 0.3, 0.4, -1.57, -1.57, 0.0], 50)
    found = model.first_collision(q)
    assert found is not None
    index, collision = found
    assert model(q[index - 1]) is None
    assert model(q[index]) is not None
    assert collision.clearance_m < 0
    assert model.first_collision(q[:index]) is None


def test_wrong_options_are_usage_errors():
    with pytest.raises(UsageError, match="limits"):
        ChoiceOptions(q_min_rad=(0.0,) * 5)
    with pytest.raises(UsageError, match="below"):
        ChoiceOptions(q_min_rad=(7.0,) * 6)
    with pytest.raises(UsageError, match="current"):
        choose(ARM, np.eye(4), [np.nan] * 6)


def test_the_capsules_have_the_radii_of_the_arm():
    """Half the diameters of a UR5's parts, and of the gripper (m)."""
    model = CollisionModel(ARM)
    assert model._shape[2].tolist() == [0.075, 0.06, 0.055, 0.055, 0.045, 0.045, 0.045, 0.04, 0.04]
    assert model._shape[0].tolist() == [0, 1, 2, 2, 3, 3, 4, 5, 6]


def test_touching_at_the_margin_is_no_collision_yet():
    q = np.array([[0.0, -1.57, 1.57, -1.57, -1.57, 0.0]])

    clearance_m = CollisionModel(ARM).nearest(q[0]).clearance_m
    for margin_m, hit in ((clearance_m, False), (np.nextafter(clearance_m, 1.0), True)):
        model = CollisionModel(ARM, World(margin_m=float(margin_m)))
        assert (model.first_collision(q) is not None) == hit
        assert (model(q[0]) is not None) == hit
