"""Goals in joints, receding and whole: they are moved, within every limit, and only those of this arm."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from arm_bench import HOME, MS
from test_robot_joining import assert_within_limits
from test_robot_receding import CONTROLLER, RATE_HZ, Rig

from embodied_iqa.arm.horizon_options import Horizon, HorizonOptions
from embodied_iqa.arm.robot.arm_runner import ArmRunner
from embodied_iqa.arm.robot.controller import make_controller
from embodied_iqa.arm.robot.controller_options import ControllerOptions
from embodied_iqa.arm.robot.messages import ArmGoal, GoalOutcome
from embodied_iqa.base.kinematics import increments_between
from embodied_iqa.base.kinematics.models import ArmModel
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.imaging.images.frame import View, image_frame
from embodied_iqa.models.subjects.reference import parse_vla
from embodied_iqa.models.subjects.registry import make_vla
from embodied_iqa.runs.offline.headless.policy import goal_of as goal_of_record
from embodied_iqa.runs.trial.deciding import DecisionRequest, decide
from embodied_iqa.world.protocols import close_subject
from wire_servers import reference_server

KINEMATICS = CONTROLLER.planner.kinematics
TURN = np.array([0.004, 0.003, -0.006, 0.002, 0.005, -0.02])
"""Of each joint in a step."""


def goal_of(q_rad: np.ndarray, targets: np.ndarray, stamp_ns: int, sequence: int) -> ArmGoal:
    poses = KINEMATICS.forward(np.concatenate([q_rad[None], targets]))
    increments = np.hstack([increments_between(poses), np.zeros((len(targets), 1))])
    return ArmGoal(increments, View.WRIST, stamp_ns, sequence, q_seen_rad=q_rad, joints_rad=targets)


def steady(q_rad: np.ndarray, count: int = 10, turn: np.ndarray = TURN) -> np.ndarray:
    return q_rad + np.arange(1, count + 1)[:, None] * turn


def asked(rig: Rig, make: object = steady, sequence: int = 1, latency: int = 10) -> ArmGoal:
    """A goal of a policy that sees the joints in a frame; it comes 80 ms later."""
    stamp_ns, q_rad = rig.frame(), rig.q.copy()
    for _ in range(latency):
        rig.tick()
    goal = goal_of(q_rad, make(q_rad), stamp_ns, sequence)
    rig.runner.take_goal(goal)
    return goal


def test_the_arm_comes_to_the_last_joints_and_goes_on_from_chunk_to_chunk() -> None:
    rig = Rig().armed()
    for sequence in (1, 2, 3):
        goal = asked(rig, sequence=sequence)
        for _ in range(24):
            rig.tick()
    rig.until(lambda _tick: rig.runner.state.run is None)
    for sequence in (1, 2, 3):
        assert rig.outcomes(sequence) == [GoalOutcome.ACCEPTED, GoalOutcome.COMPLETED]
    np.testing.assert_allclose(rig.q, goal.joints_rad[-1], atol=1e-9)
    commands = np.array([HOME, *rig.commands])
    assert_within_limits(commands)
    speeds = np.abs(np.diff(commands[:, 5])) / 0.008
    moving = np.flatnonzero(speeds > 0.95 * 0.02 * RATE_HZ)
    assert speeds[moving[0] : moving[-1]].min() > 0.8 * 0.02 * RATE_HZ


def test_joints_pass_a_singularity_of_the_wrist_that_stops_a_motion_of_the_tool() -> None:
    start = HOME.copy()
    start[4] = 0.12
    through = np.array([0.0, 0.0, 0.0, 0.0, -0.03, 0.0])

    def passed(*, joints: bool) -> Rig:
        rig = Rig(q=start).armed()
        stamp_ns = rig.frame()
        goal = goal_of(start, steady(start, turn=through), stamp_ns, 1)
        rig.runner.take_goal(goal if joints else replace(goal, q_seen_rad=None, joints_rad=None))
        for _ in range(150):
            rig.tick()
        return rig

    moved, refused = passed(joints=True), passed(joints=False)
    assert moved.outcomes(1) == [GoalOutcome.ACCEPTED, GoalOutcome.COMPLETED]
    assert moved.q[4] == pytest.approx(0.12 - 0.3, abs=1e-9)
    assert_within_limits(np.array([start, *moved.commands]))
    assert refused.outcomes(1) == [GoalOutcome.REFUSED]


def test_a_policy_for_a_ur5_on_the_server_of_openpi_moves_joints_from_chunk_to_chunk() -> None:
    """Through the singularity of the wrist, where the tool along the same increments stops."""
    start = HOME.copy()
    start[4] = 0.12
    turn = np.array([0.0, 0.0, 0.0, 0.0, -0.02, 0.0])

    def policy(message: dict) -> dict:
        return {"actions": np.hstack([steady(message["joints"].astype(float), turn=turn), np.ones((10, 1))])}

    frame = image_frame(np.zeros((48, 64, 3), np.uint8), View.TOP)
    rig = Rig(q=start).armed()
    with reference_server({}, policy) as port:
        vla = make_vla(parse_vla(f"pi0-ur5=openpi://127.0.0.1:{port}"))
        for sequence in (1, 2):
            stamp_ns, q_rad = rig.frame(), rig.q.copy()
            for _ in range(10):
                rig.tick()
            request = DecisionRequest(
                stamp_ns, Source.DISTORTED, sequence, 0, "turn", KINEMATICS.forward(q_rad), 0.0, q_rad
            )
            record = decide(vla, request, {View.TOP: frame, View.WRIST: frame})
            rig.runner.take_goal(goal_of_record(replace(record, view=View.WRIST, other_frames=())))
            for _ in range(24):
                rig.tick()
        close_subject(vla)
    rig.until(lambda _tick: rig.runner.state.run is None)
    for sequence in (1, 2):
        assert rig.outcomes(sequence) == [GoalOutcome.ACCEPTED, GoalOutcome.COMPLETED]
    np.testing.assert_allclose(rig.q, record.joints_rad[-1], atol=1e-9)
    assert rig.q[4] < -0.1
    assert_within_limits(np.array([start, *rig.commands]))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"joints_rad": steady(HOME)[:-1]}, "9 joint targets for 10 steps"),
        ({"q_seen_rad": None}, "no joints that it saw"),
        ({"joints_rad": np.full((10, 6), np.nan)}, "not finite"),
        ({"joints_rad": steady(HOME) + np.array([0, 0.01, 0, 0, 0, 0])}, "another arm or tool"),
    ],
)
def test_joints_that_are_not_those_of_this_arm_are_refused(change: dict, words: str) -> None:
    rig = Rig().armed()
    rig.runner.take_goal(replace(goal_of(HOME, steady(HOME), rig.frame(), 1), **change))
    rig.tick()
    assert rig.outcomes(1) == [GoalOutcome.REFUSED]
    assert words in rig.goals[0][2]
    assert rig.runner.state.run is None


def test_a_policy_for_another_model_is_refused() -> None:
    rig = Rig(
        ArmRunner(make_controller(options=CONTROLLER.options, model=ArmModel.UR5E), report_rate_hz=25.0)
    )
    rig.armed().runner.take_goal(goal_of(HOME, steady(HOME), rig.frame(), 1))
    rig.tick()
    assert "another arm or tool" in rig.goals[0][2]


def test_a_jump_is_refused_and_a_joint_beyond_its_limit_or_a_tool_in_the_table_stops_the_arm() -> None:
    rig = Rig().armed()
    far = steady(HOME) + np.array([0.0, 0, 0, 0, 0, 0.6])
    rig.runner.take_goal(goal_of(HOME, far, rig.frame(), 1))
    rig.tick()
    assert rig.outcomes(1) == [GoalOutcome.REFUSED]
    assert "turns a joint by 0.58 rad" in rig.goals[0][2]
    for turn in (np.array([0, 0, 0, 0, 0, 0.49]), np.array([0, 0.12, 0, -0.12, 0, 0])):
        rig = Rig().armed()
        rig.runner.take_goal(goal_of(HOME, steady(HOME, 20, turn), rig.frame(), 1))
        stop = rig.tick().stop
        assert stop is not None
        assert stop.cause.is_emergency


def test_joints_are_averaged_as_angles() -> None:
    horizon = HorizonOptions(Horizon.RECEDING, 3, RATE_HZ, ensembling=True, ensembling_decay=0.0)
    controller = make_controller(options=ControllerOptions(horizon=horizon))
    rig = Rig(ArmRunner(controller, report_rate_hz=25.0)).armed()
    first_ns = rig.frame()
    rig.runner.take_goal(goal_of(HOME, steady(HOME), first_ns, 1))
    for _ in range(24):
        rig.tick()
    begun_ns = first_ns  # the arm had stood: the first step began when the goal came, a tick after its frame
    stamp_ns = rig.frame()
    q_rad = rig.q.copy()
    other = goal_of(q_rad, steady(q_rad, turn=-TURN), stamp_ns, 2)
    rig.runner.take_goal(other)
    rig.tick()
    assert rig.outcomes(2) == [GoalOutcome.ACCEPTED]
    averaged = rig.runner.state.run.goal.joints_rad
    steps = (stamp_ns - begun_ns) / 1e9 * RATE_HZ
    for step in (1, 2, 3):
        old = HOME + (steps + step) * TURN
        np.testing.assert_allclose(averaged[step - 1], 0.5 * (old + other.joints_rad[step - 1]), atol=1e-3)
    np.testing.assert_allclose(averaged[-1], other.joints_rad[-1], atol=1e-12)
    assert rig.now_ns - stamp_ns < 100 * MS


def whole(q: np.ndarray = HOME, model: ArmModel = ArmModel.UR5) -> Rig:
    """Chunks are executed to their end, at the arm's own speed."""
    return Rig(ArmRunner(make_controller(model=model), report_rate_hz=25.0), q=q.copy()).armed()


def gripping(goal: ArmGoal, after: int, gripper: float = 1.0) -> ArmGoal:
    increments = goal.increments.copy()
    increments[after:, 6] = gripper
    return replace(goal, increments=increments)


def executed(rig: Rig, goal: ArmGoal) -> np.ndarray:
    """The commanded joints of a goal until the arm stands, and a little longer, ``(N, 6)``."""
    before = len(rig.commands)
    rig.runner.take_goal(goal)
    rig.tick()
    rig.until(lambda _tick: rig.runner.state.run is None)
    for _ in range(4):
        rig.tick()
    return np.array([goal.q_seen_rad, *rig.commands[before:]])


def test_a_whole_chunk_moves_joints_also_through_a_singularity_and_stops_for_the_gripper() -> None:
    start = HOME.copy()
    start[4] = 0.12
    targets = steady(start, turn=np.array([0.004, 0.0, 0.0, 0.0, -0.03, 0.01]))
    rig = whole(start)
    commands = executed(rig, gripping(goal_of(start, targets, rig.frame(), 1), 4))
    assert rig.outcomes(1) == [GoalOutcome.ACCEPTED, GoalOutcome.COMPLETED]
    np.testing.assert_allclose(rig.q, targets[-1], atol=1e-9)
    assert_within_limits(commands)
    assert rig.grips == [1.0]
    stood = np.flatnonzero(np.abs(np.diff(commands, axis=0)).max(axis=1) < 1e-12)
    assert np.abs(commands[stood] - targets[4]).max(axis=1).min() < 1e-9, "it grips where the policy says"
    off = np.cross(np.diff(commands[:, [0, 4, 5]], axis=0), [0.004, -0.03, 0.01])
    assert np.abs(off).max() < 1e-9, "even turns lie on one line"
    one = whole(start)
    one.runner.take_goal(replace(goal_of(start, targets, one.frame(), 1), q_seen_rad=None, joints_rad=None))
    one.tick()
    assert one.outcomes(1) == [GoalOutcome.REFUSED], "the tool along the same increments"


def test_a_whole_chunk_that_turns_back_reaches_the_turning_point_and_rounds_other_corners() -> None:
    rig = whole()
    there = steady(HOME, 5, np.array([0.0, 0.0, 0.02, 0.0, 0.0, 0.0]))
    aside = there[-1] + np.arange(1, 4)[:, None] * np.array([0.0, 0.0, 0.0, 0.02, 0.0, 0.02])
    back = aside[-1] - np.arange(1, 3)[:, None] * np.array([0.0, 0.0, 0.0, 0.02, 0.0, 0.02])
    targets = np.concatenate([there, aside, back])
    commands = executed(rig, goal_of(HOME, targets, rig.frame(), 1))
    assert rig.outcomes(1) == [GoalOutcome.ACCEPTED, GoalOutcome.COMPLETED]
    assert_within_limits(commands)
    assert np.abs(commands - aside[-1]).max(axis=1).min() < 1e-9
    assert 1e-4 < np.abs(commands - there[-1]).max(axis=1).min() < 0.02
    np.testing.assert_allclose(rig.q, back[-1], atol=1e-9)


def test_whole_chunks_of_random_joints_keep_every_limit_or_are_refused() -> None:
    random, completed = np.random.default_rng(4), 0
    for _ in range(15):
        rig = whole()
        count, size = int(random.integers(1, 12)), float(random.choice([1e-6, 1e-3, 0.02, 0.15]))
        targets = HOME + np.cumsum(random.normal(0.0, size, (count, 6)), axis=0)
        goal = gripping(goal_of(HOME, targets, rig.frame(), 1), int(random.integers(0, count + 1)))
        commands = executed(rig, goal)
        if rig.outcomes(1) == [GoalOutcome.REFUSED]:
            np.testing.assert_array_equal(rig.q, HOME)
            continue
        assert rig.outcomes(1) == [GoalOutcome.ACCEPTED, GoalOutcome.COMPLETED]
        assert_within_limits(commands)
        np.testing.assert_allclose(rig.q, targets[-1], atol=1e-6)
        completed += 1
    assert completed > 6


@pytest.mark.parametrize(
    ("far", "words"),
    [
        (np.array([0.0, 0, 0, 0, 0, 0.6]), "turns a joint by 0.62 rad"),
        (np.array([0.0, 0, 0, 0, 0, 7.0]), "joint 6 would turn"),
    ],
)
def test_whole_chunks_of_joints_that_jump_or_leave_their_range_are_refused(
    far: np.ndarray, words: str
) -> None:
    rig = whole()
    rig.runner.take_goal(goal_of(HOME, steady(HOME) + np.sign(TURN) * far, rig.frame(), 1))
    rig.tick()
    assert rig.outcomes(1) == [GoalOutcome.REFUSED]
    assert words in rig.goals[0][2]
    assert rig.runner.state.run is None


def test_a_whole_chunk_of_joints_that_leads_the_tool_into_the_table_stops_the_arm() -> None:
    rig = whole()
    down = steady(HOME, 20, np.array([0, 0.12, 0, -0.12, 0, 0]))
    rig.runner.take_goal(goal_of(HOME, down, rig.frame(), 1))
    stop = rig.tick().stop
    assert stop is not None
    assert stop.cause.is_emergency


def test_a_whole_chunk_of_joints_of_another_model_is_refused() -> None:
    rig = whole(model=ArmModel.UR5E)
    rig.runner.take_goal(goal_of(HOME, steady(HOME), rig.frame(), 1))
    rig.tick()
    assert "another arm or tool" in rig.goals[0][2]
