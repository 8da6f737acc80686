"""Goals that must not move the arm: each is refused with the reason, and its neighbour is accepted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from arm_bench import HOME, MS, Bench, straight

from embodied_iqa.arm.robot.controller import make_controller
from embodied_iqa.arm.robot.limits import ArmLimits
from embodied_iqa.arm.robot.messages import ArmMode, ArmOutput, GoalOutcome, RobotFault, StopCause
from embodied_iqa.arm.verdict import GateLease, Verdict
from embodied_iqa.imaging.images.frame import View

SHORT = straight(dx=0.02)
LONG = straight(dz=0.15, count=5)


def _bench(**limits: object) -> Bench:
    return Bench(make_controller(ArmLimits(**limits))).armed()


def _send(bench: Bench, lease: GateLease | None, sequence: int = 1, age_ns: int = 0) -> ArmOutput:
    """Send a goal on the frame of ``age_ns`` ago, at the tick after now."""
    goal = replace(bench.goal(SHORT, sequence), frame_stamp_ns=bench.now_ns + bench.tick_ns - age_ns)
    return bench.tick(goal=goal, leases=() if lease is None else (lease,))


def _next_lease(bench: Bench, verdict: Verdict = Verdict.PASS, age_ns: int = 0) -> GateLease:
    return bench.lease(verdict, stamp_ns=bench.now_ns + bench.tick_ns - age_ns)


def _refused(output: ArmOutput, bench: Bench) -> str:
    assert [report.outcome for report in output.reports] == [GoalOutcome.REFUSED]
    assert output.status.reason == output.reports[0].reason
    assert output.status.mode is ArmMode.HOLDING
    assert bench.state.run is None
    np.testing.assert_array_equal(bench.q, HOME)
    return output.reports[0].reason


@pytest.mark.parametrize("verdict", [Verdict.HOLD, Verdict.REJECT])
@pytest.mark.parametrize("reason", ["", "blurred"])
def test_a_goal_on_a_frame_that_did_not_pass_is_refused(verdict: Verdict, reason: str):
    bench = _bench()
    output = _send(bench, replace(_next_lease(bench, verdict), reason=reason))
    expected = f"the gate's verdict on the goal's wrist frame is {verdict.name}"
    expected += ": blurred" if reason else ""
    assert _refused(output, bench) == expected


def test_a_lease_of_another_camera_with_the_same_stamp_does_not_count():
    bench = _bench()
    wrist = _next_lease(bench)
    output = _send(bench, replace(wrist, view=View.TOP))
    assert _refused(output, bench) == "the gate has not leased the goal's wrist frame"
    bench = _bench()
    leases = (_next_lease(bench), replace(_next_lease(bench, Verdict.REJECT), view=View.TOP))
    output = bench.tick(
        goal=replace(bench.goal(SHORT), frame_stamp_ns=leases[0].frame_stamp_ns), leases=leases
    )
    assert output.status.mode is ArmMode.EXECUTING


@pytest.mark.parametrize("verdict", [None, Verdict.HOLD, Verdict.REJECT])
def test_the_gate_has_to_pass_every_frame_behind_a_goal(verdict: Verdict | None):
    bench = _bench()
    own = _next_lease(bench)
    other = (View.SIDE, own.frame_stamp_ns - 5 * MS)
    goal = replace(bench.goal(SHORT), frame_stamp_ns=own.frame_stamp_ns, other_frames=(other,))
    beside = replace(own, view=other[0], frame_stamp_ns=other[1])
    leases = (own, replace(beside, verdict=verdict, reason="dark")) if verdict is not None else (own,)
    expected = "the gate has not leased the goal's side frame"
    if verdict is not None:
        expected = f"the gate's verdict on the goal's side frame is {verdict.name}: dark"
    assert _refused(bench.tick(goal=goal, leases=leases), bench) == expected
    bench = _bench()
    assert bench.tick(goal=goal, leases=(own, beside)).status.mode is ArmMode.EXECUTING


def test_any_frame_behind_a_goal_may_be_too_old():
    bench = _bench()
    own = _next_lease(bench)
    other = (View.SIDE, bench.state.oldest_frame_ns - 1)
    goal = replace(bench.goal(SHORT), frame_stamp_ns=own.frame_stamp_ns, other_frames=(other,))
    beside = replace(own, view=other[0], frame_stamp_ns=other[1])
    reason = _refused(bench.tick(goal=goal, leases=(own, beside)), bench)
    assert reason == "the goal's frame was taken before the arm was armed"


@pytest.mark.parametrize("apart_ns", [-1, 1])
def test_a_lease_of_the_frame_before_or_after_does_not_count(apart_ns: int):
    bench = _bench()
    bench.gate = False
    bench.run(4)
    output = _send(bench, _next_lease(bench, age_ns=5 * MS + apart_ns), age_ns=5 * MS)
    assert _refused(output, bench) == "the gate has not leased the goal's wrist frame"


@pytest.mark.parametrize(("age_ns", "accepted"), [(1500 * MS, True), (1500 * MS + 1, False), (0, True)])
def test_a_frame_may_be_as_old_as_the_limit_and_no_older(age_ns: int, *, accepted: bool):
    bench = _bench()
    bench.gate = False
    bench.run(200)
    newest = _next_lease(bench)
    goal = replace(bench.goal(SHORT), frame_stamp_ns=newest.frame_stamp_ns - age_ns)
    output = bench.tick(goal=goal, leases=(_next_lease(bench, age_ns=age_ns), newest))
    if accepted:
        assert output.status.mode is ArmMode.EXECUTING
    else:
        late = "the decision came too late: its image is 1500 ms old, at most 1500 ms"
        assert _refused(output, bench) == late


def test_a_frame_from_the_future_says_by_how_much():
    bench = _bench()
    assert _refused(_send(bench, None, age_ns=-500 * MS), bench) == "the goal's frame is 500 ms in the future"


@pytest.mark.parametrize(("before_ns", "accepted"), [(0, True), (1, False)])
def test_the_frame_of_the_tick_of_arming_is_the_oldest_that_counts(before_ns: int, *, accepted: bool):
    bench = _bench()
    age_ns = bench.tick_ns + before_ns
    output = _send(bench, _next_lease(bench, age_ns=age_ns), age_ns=age_ns)
    if accepted:
        assert output.status.mode is ArmMode.EXECUTING
    else:
        assert _refused(output, bench) == "the goal's frame was taken before the arm was armed"


def test_a_goal_before_arming_is_refused_and_says_so():
    output = Bench().send(SHORT)
    assert [report.outcome for report in output.reports] == [GoalOutcome.REFUSED]
    assert output.reports[0].reason == "the arm is disarmed"


def test_a_goal_while_the_arm_brakes_is_refused_and_replaces_the_old_one_at_standstill():
    bench = _bench()
    bench.send(LONG)
    bench.run(30)
    bench.gate = False
    bench.tick(leases=(bench.lease(Verdict.HOLD),))
    braking = bench.send(SHORT, sequence=2)
    assert [report.reason for report in braking.reports] == ["the arm is still braking"]
    bench.run(60)
    replaced = bench.send(SHORT, sequence=2)
    assert [(report.sequence, report.outcome, report.reason) for report in replaced.reports] == [
        (1, GoalOutcome.ABANDONED, "replaced by goal 2"),
        (2, GoalOutcome.ACCEPTED, ""),
    ]
    status = replaced.status
    assert (status.mode, status.reason, status.sequence, status.step, status.steps, status.holds) == (
        ArmMode.EXECUTING, "", 2, 0, 1, 0,
    )  # fmt: skip


def test_a_policy_that_starts_anew_may_count_from_one_after_arming():
    bench = _bench()
    bench.send(SHORT, sequence=7)
    bench.run(1000, until=ArmMode.IDLE)
    assert bench.send(SHORT, sequence=7).reports[0].reason == "goal 7 is not newer than goal 7"
    bench.tick(stop="new trial")
    bench.tick(arm=True)
    assert bench.send(SHORT, sequence=0).reports[0].outcome is GoalOutcome.ACCEPTED


@pytest.mark.parametrize(
    ("fault", "cause", "reason"),
    [
        ({"fault": RobotFault(StopCause.PROTECTIVE, "C153A0")}, StopCause.PROTECTIVE, "C153A0"),
        ({"fault": RobotFault(StopCause.EMERGENCY, "pressed")}, StopCause.EMERGENCY, "pressed"),
        ({"contact": "40 N"}, StopCause.CONTACT, "contact: 40 N"),
    ],
)
def test_a_fault_while_braking_after_a_requested_stop_stops_the_driver(
    fault: dict[str, object], cause: StopCause, reason: str
):
    bench = _bench()
    bench.send(LONG)
    bench.run(30)
    bench.tick(stop="stop button pressed")
    assert bench.state.run is not None
    assert bench.outputs[-1].q_target_rad is not None
    bench.faults = fault
    output = bench.tick()
    assert output.stop is not None
    assert (output.stop.cause, output.stop.reason, output.stop.stop_driver) == (cause, reason, True)
    assert output.q_target_rad is None
    assert output.status.tool_speed_mps == 0.0
    assert (bench.state.run, output.reports) == (None, ())


def test_a_hold_says_whether_it_is_the_gates():
    bench = _bench()
    assert _send(bench, None, age_ns=-500 * MS).status.held_by_gate is False, "a frame from the future"
    assert _send(bench, _next_lease(bench, Verdict.HOLD), sequence=2).status.held_by_gate is True
    assert _send(bench, None, sequence=3, age_ns=-500 * MS).status.held_by_gate is False
    assert _send(bench, None, sequence=4).status.held_by_gate is True, "no lease"
    moving = _send(bench, _next_lease(bench), sequence=5)
    assert (moving.status.mode, moving.status.held_by_gate) == (ArmMode.EXECUTING, False)
    held = bench.tick(leases=(bench.lease(Verdict.HOLD),))
    assert (held.status.mode, held.status.held_by_gate) == (ArmMode.HOLDING, True)
