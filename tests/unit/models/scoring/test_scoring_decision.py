"""Chunks compared by the pose reached: matrices as the independent reference."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.linalg import expm

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.models.scoring.decision import position_scale_m, score_decision, score_decisions

EMPTY = np.zeros((0, 7))


def row(**parts: float) -> NDArray[np.float64]:
    """A chunk of one increment; what is not named is 0."""
    return np.array([[parts.get(name, 0.0) for name in ("x", "y", "z", "rx", "ry", "rz", "g")]])


@st.composite
def chunks(draw: st.DrawFn, max_steps: int = 5) -> NDArray[np.float64]:
    n_steps = draw(st.integers(0, max_steps))
    motion = draw(arrays(np.float64, (n_steps, 6), elements=st.integers(-250, 250).map(lambda k: k / 1000)))
    grippers = draw(arrays(np.float64, (n_steps, 1), elements=st.floats(0, 1)))
    return np.hstack([motion, grippers])


def end_pose(increments: NDArray[np.float64]) -> NDArray[np.float64]:
    """``T = dT_1 ... dT_k`` by matrix exponentials."""
    T = np.eye(4)
    for x, y, z, rx, ry, rz, _ in increments:
        step = np.eye(4)
        step[:3, :3] = expm(np.array([[0, -rz, ry], [rz, 0, -rx], [-ry, rx, 0]]))
        step[:3, 3] = x, y, z
        T = T @ step
    return T


@given(chunks(), chunks(), st.floats(0, 1))
@settings(max_examples=80, deadline=None)
def test_the_score_is_that_of_the_end_poses(
    ours: NDArray[np.float64], theirs: NDArray[np.float64], gripper: float
):
    score = score_decision(ours, theirs, 0.5, gripper=gripper)
    T_ours, T_theirs = end_pose(ours), end_pose(theirs)
    distance_m = np.linalg.norm(T_ours[:3, 3] - T_theirs[:3, 3])
    assert score.position_error_mm == pytest.approx(1e3 * distance_m, abs=1e-9)
    assert score.position == pytest.approx(1 - min(1, distance_m / 0.5))
    g_ours = ours[-1, 6] if len(ours) else gripper
    g_theirs = theirs[-1, 6] if len(theirs) else gripper
    assert score.state == pytest.approx(1 - abs(g_ours - g_theirs))
    v, w = ((T - T.T)[[2, 0, 1], [1, 2, 0]] / 2 for T in (T_ours[:3, :3], T_theirs[:3, :3]))
    lengths = np.linalg.norm(v), np.linalg.norm(w)
    if min(lengths) > 2e-3:
        assert score.rotation == pytest.approx((1 + v @ w / lengths[0] / lengths[1]) / 2, abs=1e-6)
    assert score.score == pytest.approx((score.position + score.rotation + score.state) / 3)


@given(chunks(), chunks())
@settings(max_examples=80, deadline=None)
def test_scores_are_symmetric_and_in_range(ours: NDArray[np.float64], theirs: NDArray[np.float64]):
    score, mirrored = score_decision(ours, theirs, 0.3), score_decision(theirs, ours, 0.3)
    for part in ("position", "rotation", "state", "score"):
        assert 0 <= getattr(score, part) <= 1
        assert getattr(score, part) == pytest.approx(getattr(mirrored, part))
    assert len(score.steps) == max(len(ours), len(theirs))


@given(chunks())
@settings(max_examples=50, deadline=None)
def test_identical_chunks_score_one(chunk: NDArray[np.float64]):
    score = score_decision(chunk, chunk.copy(), 0.3)
    assert score.score == 1
    assert all(step.position_mm == 0 and step.state == 0 and step.rotation_rad < 1e-7 for step in score.steps)


@given(st.lists(chunks(), min_size=1, max_size=4), chunks(), st.floats(0, 1))
@settings(max_examples=30, deadline=None)
def test_chunks_of_any_length_score_together_as_alone(
    several: list[NDArray[np.float64]], theirs: NDArray[np.float64], gripper: float
):
    together = score_decisions(several, theirs, 0.1, gripper=gripper)
    for ours, score in zip(several, together, strict=True):
        alone = score_decision(ours, theirs, 0.1, gripper=gripper)
        assert len(score.steps) == max(len(ours), len(theirs))
        numbers = [[*astuple(one)[:5], *sum(astuple(one)[5], ())] for one in (score, alone)]
        assert numbers[0] == pytest.approx(numbers[1], rel=1e-9, abs=1e-12)


def test_increments_are_in_the_tool_frame():
    quarter_turn_then_ahead = np.vstack([row(rz=np.pi / 2), row(x=0.1)])
    sideways = np.vstack([row(rz=np.pi / 2, y=0.1), row()])
    assert score_decision(quarter_turn_then_ahead, sideways, 0.3).score == pytest.approx(1)


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        (0.0, 0.0009, 1.0),
        (0.0, 0.0011, 0.5),
        (0.2, 0.4, 1.0),
        (0.2, -0.4, 0.0),
        (-0.0009, 0.0009, 1.0),
    ],
)
def test_rotation_compares_directions_above_a_milliradian(ours: float, theirs: float, expected: float):
    assert score_decision(row(rx=ours), row(rx=theirs), 1.0).rotation == pytest.approx(expected)


def turn(*rotvec_rad: float) -> NDArray[np.float64]:
    """Return a chunk that turns by a rotation vector of any length, in quarters."""
    rx, ry, rz = (angle / 4 for angle in rotvec_rad)
    return np.concatenate([row(rx=rx, ry=ry, rz=rz)] * 4)


@pytest.mark.parametrize("other", [(0.0, 0.0, 1.0), (0.0, 0.0, 3.13), (0.3, -0.4, -2.0), (2.0, 1.0, 0.5)])
@pytest.mark.parametrize("axis", [(0.0, 0.0, 1.0), (0.6, 0.0, 0.8), (0.0, -1.0, 0.0)])
def test_the_score_of_a_rotation_does_not_jump_at_half_a_turn(
    axis: tuple[float, ...], other: tuple[float, ...]
):
    below, beyond = (turn(*(angle * part for part in axis)) for angle in (np.pi - 1e-4, np.pi + 1e-4))
    scores = [score_decision(chunk, turn(*other), 1.0).rotation for chunk in (below, beyond)]
    assert scores[0] == pytest.approx(scores[1], abs=1e-3)


@pytest.mark.parametrize(("a", "b"), [(3.13, 3.15), (3.13, -3.13), (-3.0, 3.25), (1.0, 1.02)])
def test_orientations_that_nearly_agree_score_nearly_one_near_half_a_turn_too(a: float, b: float):
    assert score_decision(turn(0, 0, a), turn(0, 0, b), 1.0).rotation > 0.98


@given(st.floats(0.01, np.pi - 0.01), st.floats(0.0, 1.0))
def test_opposite_turns_of_less_than_half_a_turn_together_score_zero(both_rad: float, share: float):
    ours, theirs = turn(both_rad * share, 0, 0), turn(-both_rad * (1 - share), 0, 0)
    if min(both_rad * share, both_rad * (1 - share)) > 2e-3:
        assert score_decision(ours, theirs, 1.0).rotation == pytest.approx(0.0, abs=1e-9)


def test_position_falls_linearly_to_zero_at_the_scale():
    scores = [score_decision(row(x=x), row(), 0.2).position for x in (0, 0.05, 0.1, 0.2, 0.3)]
    assert scores == pytest.approx([1, 0.75, 0.5, 0, 0])


def test_an_empty_chunk_stays_where_it_is():
    closing = row(x=0.1, g=1.0)
    assert score_decision(EMPTY, closing, 0.2, gripper=1.0).state == 1
    assert score_decision(EMPTY, closing, 0.2, gripper=0.0).state == 0
    assert score_decision(EMPTY, closing, 0.2).position == pytest.approx(0.5)
    assert score_decision(EMPTY, EMPTY, 0.2).score == 1


def test_steps_keep_the_error_after_every_increment():
    ours = np.vstack([row(x=0.01), row(x=0.01), row(x=0.01)])
    theirs = row(x=0.01)
    assert [step.position_mm for step in score_decision(ours, theirs, 0.2).steps] == pytest.approx(
        [0, 10, 20]
    )


def test_steps_tell_turn_and_gripper_apart_at_each_increment():
    ours = np.vstack([row(rz=0.1, g=0.5), row(rz=0.1, g=1.0), row(x=0.02, g=1.0)])
    theirs = np.vstack([row(rz=-0.1, g=0.5), row(g=0.25)])
    steps = score_decision(ours, theirs, 0.2).steps
    assert [step.rotation_rad for step in steps] == pytest.approx([0.2, 0.3, 0.3])
    assert [step.state for step in steps] == pytest.approx([0.0, 0.75, 0.75])
    assert [step.position_mm for step in steps] == pytest.approx([0.0, 0.0, 20.0])


def test_the_gripper_is_open_before_a_chunk_unless_said_otherwise():
    assert score_decision(EMPTY, row(g=1.0), 0.2).state == 0.0


@pytest.mark.parametrize("bad", [np.zeros((2, 6)), np.zeros(7), row(x=np.nan), row(g=np.inf)])
def test_broken_chunks_are_refused(bad: NDArray[np.float64]):
    with pytest.raises(InputError, match=r"\(K, 7\) finite"):
        score_decision(bad, EMPTY, 0.2)


@pytest.mark.parametrize("scale_m", [0.0, -1.0, np.nan, np.inf])
def test_a_wrong_scale_is_refused(scale_m: float):
    with pytest.raises(UsageError, match="above 0"):
        score_decision(EMPTY, EMPTY, scale_m)


def test_the_scale_is_the_95th_percentile_of_pair_distances():
    generator = np.random.default_rng(3)
    points = generator.uniform(-0.2, 0.2, (60, 3))
    scale_m = position_scale_m([row(x=point[0], y=point[1], z=point[2]) for point in points], n_pairs=50_000)
    distances = np.linalg.norm(points[:, None] - points, axis=2)[np.triu_indices(60, 1)]
    assert scale_m == pytest.approx(np.percentile(distances, 95), rel=0.01)


def test_the_scale_follows_its_seed_and_the_chunks_end():
    once = [row(x=x) for x in (0.0, 0.1, 0.4)]
    halves = [np.vstack([chunk / 2, chunk / 2]) for chunk in once]
    assert position_scale_m(once, seed=1) == pytest.approx(position_scale_m(halves, seed=1))


def test_two_actions_have_the_scale_of_their_distance():
    assert position_scale_m([row(x=0.1), row(y=0.1)]) == pytest.approx(0.1 * np.sqrt(2))


def test_the_pairs_of_the_scale_are_drawn_the_same_for_ever():
    """Constants of subjects ship with the package: another order of draws would change every score."""
    chunks = [row(x=x) for x in (0.0, 0.1, 0.35, 0.5, 0.83, 1.31)]
    assert [position_scale_m(chunks, seed=seed, n_pairs=5) for seed in (0, 1, 2)] == pytest.approx(
        [1.114, 1.038, 0.68]
    )


@pytest.mark.parametrize("chunks_", [[], [row(x=1)], [row(x=1), row(x=1)]])
def test_actions_without_a_spread_have_no_scale(chunks_: list[NDArray[np.float64]]):
    with pytest.raises(InputError):
        position_scale_m(chunks_)
