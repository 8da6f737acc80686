"""Faults: each stops the arm in time, and nothing moves again by itself."""

from __future__ import annotations

import numpy as np
import pytest
from arm_bench import FRAME_NS, MS, TICK_NS, TTL_NS, Bench, straight

from embodied_iqa.arm.robot.messages import ArmMode, GoalOutcome, RobotFault, StopCause
from embodied_iqa.arm.verdict import Verdict
from embodied_iqa.imaging.images.frame import View

LONG = straight(dz=0.15, count=5)


def _moving() -> Bench:
    bench = Bench().armed()
    bench.send(LONG)
    bench.run(30)
    assert bench.outputs[-1].status.tool_speed_mps > 0.2
    return bench


def _limits_kept(bench: Bench) -> None:
    limits = bench.controller.planner.limits
    qd = bench.speeds()
    assert np.abs(qd).max() <= limits.joint_speed_radps
    assert np.abs(np.diff(qd, axis=0)).max() / (TICK_NS / 1e9) <= limits.joint_acceleration_radps2


def _still_within(bench: Bench, span_ns: int) -> None:
    """The commanded speed is zero at the latest ``span_ns`` from now, and stays zero."""
    moved = []
    for _ in range(span_ns // TICK_NS):
        bench.tick()
        moved.append(float(np.abs(bench.commands[-1] - bench.commands[-2]).max()))
    for _ in range(50):
        bench.tick()
        assert np.abs(bench.commands[-1] - bench.commands[-2]).max() == 0.0
    assert bench.outputs[-1].status.tool_speed_mps == 0.0


def test_nothing_moves_before_arming():
    bench = Bench()
    output = bench.send(LONG)
    assert output.q_target_rad is None
    assert output.reports[0].outcome is GoalOutcome.REFUSED
    assert output.status.mode is ArmMode.DISARMED


@pytest.mark.parametrize("phase", range(4))
def test_when_the_gate_dies_the_arm_holds_in_time(phase: int):
    bench = _moving()
    bench.run(phase)
    bench.tick(leases=(bench.lease(),))
    bench.gate = False
    dead_ns = bench.now_ns
    while bench.outputs[-1].status.mode is ArmMode.EXECUTING:
        bench.tick()
    assert bench.now_ns - dead_ns <= TTL_NS + TICK_NS
    assert bench.outputs[-1].status.mode is ArmMode.HOLDING
    assert "ran out" in bench.outputs[-1].status.reason
    _still_within(bench, dead_ns + 200 * MS - bench.now_ns)
    _limits_kept(bench)


def test_a_late_gate_slows_the_arm_and_a_fresh_pass_resumes_the_same_goal():
    bench = _moving()
    bench.gate = False
    bench.run(60)
    held = bench.q.copy()
    assert bench.outputs[-1].status.holds == 1
    bench.gate = True
    assert bench.run(3000, until=ArmMode.IDLE) < 3000
    assert bench.outputs[-1].status.holds == 1
    assert np.abs(bench.q - held).max() > 0.01
    _limits_kept(bench)


def test_leases_at_the_camera_rate_never_slow_the_arm():
    bench = _moving()
    bench.run(3000, until=ArmMode.IDLE)
    assert all("slows" not in output.status.reason for output in bench.outputs)
    assert FRAME_NS < TTL_NS


def test_a_hold_verdict_holds_at_once():
    bench = _moving()
    bench.gate = False
    output = bench.tick(leases=(bench.lease(Verdict.HOLD),))
    assert output.status.mode is ArmMode.HOLDING
    assert output.status.reason == "blurred"
    _still_within(bench, 120 * MS)


def test_an_old_pass_does_not_outweigh_a_newer_hold():
    bench = _moving()
    bench.gate = False
    old = bench.lease(stamp_ns=bench.now_ns - 20 * MS, ttl_ns=900 * MS)
    output = bench.tick(leases=(bench.lease(Verdict.HOLD), old))
    assert output.status.mode is ArmMode.HOLDING
    _still_within(bench, 120 * MS)


def test_a_lease_is_not_believed_for_ever():
    bench = _moving()
    bench.gate = False
    output = bench.tick(leases=(bench.lease(ttl_ns=3600 * 1000 * MS),))
    bench.run(130)
    permission = bench.state.book.permission((View.WRIST,), bench.now_ns)
    assert output.status.mode is ArmMode.EXECUTING
    assert permission.verdict is Verdict.HOLD


def test_too_long_a_hold_abandons_the_goal():
    bench = _moving()
    bench.gate = False
    bench.run(int(5.3e9) // TICK_NS)
    reports = [report for output in bench.outputs for report in output.reports]
    assert reports[-1].outcome is GoalOutcome.ABANDONED
    assert reports[-1].reason.startswith("held for 5.0 s: the lease of the wrist view ran out")
    assert reports[-1].reason in {output.status.reason for output in bench.outputs}
    bench.gate = True
    _still_within(bench, 0)
    bench.send(straight(dx=0.02), sequence=2)
    assert bench.run(1000, until=ArmMode.IDLE) < 1000


def test_reject_abandons_and_wants_a_new_frame():
    bench = _moving()
    bench.gate = False
    rejected = bench.lease(Verdict.REJECT)
    output = bench.tick(leases=(rejected,))
    assert output.status.mode is ArmMode.HOLDING
    assert output.reports[0].outcome is GoalOutcome.ABANDONED
    bench.gate = True
    _still_within(bench, 120 * MS)
    refused = bench.tick(goal=bench.goal(LONG, sequence=2, age_ns=bench.now_ns - rejected.frame_stamp_ns))
    assert refused.reports[0].outcome is GoalOutcome.REFUSED
    bench.send(straight(dx=0.02), sequence=3)
    assert bench.outputs[-1].status.mode is ArmMode.EXECUTING


def test_a_stale_frame_is_refused_with_the_reason():
    bench = Bench().armed()
    bench.run(250)
    stale = bench.goal(LONG, age_ns=1600 * MS)
    output = bench.tick(goal=stale, leases=(bench.lease(stamp_ns=stale.frame_stamp_ns),))
    assert output.status.mode is ArmMode.HOLDING
    assert "old" in output.status.reason
    assert output.reports[0].outcome is GoalOutcome.REFUSED
    _still_within(bench, 0)


def test_a_frame_without_a_lease_or_from_the_future_is_refused():
    bench = Bench().armed()
    bench.run(10)
    assert "not leased" in bench.tick(goal=bench.goal(LONG, age_ns=13)).status.reason
    assert "future" in bench.tick(goal=bench.goal(LONG, age_ns=-500 * MS)).status.reason


def test_a_frame_from_before_standstill_is_refused():
    bench = _moving()
    stamp_ns = bench.now_ns
    bench.tick(leases=(bench.lease(stamp_ns=stamp_ns),))
    bench.run(3000, until=ArmMode.IDLE)
    output = bench.tick(goal=bench.goal(LONG, 2, age_ns=bench.now_ns - stamp_ns))
    assert "before the arm stood still" in output.status.reason


BAD = {
    "nan": np.nan,
    "infinite": np.inf,
    "ten metres": 10.0,
    "huge": 1e300,
}


@pytest.mark.parametrize("value", BAD.values(), ids=BAD)
@pytest.mark.parametrize("column", [0, 2, 4])
@pytest.mark.parametrize("while_moving", [False, True])
def test_bad_numbers_stop_and_disarm(value: float, column: int, while_moving: bool):
    bench = _moving() if while_moving else Bench().armed()
    bad = LONG.copy()
    bad[2, column] = value
    output = bench.send(bad, sequence=2)
    assert output.status.mode is ArmMode.STOPPED
    assert output.stop.cause is StopCause.LIMIT
    assert not output.stop.stop_driver
    _still_within(bench, 120 * MS)
    _limits_kept(bench)
    assert bench.outputs[-1].q_target_rad is None


@pytest.mark.parametrize(
    ("increments", "word"),
    [
        (straight(dz=0.6, count=5), "table"),
        (straight(dy=0.9, count=10), "at x from"),
        (straight(dz=-0.9, count=10), "at z"),
        (straight(dx=0.1, count=200), "increments"),
        (straight(grip=1.5), "gripper"),
        (np.zeros((3, 6)), "shape"),
    ],
)
def test_each_limit_is_named(increments: np.ndarray, word: str):
    bench = Bench().armed()
    output = bench.send(increments)
    assert output.status.mode is ArmMode.STOPPED
    assert word in output.stop.reason
    np.testing.assert_array_equal(bench.commands[-1], bench.commands[-2])


def test_after_a_stop_nothing_moves_without_arming_and_old_goals_never_resume():
    bench = _moving()
    output = bench.tick(stop="stop button pressed")
    assert output.stop.cause is StopCause.REQUESTED
    assert output.reports[0].outcome is GoalOutcome.ABANDONED
    _still_within(bench, 120 * MS)
    _limits_kept(bench)
    bench.send(LONG, sequence=2)
    assert bench.outputs[-1].reports[0].outcome is GoalOutcome.REFUSED
    old = bench.goal(LONG, sequence=3)
    leases = (bench.lease(),)
    _still_within(bench, 0)
    bench.tick(arm=True)
    assert bench.outputs[-1].status.mode is ArmMode.IDLE
    _still_within(bench, 0)
    late = bench.tick(goal=old, leases=leases)
    assert "before the arm was armed" in late.status.reason
    bench.send(straight(dx=0.02), sequence=4)
    assert bench.run(1000, until=ArmMode.IDLE) < 1000


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        *(
            ({"fault": RobotFault(cause, "a fault")}, cause)
            for cause in StopCause
            if cause in {"protective stop", "emergency stop", "watchdog", "program ended"}
        ),
        ({"contact": "40 N on the tool"}, StopCause.CONTACT),
        ({"q_rad": np.full(6, np.nan)}, StopCause.STATE_LOST),
        ({"q_rad": np.zeros(5)}, StopCause.STATE_LOST),
        ({"q_rad": np.zeros(6)}, StopCause.FOLLOWING),
    ],
)
@pytest.mark.parametrize("while_moving", [False, True])
def test_what_the_arm_measures_stops_it_at_once(fault: dict, cause: StopCause, while_moving: bool):
    bench = _moving() if while_moving else Bench().armed()
    bench.faults = fault
    output = bench.tick()
    assert output.stop.cause is cause
    assert output.stop.stop_driver
    assert output.q_target_rad is None
    assert output.status.mode is ArmMode.STOPPED
    bench.tick(arm=True)
    if cause is not StopCause.FOLLOWING:
        assert "cannot be armed" in bench.outputs[-1].status.reason
        assert bench.outputs[-1].status.mode is ArmMode.STOPPED


def test_an_arm_that_stands_still_while_its_controller_listens_is_noticed_in_a_second():
    bench = Bench().armed()
    bench.faults = {"q_rad": bench.commands[-1].copy()}
    bench.send(straight(dx=0.05))
    bench.run(100, until=ArmMode.IDLE)
    done_ns, apart = bench.now_ns, np.abs(bench.commands[-1] - bench.faults["q_rad"]).max()
    assert 0.02 < apart < bench.controller.planner.limits.following_rad
    while bench.outputs[-1].stop is None:
        bench.tick()
    assert bench.outputs[-1].stop.cause is StopCause.FOLLOWING
    assert f"stands still: joint 1 is {apart:.2f} rad from its command" in bench.outputs[-1].stop.reason
    assert bench.now_ns - done_ns <= 1000 * MS + TICK_NS
    bench.tick(arm=True)  # the command begins anew where the arm is
    assert bench.run(200, until=ArmMode.STOPPED) == 200


@pytest.mark.parametrize(
    ("apart_rad", "creeps_radps", "is_stopped"),
    [(0.03, 0.0, True), (0.019, 0.0, False), (0.1, 0.0015, True), (0.1, 0.003, False)],
)
def test_an_arm_near_its_command_or_on_its_way_is_left_alone(
    apart_rad: float, creeps_radps: float, is_stopped: bool
):
    """It creeps as under a controller that scales its speed to 1 %."""
    bench = Bench().armed()
    away = np.array([1.0, 0, 0, 0, 0, 0])
    for tick in range(250):
        moved_rad = creeps_radps * tick * TICK_NS / 1e9
        bench.faults = {"q_rad": bench.commands[-1] + away * (apart_rad - moved_rad)}
        bench.tick()
    assert (bench.outputs[-1].status.cause is StopCause.FOLLOWING) == is_stopped


def test_a_fault_that_is_over_does_not_keep_a_standing_world_from_arming():
    bench = Bench().armed()
    bench.faults = {"fault": RobotFault(StopCause.WATCHDOG, "a fault")}
    assert bench.tick().status.mode is ArmMode.STOPPED
    bench.faults = {}
    bench.now_ns -= bench.tick_ns  # the robot has been armed, its state has the stamp that it had
    assert bench.tick(arm=True).status.mode is ArmMode.IDLE


def test_a_frozen_state_stops_the_arm():
    bench = _moving()
    bench.measuring = False
    frozen_ns = bench.now_ns
    while bench.outputs[-1].stop is None:
        bench.tick()
    assert bench.outputs[-1].stop.cause is StopCause.STATE_LOST
    assert bench.now_ns - frozen_ns <= 100 * MS + TICK_NS
    _still_within(bench, 0)
    bench.tick(arm=True)
    assert bench.outputs[-1].status.mode is ArmMode.STOPPED


def test_a_state_that_repeats_its_stamp_counts_as_none():
    bench = _moving()
    bench.faults = {"stamp_ns": bench.now_ns}
    bench.run(20, until=ArmMode.STOPPED)
    assert bench.state.mode is ArmMode.STOPPED


def test_a_second_goal_waits_its_turn():
    bench = _moving()
    bench.send(straight(dx=0.01), sequence=2)
    assert "busy" in bench.outputs[-1].reports[0].reason
    assert bench.outputs[-1].status.sequence == 1
    bench.run(3000, until=ArmMode.IDLE)
    again = bench.send(straight(dx=0.01), sequence=1)
    assert "not newer" in again.reports[0].reason
