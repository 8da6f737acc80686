"""Temporal ensembling: the weights of ACT on poses, the gripper's median, and only what the gate passed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from arm_bench import HOME, MS
from scipy.spatial.transform import Rotation
from test_robot_receding import RATE_HZ, Rig, even

from embodied_iqa.arm.horizon_options import Horizon, HorizonOptions
from embodied_iqa.arm.robot.arm_runner import ArmRunner
from embodied_iqa.arm.robot.controller import make_controller
from embodied_iqa.arm.robot.controller_options import ControllerOptions
from embodied_iqa.arm.robot.ensembling import Predicted, increments_of
from embodied_iqa.arm.robot.ensembling import ensembled as points_of
from embodied_iqa.arm.robot.messages import GoalOutcome
from embodied_iqa.arm.verdict import Verdict
from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.kinematics import chain_increments

PERIOD_S, DECAY = 0.1, 0.3
HORIZON = HorizonOptions(Horizon.RECEDING, 5, RATE_HZ, ensembling=True)
CONTROLLER = make_controller(options=ControllerOptions(horizon=HORIZON))
T_0 = CONTROLLER.planner.kinematics.forward(HOME)


def predicted(seed: int, begin_ms: int, count: int = 6, turn: float = 0.05) -> tuple[Predicted, np.ndarray]:
    """A random prediction, and its poses ``(K + 1, 4, 4)``."""
    rng = np.random.default_rng(seed)
    increments = rng.normal(0, 0.01, (count, 7)) * ([1] * 3 + [turn / 0.01] * 3 + [0])
    increments[:, 6] = rng.integers(0, 2, count)
    return Predicted.of(increments, T_0, begin_ms * MS), np.concatenate(
        [T_0[None], chain_increments(T_0, increments)]
    )


def ensembled(*arguments: object) -> np.ndarray:
    return increments_of(*points_of(*arguments))


def test_equal_predictions_stay_as_they_are() -> None:
    increments = even()
    new = Predicted.of(increments, T_0, 0)
    np.testing.assert_allclose(ensembled(new, (new, new), PERIOD_S, DECAY), increments, atol=1e-12)
    np.testing.assert_allclose(ensembled(new, (), PERIOD_S, DECAY), increments, atol=1e-12)


def test_each_time_is_the_mean_by_acts_weights_of_all_that_predict_it() -> None:
    made = [predicted(1, 0), predicted(2, 200), predicted(3, 400)]
    (old, old_T), (middle, middle_T), (new, new_T) = made
    poses = chain_increments(T_0, ensembled(new, (old, middle), PERIOD_S, DECAY))
    for step in range(1, 7):
        found = [new_T[step]]
        if step + 2 <= 6:
            found.insert(0, middle_T[step + 2])
        if step + 4 <= 6:
            found.insert(0, old_T[step + 4])
        weights = np.exp(-DECAY * np.arange(len(found)))
        mean = np.average([T[:3, 3] for T in found], axis=0, weights=weights)
        np.testing.assert_allclose(poses[step - 1, :3, 3], mean, atol=1e-12)
        turn = Rotation.from_matrix([T[:3, :3] for T in found]).mean(weights)  # Markley's, by an eigenvector
        assert (turn.inv() * Rotation.from_matrix(poses[step - 1, :3, :3])).magnitude() < 2e-3


def test_a_prediction_between_two_steps_is_interpolated() -> None:
    old, new = Predicted.of(even(), T_0, 0), Predicted.of(even(), T_0, 50 * MS)
    rows = ensembled(new, (old,), PERIOD_S, 0.0)
    step = even()[0]
    # the older one is half a step ahead from the first step to the last one that it knows
    np.testing.assert_allclose(rows[0, :3], 1.25 * step[:3], atol=1e-12)
    np.testing.assert_allclose(rows[1:9, :3], np.tile(step[:3], (8, 1)), atol=1e-12)
    np.testing.assert_allclose(rows[9, :3], 0.75 * step[:3], atol=1e-12)


def test_before_it_began_a_chunk_predicts_nothing() -> None:
    """The arm begins a chunk late; the next one may be decided on a frame from before that."""
    (old, _), (new, new_T) = predicted(1, 200), predicted(2, 0)
    points, gripper = points_of(new, (old,), PERIOD_S, 0.0)
    np.testing.assert_allclose(points[:3, :3], new_T[:3, :3, 3], atol=1e-12)
    assert gripper[:2].tolist() == new.gripper[:2].tolist()
    third = 0.5 * (new_T[3, :3, 3] + old.points[1, :3])
    np.testing.assert_allclose(points[3, :3], third, atol=1e-12)


def test_rotations_on_both_sides_of_half_a_turn_are_averaged_the_short_way() -> None:
    chunks = []
    for angle in (np.pi - 0.1, -np.pi + 0.1):
        T = np.eye(4)
        T[:3, :3] = Rotation.from_rotvec([0.0, 0.0, angle]).as_matrix()
        chunks.append(Predicted.of(np.zeros((2, 7)), T, 0))
    new = chunks[1]
    rows = ensembled(new, (chunks[0],), PERIOD_S, 0.0)
    assert rows[0, 5] == pytest.approx(-0.1, abs=1e-9)


@pytest.mark.parametrize(("states", "expected"), [((0, 0, 1), 0), ((1, 1, 0), 1), ((0.2, 0.4, 1), 0.4)])
def test_the_gripper_takes_a_state_that_was_predicted(states: tuple[float, ...], expected: float) -> None:
    old, middle, new = (
        replace(Predicted.of(even(), T_0, 0), gripper=np.full(10, float(state))) for state in states
    )
    assert ensembled(new, (old, middle), PERIOD_S, 0.01)[:, 6].tolist() == [expected] * 10
    assert ensembled(new, (old, middle), PERIOD_S, 10.0)[:, 6].tolist() == [states[0]] * 10


def rig() -> Rig:
    return Rig(ArmRunner(CONTROLLER, report_rate_hz=25.0)).armed()


def driven(made: Rig, count: int = 6) -> np.ndarray:
    """Chunks that want to the left and to the right in turn; returns the tool's positions."""
    for sequence in range(1, count + 1):
        chunk = even()
        chunk[:, 0] = 0.003 * (-1) ** sequence
        made.decide(chunk, sequence)
        for _ in range(24):
            made.tick()
    return CONTROLLER.planner.kinematics.forward(np.array(made.commands))[:, :3, 3]


def test_chunks_that_disagree_move_the_arm_less() -> None:
    made, plain = rig(), Rig().armed()
    averaged_m, plain_m = driven(made), driven(plain)
    for sequence in range(1, 6):
        assert made.outcomes(sequence) == [GoalOutcome.ACCEPTED, GoalOutcome.COMPLETED]
    sideways_m = [path[150:] @ T_0[:3, 0] for path in (averaged_m, plain_m)]
    swings = [np.std(np.diff(way)) for way in sideways_m]
    assert swings[0] < 0.7 * swings[1]


def test_what_the_gate_did_not_pass_is_not_averaged_and_a_hold_forgets_all() -> None:
    made = rig()
    driven(made, 2)
    assert made.runner.state.run is not None
    before = made.runner.state.run.past
    assert len(before) == 2
    held_ns = made.now_ns - 3 * MS
    made.lease(held_ns, Verdict.HOLD)
    made.frame()
    made.send(even(), 3, held_ns)
    made.tick()
    assert made.outcomes(3) == [GoalOutcome.REFUSED]
    assert made.runner.state.run.past == before
    made.verdict = Verdict.HOLD
    made.until(lambda tick: any(goal.outcome is GoalOutcome.ABANDONED for goal in tick.goals))
    made.verdict = Verdict.PASS
    made.decide(even(), 4)
    made.tick()
    assert made.outcomes(4) == [GoalOutcome.ACCEPTED]
    assert len(made.runner.state.run.past) == 1


def test_chunks_that_do_not_overlap_are_refused_by_name() -> None:
    made = rig()
    made.decide(even(5), 1)
    made.tick()
    assert made.goals[-1][:2] == (1, GoalOutcome.REFUSED)
    assert "more steps than horizon.execute_steps (5), this one has 5" in made.goals[-1][2]


def test_ensembling_is_refused_where_it_makes_no_sense() -> None:
    with pytest.raises(UsageError, match="whole chunks do not"):
        HorizonOptions(ensembling=True)
    with pytest.raises(UsageError, match="wrong ensembling_decay"):
        replace(HORIZON, ensembling_decay=-1.0)
    with pytest.raises(UsageError, match="2 policies"):
        HORIZON.check_policies(2, "pi0 and act")
    HORIZON.check_policies(0, "pi0")
    HorizonOptions().check_policies(2, "pi0 and act")
