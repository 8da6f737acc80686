"""Runs an arm's controller: goals, leases and measured states in; targets, reports and status out."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.robot.controller import ArmController
from embodied_iqa.arm.robot.leases import LeaseBook
from embodied_iqa.arm.robot.messages import (
    ArmGoal,
    ArmInputs,
    ArmMode,
    ArmOutput,
    ArmState,
    ArmStatus,
    GoalOutcome,
    GoalReport,
    StopEvent,
)
from embodied_iqa.arm.robot.state import ControllerState
from embodied_iqa.arm.verdict import GateLease
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.state_history import StateHistory

_LEASES_KEPT: Final = 32


@dataclass(frozen=True, slots=True, eq=False)
class ArmReport:
    """State of the arm, as /arm/status, /arm/joint_states and /arm/tool_pose carry it.

    Attributes:
        measured: The measured state behind this report.
        status: What the controller does, and why.
        emergency_stop: A limit, a contact or a safety stop stopped the arm since it was armed.
        goal_sequence: The goal in work, or None.
        ended: The last goal that ended since the arm was armed, or None.
        holds: Times that the arm had to hold since it was armed.
        refused: Goals refused since the arm was armed.
        T_base_tool: ``(4, 4)`` float64, the measured tool (m); None between two periodic reports.
    """

    measured: ArmState
    status: ArmStatus
    emergency_stop: bool
    goal_sequence: int | None
    ended: GoalReport | None
    holds: int
    refused: int
    T_base_tool: NDArray[np.float64] | None

    @property
    def is_ready(self) -> bool:
        """Whether the arm is armed and has nothing to execute."""
        return self.status.mode in {ArmMode.IDLE, ArmMode.HOLDING} and self.goal_sequence is None

    @property
    def is_completed(self) -> bool:
        """Whether the last goal that ended was executed to its end."""
        return self.ended is not None and self.ended.outcome is GoalOutcome.COMPLETED


@dataclass(frozen=True, slots=True, eq=False)
class ArmTick:
    """What to do after a step of the controller.

    Attributes:
        q_target_rad: ``(6,)`` joint target to stream, or None.
        gripper_target: New target of the gripper, in [0, 1]; None where it has not changed.
        stop: A stop that happened in this step, or None; with ``stop_driver`` the driver has to stop the arm.
        goals: Outcomes of goals in this step.
        report: To publish, or None: reports are periodic, and follow each change of mode, reason or goal.
    """

    q_target_rad: NDArray[np.float64] | None
    gripper_target: float | None
    stop: StopEvent | None
    goals: tuple[GoalReport, ...]
    report: ArmReport | None


class ArmRunner:
    """Holds the state of a controller between its steps; time comes with measured states.

    A goal waits for the verdict on its frame, and for the one on the decision where the frame's lease
    requires it, at most until the frame is `LeaseOptions.wait_s` old.

    Args:
        controller: The controller.
        report_rate_hz: Periodic reports per second.
    """

    def __init__(self, controller: ArmController, *, report_rate_hz: float) -> None:
        self._controller = controller
        self._report_period_ns = round(SECOND_NS / report_rate_hz)
        self.state = ControllerState()
        self.holds = self.refused = self.goals_lost = 0
        self._inputs = ArmInputs()
        self._goal: ArmGoal | None = None
        self._judged: deque[GateLease] = deque(maxlen=_LEASES_KEPT)
        self._emergency = False
        self._ended: GoalReport | None = None
        self._gripper_sent: float | None = None
        self._next_report_ns = 0
        self._reported = (ArmMode.DISARMED, "", -1)
        self._watched: tuple[int, int] | None = None  # the newest state, and when it was first watched
        self._commands: StateHistory[NDArray[np.float64]] = StateHistory()

    def take_lease(self, lease: GateLease) -> None:
        """Note a lease for the next step."""
        self._judged.append(lease)
        self._inputs = replace(self._inputs, leases=(*self._inputs.leases, lease)[-_LEASES_KEPT:])

    def take_goal(self, goal: ArmGoal) -> None:
        """Note a goal; it replaces one that still waits for its lease, which is counted in `goals_lost`."""
        self.goals_lost += self._goal is not None
        self._goal = goal

    def arm(self, measured: ArmState) -> ArmTick:
        """Arm; see ``state`` for the result. Goals and leases from before are dropped."""
        self._goal, self._inputs = None, ArmInputs(arm=True)
        self._commands = StateHistory()
        self._next_report_ns = 0  # a policy that starts now gets the present pose and gripper
        return self._step(measured)

    def stop(self, reason: str, measured: ArmState | None) -> ArmTick | None:
        """Brake and disarm; without a measured state, at the next tick."""
        self._goal, self._inputs = None, ArmInputs(stop=reason)
        return None if measured is None else self._step(measured)

    def tick(self, measured: ArmState) -> ArmTick | None:
        """Answer a measured state; None while its time stands still, except for a stop that waits.

        A disarmed arm begins anew with a state from before the last one by more than the timeout, as when the
        clock was set back: leases of the time before are forgotten. An armed one is stopped by `watch`.
        """
        last, state = self.state.measured, self.state
        if last is not None and measured.stamp_ns <= last.stamp_ns and not self._inputs.stop:
            behind_ns = last.stamp_ns - measured.stamp_ns
            if state.is_armed or state.run or behind_ns <= self._controller.options.state_timeout_ns:
                return None
            self.state = replace(state, measured=None, book=LeaseBook())
            self._judged.clear()
        return self._step(measured)

    def watch(self, now_ns: int, lost: str = "") -> ArmTick | None:
        """Stop an armed arm that sends no states: after a timeout, or at once where it is known to be lost.

        A state of the future, as after a clock was set back, lasts no longer than any other: the timeout,
        from when it was first watched. It is no fault by itself: a simulated clock may arrive after a state.

        Args:
            now_ns: ROS time.
            lost: Why the arm is known to be lost; empty where it is not.
        """
        state, measured = self.state, self.state.measured
        if self._watched is None or self._watched[0] != state.seen_ns:
            self._watched = (state.seen_ns, now_ns)
        timeout_ns, age_ns = self._controller.options.state_timeout_ns, now_ns - state.seen_ns
        is_late = abs(age_ns) > timeout_ns and (age_ns > 0 or abs(now_ns - self._watched[1]) > timeout_ns)
        if measured is None or not state.is_armed or not (lost or is_late):
            return None
        self.state, output = self._controller.step(state, ArmInputs(lost=lost), now_ns)
        self._note(output)
        return ArmTick(None, None, output.stop, output.reports, self._report(measured, output.status))

    def _step(self, measured: ArmState) -> ArmTick:
        goal = self._goal_at(measured.stamp_ns)
        inputs, self._inputs = replace(self._inputs, measured=measured, goal=goal), ArmInputs()
        self.state, output = self._controller.step(self.state, inputs, measured.stamp_ns)
        self._note(output)
        if self.state.q_command_rad is not None:
            self._commands.add(measured.stamp_ns, self.state.q_command_rad)
        gripper_target = None if output.gripper_target == self._gripper_sent else output.gripper_target
        if gripper_target is not None:
            self._gripper_sent = gripper_target
        if inputs.arm and self.state.is_armed:
            self._emergency, self._ended = False, None
            self.holds = self.refused = 0
            self._gripper_sent = self.state.gripper_target
        stopped = output.stop is not None and output.stop.stop_driver
        q_target_rad = None if stopped else output.q_target_rad
        report = self._report(measured, output.status)
        return ArmTick(q_target_rad, gripper_target, output.stop, output.reports, report)

    def _goal_at(self, now_ns: int) -> ArmGoal | None:
        """Return the waiting goal once all is judged that has to be, or has not been for too long."""
        goal = self._goal
        if goal is None:
            return None
        if (
            not all(self._is_judged(goal, *frame) for frame in goal.frames)
            and now_ns - goal.frame_stamp_ns < self._controller.options.lease.wait_ns
        ):
            return None
        self._goal = None
        if self._controller.options.horizon.is_receding and not goal.whole:
            return replace(goal, q_frame_rad=self._commanded_at(goal.frame_stamp_ns))
        return goal

    def _is_judged(self, goal: ArmGoal, view: View, stamp_ns: int) -> bool:
        """Return whether the verdict on a frame of the goal is there, and that on the decision if need be."""
        verdicts = [lease for lease in self._judged if (lease.view, lease.frame_stamp_ns) == (view, stamp_ns)]
        return any(
            not lease.needs_decision
            or view != goal.view
            or any(other.decision == goal.sequence for other in verdicts)
            for lease in verdicts
            if lease.decision is None
        )

    def _commanded_at(self, stamp_ns: int) -> NDArray[np.float64] | None:
        """Return the commanded joints at a stamp; None before the arm was armed."""
        around = self._commands.around(stamp_ns)
        if around is None:
            return None
        (before_ns, before), (after_ns, after) = around
        share = 0.0 if after_ns == before_ns else (stamp_ns - before_ns) / (after_ns - before_ns)
        return before + share * (after - before)

    def _note(self, output: ArmOutput) -> None:
        for report in output.reports:
            self.refused += report.outcome is GoalOutcome.REFUSED
            if report.outcome is not GoalOutcome.ACCEPTED:
                self._ended = report
        if output.stop is not None:
            self._emergency |= output.stop.cause.is_emergency
        self.holds += output.status.mode is ArmMode.HOLDING and self._reported[0] is not ArmMode.HOLDING

    def _report(self, measured: ArmState, status: ArmStatus) -> ArmReport | None:
        news = (status.mode, status.reason, -1 if self._ended is None else self._ended.sequence)
        stamp_ns, next_ns = measured.stamp_ns, self._next_report_ns
        is_due = stamp_ns >= next_ns or stamp_ns < next_ns - SECOND_NS  # the clock was set back
        if not is_due and news == self._reported:
            return None
        self._reported = news
        T_base_tool = None
        if is_due:
            self._next_report_ns = stamp_ns + self._report_period_ns
            T_base_tool = self._controller.planner.kinematics.forward(measured.q_rad)
        return ArmReport(
            measured=measured,
            status=status,
            emergency_stop=self._emergency,
            goal_sequence=None if self.state.run is None else self.state.run.goal.sequence,
            ended=self._ended,
            holds=self.holds,
            refused=self.refused,
            T_base_tool=T_base_tool,
        )


def why_not_yet(measured: ArmState | None, from_ns: int) -> str:
    """Return why an arm cannot be armed for a run that begins at ``from_ns`` ROS time; empty if it can."""
    if measured is None:
        return "no state of the arm yet"
    if measured.stamp_ns >= from_ns:
        return ""
    behind_s = (from_ns - measured.stamp_ns) / SECOND_NS
    return f"the newest state of the arm is {behind_s:.3f} s older than requested"
