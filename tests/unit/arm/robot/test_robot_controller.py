"""The controller in normal operation."""

from __future__ import annotations

import numpy as np
import pytest
from arm_bench import HOME, TICK_NS, Bench, straight

from embodied_iqa.arm.robot.controller import make_controller
from embodied_iqa.arm.robot.controller_options import ControllerOptions
from embodied_iqa.arm.robot.messages import ArmInputs, ArmMode, GoalOutcome, GripperState
from embodied_iqa.base.kinematics import chain_increments, increments_between


def _zigzag() -> np.ndarray:
    rng = np.random.default_rng(4)
    increments = np.zeros((8, 7))
    increments[:, :3] = rng.normal(0, 0.02, (8, 3))
    increments[:, 3:6] = rng.normal(0, 0.1, (8, 3))
    return increments


@pytest.mark.parametrize("increments", [straight(dx=0.1), straight(dz=0.15, count=15), _zigzag()])
def test_a_goal_ends_at_the_chained_pose(increments: np.ndarray):
    bench = Bench().armed()
    wanted = chain_increments(bench.tool(), increments)[-1]
    output = bench.send(increments)
    assert [report.outcome for report in output.reports] == [GoalOutcome.ACCEPTED]
    assert bench.run(2000, until=ArmMode.IDLE) < 2000
    np.testing.assert_allclose(bench.tool(), wanted, atol=1e-6)
    status = bench.outputs[-1].status
    assert (status.sequence, status.step, status.steps, status.holds) == (
        1,
        len(increments),
        len(increments),
        0,
    )
    assert bench.outputs[-1].reports[0].outcome is GoalOutcome.COMPLETED


def test_the_tool_stays_on_the_straight_line():
    bench = Bench().armed()
    start = bench.tool()
    bench.send(straight(dx=0.1, dz=0.05, count=3))
    bench.run(2000, until=ArmMode.IDLE)
    p = bench.controller.planner.kinematics.forward(np.array(bench.commands))[:, :3, 3]
    local = (p - start[:3, 3]) @ start[:3, :3]
    direction = np.array([0.1, 0, 0.05]) / np.hypot(0.1, 0.05)
    off = local - np.outer(local @ direction, direction)
    assert np.linalg.norm(off, axis=1).max() < 1e-5


@pytest.mark.parametrize("rate_hz", [125, 500])
def test_motion_keeps_the_limits_and_uses_them(rate_hz: int):
    bench = Bench(make_controller(options=ControllerOptions(dt_s=1 / rate_hz))).armed()
    bench.send(straight(dz=0.15, count=5))
    ticks = bench.run(2000, until=ArmMode.IDLE)
    limits = bench.controller.planner.limits
    qd = bench.speeds()
    qdd = np.diff(qd, axis=0) * rate_hz
    assert np.abs(qd).max() <= limits.joint_speed_radps
    assert np.abs(qdd).max() <= limits.joint_acceleration_radps2
    speeds = [output.status.tool_speed_mps for output in bench.outputs]
    assert 0.9 * limits.tool_speed_mps < max(speeds) <= limits.tool_speed_mps
    assert ticks / rate_hz < 0.15 / limits.tool_speed_mps + 0.5


def test_corners_are_rounded_by_little_and_not_stopped_at():
    bench = Bench().armed()
    corner = np.concatenate([straight(dx=0.08), straight(dy=0.08)])
    waypoint = chain_increments(bench.tool(), corner)[0, :3, 3]
    bench.send(corner)
    bench.run(2000, until=ArmMode.IDLE)
    p = bench.controller.planner.kinematics.forward(np.array(bench.commands))[:, :3, 3]
    nearest = np.linalg.norm(p - waypoint, axis=1).min()
    assert nearest < 0.005
    moving = [output.status.tool_speed_mps for output in bench.outputs][20:-20]
    assert min(moving) > 0.03


def test_the_arm_waits_until_the_gripper_holds_the_object():
    bench = Bench().armed()
    bench.send(np.concatenate([straight(dz=0.05, grip=1.0), straight(dz=-0.05, grip=1.0)]))
    waited, moved = 0, 0
    while bench.outputs[-1].status.mode is ArmMode.EXECUTING:
        output = bench.tick()
        if output.gripper_target == 1.0:
            waited += output.status.tool_speed_mps == 0.0
            moved += output.status.tool_speed_mps > 0.0 and waited < 50
            bench.grip = GripperState(0.6, moving=waited < 50, object_held=waited >= 50)
    assert 50 <= waited < 70
    assert moved == 0
    assert bench.outputs[-1].status.step == 2


def test_an_object_counts_as_held_after_a_while_only():
    """A gripper reports an object before its fingers move; a goal must not end on that."""
    bench = Bench().armed()
    bench.send(straight(grip=1.0))
    ticks = 0
    while bench.outputs[-1].status.mode is ArmMode.EXECUTING:
        bench.grip = GripperState(0.3, object_held=True)
        bench.tick()
        ticks += 1
    assert ticks * TICK_NS == pytest.approx(bench.controller.options.gripper_least_ns, abs=2 * TICK_NS)


@pytest.mark.parametrize(("apart", "arrives"), [(0.029, True), (0.031, False)])
def test_a_gripper_has_arrived_within_its_tolerance(apart: float, *, arrives: bool):
    bench = Bench().armed()
    bench.send(straight(grip=1.0))
    bench.grip = GripperState(1.0 - apart)
    for _ in range(4):
        bench.state, output = bench.controller.step(bench.state, _seen(bench), bench.now_ns)
    assert (output.status.mode is ArmMode.IDLE) == arrives


def _seen(bench: Bench) -> ArmInputs:
    bench.now_ns += bench.tick_ns
    return ArmInputs(bench.measured(), None, (bench.lease(),))


@pytest.mark.parametrize("moving", [False, True])
def test_a_gripper_that_never_arrives_is_waited_for_up_to_the_timeout(moving: bool):
    bench = Bench().armed()
    bench.send(straight(grip=1.0))
    ticks = 0
    while bench.outputs[-1].status.mode is ArmMode.EXECUTING:
        bench.grip = GripperState(0.3, moving=moving)
        bench.tick()
        ticks += 1
    timeout_ns = bench.controller.options.gripper_timeout_ns
    assert ticks * TICK_NS == pytest.approx(timeout_ns, abs=4 * TICK_NS)


def test_grip_between_two_motions_happens_at_standstill():
    bench = Bench().armed()
    increments = np.concatenate([straight(dz=0.05, grip=1.0), straight(dz=-0.05, grip=1.0)])
    wanted = chain_increments(bench.tool(), increments)
    bench.send(increments)
    at = None
    while bench.outputs[-1].status.mode is ArmMode.EXECUTING:
        output = bench.tick()
        if at is None and output.gripper_target == 1.0:
            at = bench.tool()
            assert output.status.tool_speed_mps == 0.0
    np.testing.assert_allclose(at, wanted[0], atol=1e-6)
    np.testing.assert_allclose(bench.tool(), wanted[1], atol=1e-6)


def test_goals_follow_one_another_exactly():
    bench = Bench().armed()
    increments = _zigzag()
    wanted = bench.tool()
    for sequence in range(1, 4):
        bench.send(increments, sequence)
        bench.run(3000, until=ArmMode.IDLE)
        wanted = chain_increments(wanted, increments)[-1]
    np.testing.assert_allclose(bench.tool(), wanted, atol=1e-6)
    assert bench.outputs[-1].status.sequence == 3


def test_an_empty_goal_is_done_at_once():
    bench = Bench().armed()
    output = bench.send(np.zeros((0, 7)))
    assert [report.outcome for report in output.reports] == [GoalOutcome.ACCEPTED, GoalOutcome.COMPLETED]
    assert output.status.mode is ArmMode.IDLE
    np.testing.assert_array_equal(bench.q, HOME)


def test_turning_on_the_spot_and_increments_of_nothing():
    bench = Bench().armed()
    increments = np.zeros((4, 7))
    increments[1, 5] = increments[3, 5] = 0.4
    start = bench.tool()
    bench.send(increments)
    bench.run(2000, until=ArmMode.IDLE)
    turn = increments_between(np.stack([start, bench.tool()]))[0]
    np.testing.assert_allclose(turn, [0, 0, 0, 0, 0, 0.8], atol=1e-6)


def test_the_step_function_is_pure():
    bench = Bench().armed()
    bench.send(straight(dx=0.1))
    bench.run(20)
    state, q = bench.state, bench.q.copy()
    first = bench.tick().q_target_rad
    bench.state, bench.q, bench.now_ns = state, q, bench.now_ns - TICK_NS
    np.testing.assert_array_equal(bench.tick().q_target_rad, first)


def test_jerk_is_limited():
    bench = Bench(make_controller(options=ControllerOptions(dt_s=0.002))).armed()
    bench.send(straight(dz=0.15, count=5))
    bench.run(150)
    bench.gate = False
    bench.run(300)
    p = bench.controller.planner.kinematics.forward(np.array(bench.commands))[:, 2, 3]
    jerk = np.abs(np.diff(p, n=3)).max() / 0.002**3
    limits, timing = bench.controller.planner.limits, bench.controller.planner.timing
    assert jerk <= 1.1 * limits.tool_acceleration_mps2 / timing.jerk_s


def test_warming_up_changes_nothing():
    controller = make_controller()
    controller.warm_up()
    assert Bench(controller).armed().outputs[-1].status.mode is ArmMode.IDLE
