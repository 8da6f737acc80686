"""What a goal, a stop and arming leave behind in the controller's state and report."""

from __future__ import annotations

import numpy as np
import pytest
from arm_bench import Bench, straight

from embodied_iqa.arm.horizon_options import Horizon, HorizonOptions
from embodied_iqa.arm.robot import controller as controller_module
from embodied_iqa.arm.robot.controller import make_controller
from embodied_iqa.arm.robot.controller_options import ControllerOptions
from embodied_iqa.arm.robot.joining import TimedChunk, UnderWay, join_chunk
from embodied_iqa.arm.robot.messages import ArmInputs, ArmMode, GoalOutcome, StopCause
from embodied_iqa.arm.robot.planning import Planner, plan_goal
from embodied_iqa.arm.robot.timing import TimedPath
from embodied_iqa.arm.verdict import Verdict

SHORT = straight(dx=0.02)
LONG = straight(dz=0.15, count=5)


def test_arming_clears_the_reason_the_cause_and_the_count():
    bench = Bench().armed()
    status = bench.outputs[-1].status
    assert (status.mode, status.reason, status.sequence, status.cause) == (ArmMode.IDLE, "", -1, None)
    bench.send(SHORT, sequence=4)
    output = bench.tick(stop="stop button pressed")
    assert (output.status.mode, output.status.reason) == (ArmMode.STOPPED, "stop button pressed")
    assert output.status.cause is StopCause.REQUESTED
    bench.run(60)
    status = bench.tick(arm=True).status
    assert (status.mode, status.reason, status.sequence, status.cause) == (ArmMode.IDLE, "", -1, None)


def test_arming_an_armed_arm_does_nothing():
    bench = Bench().armed()
    bench.send(SHORT, sequence=5)
    bench.run(1000, until=ArmMode.IDLE)
    bench.tick(arm=True)
    assert bench.send(SHORT, sequence=5).reports[0].reason == "goal 5 is not newer than goal 5"
    bench.send(LONG, sequence=6)
    assert bench.tick(arm=True).status.mode is ArmMode.EXECUTING


def test_a_lost_arm_is_stopped_by_its_driver():
    bench = Bench().armed()
    bench.send(LONG)
    bench.run(20)
    bench.now_ns += bench.tick_ns
    _, output = bench.controller.step(bench.state, ArmInputs(lost="the cable is out"), bench.now_ns)
    assert output.stop is not None
    assert (output.stop.reason, output.stop.stop_driver) == ("the cable is out", True)
    assert output.status.reason == "the cable is out"
    assert output.q_target_rad is None


def test_leases_count_in_a_tick_without_a_measured_state():
    bench = Bench().armed()
    lease = bench.lease()
    state, _ = bench.controller.step(bench.state, ArmInputs(None, leases=(lease,)), bench.now_ns)
    assert state.book.of_frame(lease.view, lease.frame_stamp_ns) == lease
    assert state.measured is bench.state.measured


def test_the_status_counts_the_steps_of_the_goal():
    bench = Bench().armed()
    bench.send(LONG)
    bench.run(2000, until=ArmMode.IDLE)
    steps = [output.status.step for output in bench.outputs[1:]]
    assert steps == sorted(steps)
    assert set(steps) == {0, 1, 2, 3, 4, 5}
    closing = bench.send(straight(grip=1.0, count=2), sequence=2)
    assert (closing.status.step, closing.status.steps) == (0, 2)
    np.testing.assert_array_equal(bench.state.qd_command_radps, np.zeros(6))


def test_an_empty_goal_ends_a_hold():
    bench = Bench().armed()
    assert bench.tick(goal=bench.goal(SHORT, age_ns=-(10**9))).status.reason.endswith("in the future")
    output = bench.send(np.zeros((0, 7)), sequence=2)
    assert (output.status.mode, output.status.reason) == (ArmMode.IDLE, "")


def test_a_goal_that_was_given_up_is_not_reported_twice():
    bench = Bench().armed()
    bench.send(LONG)
    bench.run(30)
    bench.gate = False
    bench.tick(leases=(bench.lease(Verdict.REJECT),))
    while not (bench.state.run is None or bench.state.run.progress.is_still):
        bench.tick()
    assert bench.state.run is not None
    stopped, output = bench.controller.step(bench.state, ArmInputs(stop="enough"), bench.now_ns)
    assert (stopped.mode, output.reports) == (ArmMode.STOPPED, ())
    output = bench.send(SHORT, sequence=2)
    assert [(report.sequence, report.outcome) for report in output.reports] == [(2, GoalOutcome.ACCEPTED)]


def test_warming_up_plans_a_motion(monkeypatch: pytest.MonkeyPatch):
    plans = []

    def noted(*arguments: object) -> object:
        plans.append(plan_goal(*arguments))
        return plans[-1]

    monkeypatch.setattr(controller_module, "plan_goal", noted)
    make_controller().warm_up()
    ((segment,),) = plans
    assert segment.motion is not None
    assert segment.gripper is None


@pytest.mark.parametrize("rate_hz", [10.0, 100.0])
def test_warming_up_joins_motions_of_the_tool_and_of_joints(monkeypatch: pytest.MonkeyPatch, rate_hz: float):
    joined = []

    def noted(planner: Planner, chunk: TimedChunk, under_way: UnderWay) -> object:
        joined.append((chunk.joints_rad is not None, join_chunk(planner, chunk, under_way)))
        return joined[-1]

    monkeypatch.setattr(controller_module, "join_chunk", noted)
    horizon = HorizonOptions(Horizon.RECEDING, step_rate_hz=rate_hz)
    make_controller(options=ControllerOptions(horizon=horizon)).warm_up()
    assert [in_joints for in_joints, _ in joined] == [False, True]
    assert all(isinstance(motion, TimedPath) for _, motion in joined)
