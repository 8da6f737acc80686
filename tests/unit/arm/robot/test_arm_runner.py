"""The runner of the arm's controller: what waits, what is reported and when, and what ends with re-arming."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from embodied_iqa.arm.lease_options import LeaseOptions
from embodied_iqa.arm.robot.arm_runner import ArmReport, ArmRunner, ArmTick
from embodied_iqa.arm.robot.controller import make_controller
from embodied_iqa.arm.robot.controller_options import ControllerOptions
from embodied_iqa.arm.robot.messages import ArmGoal, ArmMode, ArmState, GoalOutcome, GripperState, StopCause
from embodied_iqa.arm.verdict import GateLease, Verdict
from embodied_iqa.base.kinematics import HOME_Q_RAD
from embodied_iqa.base.units import MILLISECOND_NS
from embodied_iqa.imaging.images.frame import View

START_NS = 1_000_000_000_000
TICK_NS = 8 * MILLISECOND_NS
LEASE_WAIT_S = 0.1
CONTROLLER = make_controller(options=ControllerOptions(lease=LeaseOptions(wait_s=LEASE_WAIT_S)))


class Arm:
    """A runner on an arm that is always where it was last told to be."""

    def __init__(self) -> None:
        self.runner = ArmRunner(CONTROLLER, report_rate_hz=25.0)
        self.now_ns = START_NS
        self.measured = ArmState(START_NS, np.array(HOME_Q_RAD), np.zeros(6), GripperState(0.0))
        self.ticks: list[ArmTick] = []

    def arm(self) -> None:
        self.ticks.append(self.runner.arm(self.measured))
        assert self.runner.state.is_armed

    def tick(self, count: int = 1, *, leased: bool = True) -> list[ArmTick]:
        for _ in range(count):
            self.now_ns += TICK_NS
            if leased:
                self.lease(self.now_ns)
            self.measured = replace(self.measured, stamp_ns=self.now_ns)
            tick = self.runner.tick(self.measured)
            assert tick is not None
            self.ticks.append(tick)
            if tick.q_target_rad is not None:
                self.measured = replace(self.measured, q_rad=tick.q_target_rad)
            if tick.gripper_target is not None:
                self.measured = replace(self.measured, gripper=GripperState(tick.gripper_target))
        return self.ticks[-count:]

    def lease(self, stamp_ns: int, verdict: Verdict = Verdict.PASS, **more: object) -> None:
        ends_ns = stamp_ns + 120 * MILLISECOND_NS
        self.runner.take_lease(GateLease(View.TOP, stamp_ns, verdict, verdict, ends_ns, **more))

    def goal(self, sequence: int = 1, *, gripper: float = 0.0, z_m: float = -0.02) -> None:
        row = np.array([[0.0, 0.0, -z_m, 0.0, 0.0, 0.0, gripper]])
        self.runner.take_goal(ArmGoal(row, View.TOP, self.now_ns, sequence))

    @property
    def reports(self) -> list[ArmReport]:
        return [tick.report for tick in self.ticks if tick.report is not None]

    @property
    def outcomes(self) -> list[GoalOutcome]:
        return [goal.outcome for tick in self.ticks for goal in tick.goals]


@pytest.fixture
def arm() -> Arm:
    made = Arm()
    made.arm()
    made.tick(3)
    return made


def test_a_goal_waits_for_the_verdict_on_its_frame(arm: Arm) -> None:
    arm.now_ns += TICK_NS
    arm.goal()
    arm.now_ns -= TICK_NS
    assert not arm.tick(leased=False)[0].goals
    arm.lease(arm.now_ns)
    assert [goal.outcome for goal in arm.tick()[0].goals] == [GoalOutcome.ACCEPTED]


def test_a_goal_waits_for_the_verdicts_on_all_its_frames(arm: Arm) -> None:
    arm.now_ns += TICK_NS
    frames = ((View.WRIST, arm.now_ns - 1),)
    row = np.array([[0.0, 0.0, 0.02, 0.0, 0.0, 0.0, 0.0]])
    arm.runner.take_goal(ArmGoal(row, View.TOP, arm.now_ns, 1, other_frames=frames))
    arm.lease(arm.now_ns)
    arm.now_ns -= TICK_NS
    assert not arm.tick(3)[-1].goals
    stamp_ns = frames[0][1]
    wrist = GateLease(View.WRIST, stamp_ns, Verdict.PASS, Verdict.PASS, stamp_ns + 120 * MILLISECOND_NS)
    arm.runner.take_lease(replace(wrist, needs_decision=True))  # the decision is judged on its own frame
    assert [goal.outcome for goal in arm.tick()[0].goals] == [GoalOutcome.ACCEPTED]


def test_a_goal_whose_frame_is_never_judged_is_refused_after_a_while(arm: Arm) -> None:
    arm.now_ns += 1
    arm.goal()
    arm.tick(round(LEASE_WAIT_S / 0.008))
    assert not arm.outcomes
    arm.tick(2)
    assert arm.outcomes == [GoalOutcome.REFUSED]
    assert arm.runner.refused == 1
    assert arm.reports[-1].status.mode is ArmMode.HOLDING


def test_the_newest_goal_replaces_one_that_waits(arm: Arm) -> None:
    arm.now_ns += 1
    arm.goal(1)
    arm.goal(2)
    assert arm.runner.goals_lost == 1


def test_a_goal_is_executed_and_the_gripper_told_once(arm: Arm) -> None:
    arm.goal(gripper=1.0)
    arm.tick(400)
    assert arm.outcomes == [GoalOutcome.ACCEPTED, GoalOutcome.COMPLETED]
    assert [tick.gripper_target for tick in arm.ticks if tick.gripper_target is not None] == [1.0]
    last = arm.reports[-1]
    assert (last.is_ready, last.is_completed, last.goal_sequence) == (True, True, None)
    assert np.ptp([tick.q_target_rad for tick in arm.ticks], axis=0).max() > 0.005


def test_reports_are_periodic_and_follow_changes(arm: Arm) -> None:
    arm.tick(50)
    stamps = [report.measured.stamp_ns for report in arm.reports]
    assert np.diff(stamps).tolist() == [40 * MILLISECOND_NS] * (len(stamps) - 1)
    assert all(report.T_base_tool is not None for report in arm.reports)
    arm.goal()
    (tick,) = arm.tick()
    assert tick.report is not None
    assert (tick.report.status.mode, tick.report.goal_sequence) == (ArmMode.EXECUTING, 1)


def test_time_that_stands_still_is_answered_for_a_stop_only(arm: Arm) -> None:
    assert arm.runner.tick(arm.measured) is None
    assert arm.runner.stop("a test", None) is None
    tick = arm.runner.tick(arm.measured)
    assert tick is not None
    assert tick.stop is not None
    assert (tick.stop.cause, arm.runner.state.mode) == (StopCause.REQUESTED, ArmMode.STOPPED)


def test_a_stop_on_request_is_no_emergency_and_a_limit_is_one_until_armed_again(arm: Arm) -> None:
    assert arm.runner.stop("a test", arm.measured) is not None
    arm.arm()
    arm.goal(z_m=-0.9)
    arm.tick(2)
    assert arm.reports[-1].emergency_stop
    assert arm.runner.refused == 1
    arm.tick(2)
    arm.arm()
    assert (arm.reports[-1].emergency_stop, arm.reports[-1].ended, arm.runner.refused) == (False, None, 0)


def test_an_armed_arm_that_is_silent_is_stopped(arm: Arm) -> None:
    timeout_ns = CONTROLLER.options.state_timeout_ns
    assert arm.runner.watch(arm.now_ns + timeout_ns) is None
    tick = arm.runner.watch(arm.now_ns + timeout_ns + 1)
    assert tick is not None
    assert tick.stop is not None
    assert (tick.stop.stop_driver, tick.q_target_rad) == (True, None)
    assert arm.runner.watch(arm.now_ns + 2 * timeout_ns) is None, "it is stopped"


def test_an_arm_is_not_armed_at_a_pose_of_before_the_clock_was_set_back(arm: Arm) -> None:
    arm.runner.watch(arm.now_ns, "the driver is lost")
    moved_rad, earlier_ns = arm.measured.q_rad + 0.1, arm.now_ns - 10_000 * MILLISECOND_NS
    tick = arm.runner.arm(replace(arm.measured, q_rad=moved_rad, stamp_ns=earlier_ns))
    assert not arm.runner.state.is_armed
    assert tick.q_target_rad is None
    assert "no measured state since the clock was set back by 10000 ms" in arm.runner.state.reason


@pytest.mark.parametrize("watched", [False, True])
def test_a_clock_that_is_set_back_stops_an_armed_arm(arm: Arm, watched: bool) -> None:
    timeout_ns, earlier_ns = CONTROLLER.options.state_timeout_ns, arm.now_ns - 10_000 * MILLISECOND_NS
    if watched:  # before the clock was set back
        assert arm.runner.watch(arm.now_ns) is None
    else:
        assert arm.runner.watch(earlier_ns) is None, "the clock may arrive after a state"
        assert arm.runner.watch(earlier_ns + timeout_ns) is None
        earlier_ns += timeout_ns + 1
    tick = arm.runner.watch(earlier_ns)
    assert tick is not None
    assert tick.stop is not None
    assert (tick.stop.cause, tick.stop.stop_driver) == (StopCause.STATE_LOST, True)


def test_an_arm_that_a_clock_set_back_has_stopped_can_be_armed_again(arm: Arm) -> None:
    arm.goal()
    arm.tick(3)
    assert arm.runner.state.run is not None
    arm.now_ns -= 10_000 * MILLISECOND_NS
    earlier = replace(arm.measured, stamp_ns=arm.now_ns)
    assert arm.runner.tick(earlier) is None, "it may have been overtaken"
    assert arm.runner.watch(arm.now_ns) is None
    tick = arm.runner.watch(arm.now_ns + CONTROLLER.options.state_timeout_ns + 1)
    assert tick is not None
    assert tick.stop is not None
    assert (tick.stop.cause, tick.stop.stop_driver) == (StopCause.STATE_LOST, True)
    assert "since the clock was set back by" in tick.stop.reason
    assert tick.q_target_rad is None
    (tick,) = arm.tick(leased=False)
    assert (tick.stop, tick.q_target_rad) == (None, None)
    arm.arm()
    assert arm.runner.state.book.permission((View.TOP,), arm.now_ns).reason == "no lease of the top view"
    arm.tick()
    arm.goal(2)
    arm.tick(400)
    assert arm.outcomes[-2:] == [GoalOutcome.ACCEPTED, GoalOutcome.COMPLETED]


def test_an_arm_that_is_known_to_be_lost_is_stopped_at_once(arm: Arm) -> None:
    tick = arm.runner.watch(arm.now_ns, "the connection is lost")
    assert tick is not None
    assert tick.stop is not None
    assert (tick.stop.cause, tick.stop.reason) == (StopCause.CONNECTION_LOST, "the connection is lost")
    assert tick.report is not None
    assert (tick.report.status.cause, tick.report.emergency_stop) == (StopCause.CONNECTION_LOST, False)


def test_a_refused_goal_is_not_completed_and_a_lease_may_come_before_arming() -> None:
    arm = Arm()
    arm.lease(START_NS)
    arm.arm()
    arm.goal(1)
    arm.runner.take_lease(GateLease(View.TOP, arm.now_ns, Verdict.HOLD, Verdict.HOLD, arm.now_ns))
    arm.tick(leased=False)
    assert arm.outcomes == [GoalOutcome.REFUSED]
    ended = arm.reports[-1]
    assert ended.ended is not None
    assert (ended.ended.outcome, ended.is_completed) == (GoalOutcome.REFUSED, False)
    assert ArmRunner(CONTROLLER, report_rate_hz=25.0).state.sequence == -1


def goal_that_needs_a_verdict_of_its_own(arm: Arm) -> int:
    """Send one whose frame passed; return the stamp of the frame."""
    arm.now_ns += TICK_NS
    arm.goal(sequence=4)
    arm.lease(arm.now_ns, needs_decision=True)
    arm.now_ns -= TICK_NS
    arm.tick(leased=False)
    assert not arm.outcomes
    return arm.now_ns


def test_a_goal_waits_for_the_verdict_on_the_decision_where_the_lease_requires_it(arm: Arm) -> None:
    stamp_ns = goal_that_needs_a_verdict_of_its_own(arm)
    arm.tick(3)  # later frames are leased without a second stage: they say nothing about this decision
    arm.lease(stamp_ns, decision=3)
    arm.tick(2)
    assert not arm.outcomes
    arm.lease(stamp_ns, decision=4)
    arm.tick()
    assert arm.outcomes == [GoalOutcome.ACCEPTED]


def test_a_decision_that_does_not_pass_is_held_by_the_gate(arm: Arm) -> None:
    stamp_ns = goal_that_needs_a_verdict_of_its_own(arm)
    arm.lease(stamp_ns, Verdict.HOLD, decision=4, reason="sees no cube")
    (tick,) = arm.tick()
    (refused,) = tick.goals
    assert (refused.outcome, refused.sequence) == (GoalOutcome.REFUSED, 4)
    assert refused.reason == "the gate's verdict on the decision is HOLD: sees no cube"
    assert arm.runner.state.gate_holds


def test_a_decision_that_is_never_judged_moves_nothing(arm: Arm) -> None:
    goal_that_needs_a_verdict_of_its_own(arm)
    ticks = arm.tick(round(LEASE_WAIT_S * 1e9) // TICK_NS + 1)
    (refused,) = [goal for tick in ticks for goal in tick.goals]
    assert refused.outcome is GoalOutcome.REFUSED
    assert "has not judged the decision" in refused.reason
    assert arm.runner.state.gate_holds


def test_a_later_and_worse_verdict_on_the_decision_wins(arm: Arm) -> None:
    stamp_ns = goal_that_needs_a_verdict_of_its_own(arm)
    arm.lease(stamp_ns, Verdict.REJECT, decision=4)
    arm.lease(stamp_ns, decision=4)
    arm.tick()
    assert arm.outcomes == [GoalOutcome.REFUSED]


def test_a_stop_between_two_states_does_not_move_the_arm_twice_in_one_period(arm: Arm) -> None:
    """The state has its target already: a second step on the path would double the speed of the arm."""
    arm.goal(z_m=-0.1)
    arm.tick(30)
    before = arm.measured.q_rad
    stopped = arm.runner.stop("enough", arm.measured)
    assert stopped is not None
    assert stopped.stop is not None
    assert not arm.runner.state.is_armed
    assert stopped.q_target_rad is not None
    assert np.array_equal(stopped.q_target_rad, before)
    targets = [before, *(tick.q_target_rad for tick in arm.tick(20) if tick.q_target_rad is not None)]
    steps = np.abs(np.diff(targets, axis=0)).max(axis=1)
    assert steps[0] > 0.0, "it brakes on its path"
    assert (np.diff(steps) <= 0.0).all()
    assert arm.runner.state.run is None
