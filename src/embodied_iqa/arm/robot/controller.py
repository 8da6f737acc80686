"""The arm's controller as a pure step function, used live and offline.

It moves only on a valid PASS of the gate, checks every limit, and after a stop stays stopped until it is
armed again.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.robot.acceptance import accept_goal
from embodied_iqa.arm.robot.controller_options import ControllerOptions
from embodied_iqa.arm.robot.goal_execution import advance_run
from embodied_iqa.arm.robot.health import fault_of, standstill, why_not_armed
from embodied_iqa.arm.robot.joining import TimedChunk, UnderWay, join_chunk
from embodied_iqa.arm.robot.limits import (
    ArmLimits,
    Violation,
    check_configurations,
    check_motion,
    check_positions,
    keeps_limits,
)
from embodied_iqa.arm.robot.messages import (
    ArmGoal,
    ArmInputs,
    ArmMode,
    ArmOutput,
    ArmStatus,
    GoalOutcome,
    GoalReport,
    StopCause,
    StopEvent,
)
from embodied_iqa.arm.robot.planning import Plan, Planner, plan_goal
from embodied_iqa.arm.robot.state import ControllerState
from embodied_iqa.base.kinematics import TOOL_2F140_M, CollisionModel, Kinematics, World, tool_along_z
from embodied_iqa.base.kinematics.models import ArmModel
from embodied_iqa.base.states import replace

Array = NDArray[np.float64]
_REGULAR_Q_RAD = np.array([0.0, -1.57, 1.57, -1.57, -1.57, 0.0])
"""A configuration far from every singularity."""
_WARM_UP_STEP_S = 0.1
"""A step of a fast policy is too short to be joined on its own."""

_REMEMBERED = 16
"""So many states, about as many as come while a CB3 brakes, decide how fast they come."""
_LONGEST_GAP = 10
"""A longer gap, in periods, counts as one of these: states that were lost for good stop the arm anyway."""

Stepped = tuple[ControllerState, tuple[GoalReport, ...], StopEvent | None]


@dataclass(frozen=True, slots=True, eq=False)
class ArmController:
    """Turns goals, leases and measured states into joint targets; has no state of its own.

    Attributes:
        planner: Arm, limits and planning options.
        options: Times and tolerances.
    """

    planner: Planner
    options: ControllerOptions = field(default_factory=ControllerOptions)

    def step(
        self, state: ControllerState, inputs: ArmInputs, now_ns: int
    ) -> tuple[ControllerState, ArmOutput]:
        """Advance by one tick of ``options.dt_s``.

        Args:
            state: From the tick before; ``ControllerState()`` at the start.
            inputs: Inputs since then.
            now_ns: ROS time.

        Returns:
            The new state and the output for the arm.
        """
        is_answered = _is_answered(state, inputs)
        state = _with_inputs(self.options, state, inputs, now_ns)
        state, reports, stop = self._react(state, inputs, now_ns)
        if state.run is not None and not is_answered:
            state, progress_reports = advance_run(self.options, state, state.run, now_ns)
            reports += progress_reports
            state, lost, refused = self._command(state, now_ns)
            stop, reports = refused or stop, reports + lost
        return state, _output(state, stop, reports)

    def warm_up(self) -> None:
        """Load the compiled code, which takes about half a second, before the first tick."""
        plan_goal(self.planner, np.array([[0.01, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]), _REGULAR_Q_RAD, 0.0)
        if self.options.horizon.is_receding:
            T_base_tool = self.planner.kinematics.forward(_REGULAR_Q_RAD)
            chunk = TimedChunk(np.zeros((1, 7)), T_base_tool, 0.0, _WARM_UP_STEP_S)
            for joints_rad in (None, np.tile(_REGULAR_Q_RAD, (2, 1))):
                join_chunk(self.planner, replace(chunk, joints_rad=joints_rad), UnderWay(_REGULAR_Q_RAD))

    def _react(self, state: ControllerState, inputs: ArmInputs, now_ns: int) -> Stepped:
        """Handle stops first, then arming, then goals."""
        if state.is_armed or state.run is not None:
            fault = fault_of(state, self.planner.limits, self.options, now_ns)
            if fault is not None:
                return _stopped(state, StopEvent(*fault, now_ns, stop_driver=True))
            if inputs.lost:
                event = StopEvent(StopCause.CONNECTION_LOST, inputs.lost, now_ns, stop_driver=True)
                return _stopped(state, event)
        if inputs.stop:
            return _stopped(state, StopEvent(StopCause.REQUESTED, inputs.stop, now_ns, stop_driver=False))
        if inputs.arm and not state.is_armed:
            state = self._arm(state, now_ns)
        before: Stepped = (state, (), None)
        if state.planning is not None:
            goal, plan = state.planning.goal, state.planning.plan
            before = self._take_goal(replace(state, planning=None), goal, now_ns, plan)
        if inputs.goal is None:
            return before
        state, reports, stop = self._take_goal(before[0], inputs.goal, now_ns)
        return state, before[1] + reports, before[2] or stop

    def _take_goal(
        self, state: ControllerState, goal: ArmGoal, now_ns: int, begun: Plan | None = None
    ) -> Stepped:
        state, reports, violation = accept_goal(self.planner, self.options, state, goal, now_ns, begun=begun)
        if violation is None:
            return state, reports, None
        event = StopEvent(StopCause.LIMIT, violation.reason, now_ns, stop_driver=False)
        state, lost, stop = _stopped(state, event)
        return state, reports + lost, stop

    def _arm(self, state: ControllerState, now_ns: int) -> ControllerState:
        obstacle = why_not_armed(state, self.planner.limits, self.options, now_ns)
        if obstacle is not None or state.measured is None:
            return replace(state, reason=f"cannot be armed: {obstacle}")
        q = np.array(state.measured.q_rad, dtype=np.float64)
        return replace(
            state,
            mode=ArmMode.IDLE,
            reason="",
            cause=None,
            q_command_rad=q,
            qd_command_radps=np.zeros(6),
            still_q_rad=None,
            tool_m=self.planner.kinematics.forward(q)[:3, 3],
            pace=1.0,
            planning=None,
            sequence=-1,  # the policy may have restarted; old goals are recognised by their frames
            gripper_target=None,  # someone may have moved it while disarmed: its measured position counts
            oldest_frame_ns=now_ns,
            oldest_frame_event="the arm was armed",
        )

    def _command(self, state: ControllerState, now_ns: int) -> Stepped:
        """Turn the run's progress into the joint command and check it again on its own."""
        run = state.run
        if run is None or run.segment.motion is None or state.q_command_rad is None or state.tool_m is None:
            return replace(state, qd_command_radps=np.zeros(6), tool_speed_mps=0.0), (), None
        dt_s = self.options.dt_s
        q = np.ascontiguousarray(run.segment.motion.q_of_u(run.progress.u_s))
        qd = (q - state.q_command_rad) / dt_s
        tool_m = self.planner.kinematics.forward(q)[:3, 3]
        tool_mps = float(np.linalg.norm(tool_m - state.tool_m)) / dt_s
        violation = self._check(q, qd, (qd - state.qd_command_radps) / dt_s, tool_m, tool_mps)
        if violation is not None:
            event = StopEvent(StopCause.LIMIT, violation.reason, now_ns, stop_driver=True)
            return _stopped(state, event)
        state = replace(
            state,
            q_command_rad=q,
            qd_command_radps=qd,
            tool_m=tool_m,
            tool_speed_mps=tool_mps,
            step=run.step,
        )
        return state, (), None

    def _check(self, q: Array, qd: Array, qdd: Array, tool_m: Array, tool_mps: float) -> Violation | None:
        limits = self.planner.limits
        if keeps_limits(q, qd, qdd, tool_m, tool_mps=tool_mps, limits=limits):
            return None
        return (
            check_configurations(q[None], limits)
            or check_positions(tool_m[None], limits)
            or check_motion(qd, qdd, tool_mps, limits)
        )


def make_controller(
    limits: ArmLimits | None = None,
    options: ControllerOptions | None = None,
    tool_length_m: float = TOOL_2F140_M,
    model: ArmModel = ArmModel.UR5,
) -> ArmController:
    """Build the controller of an arm with a gripper from its limits.

    Raises:
        UsageError: The model is unset, or a joint of it does not reach the largest joint speed.
    """
    limits = limits or ArmLimits()
    limits.check_model(model)
    kinematics = Kinematics(tool_along_z(tool_length_m), model.geometry)
    world = World(table_z_m=limits.table_z_m, wall_x_m=limits.wall_x_m)
    planner = Planner(kinematics, limits, CollisionModel(kinematics, world))
    return ArmController(planner, options or ControllerOptions())


def _is_answered(state: ControllerState, inputs: ArmInputs) -> bool:
    """Return whether the measured state has its target already, as where a stop comes between two states.

    A further one in the same period of the robot would move the arm at twice its speed.
    """
    if inputs.measured is None or state.measured is None:
        return False
    return inputs.measured.stamp_ns <= state.measured.stamp_ns


def _with_inputs(
    options: ControllerOptions, state: ControllerState, inputs: ArmInputs, now_ns: int
) -> ControllerState:
    book = state.book
    if inputs.leases:
        book = book.with_leases(inputs.leases, now_ns, options.lease)
    measured = inputs.measured
    # a world that stands still repeats its stamp: what was read after arming the robot counts nevertheless
    oldest_ns = -1 if state.measured is None else state.measured.stamp_ns + (not inputs.arm)
    if measured is None or measured.stamp_ns < oldest_ns:
        return state if book is state.book else replace(state, book=book)
    pace = state.pace
    if state.measured is not None:
        periods = round((measured.stamp_ns - state.measured.stamp_ns) / (1e9 * options.dt_s))
        pace += (min(periods, _LONGEST_GAP) - pace) / _REMEMBERED
    still_q_rad, since_ns = standstill(state, measured)
    return replace(
        state,
        book=book,
        measured=measured,
        seen_ns=now_ns,
        pace=pace,
        still_q_rad=still_q_rad,
        still_since_ns=since_ns,
    )


def _stopped(state: ControllerState, event: StopEvent) -> Stepped:
    """Disarm. A running goal only brakes, or is dropped at once if the driver stops the arm."""
    already = state.mode is ArmMode.STOPPED
    lost = () if already else _lost_goal(state, event.reason)
    if not already:
        state = replace(state, mode=ArmMode.STOPPED, reason=event.reason, cause=event.cause)
    if event.stop_driver:
        state = replace(state, run=None, tool_speed_mps=0.0, qd_command_radps=np.zeros(6))
    elif state.run is not None:
        state = replace(state, run=replace(state.run, abandoned=True))
    return state, lost, None if already and not event.stop_driver else event


def _lost_goal(state: ControllerState, reason: str) -> tuple[GoalReport, ...]:
    if state.run is None or state.run.abandoned:
        return ()
    return (GoalReport(state.run.goal.sequence, GoalOutcome.ABANDONED, reason),)


def _output(state: ControllerState, stop: StopEvent | None, reports: tuple[GoalReport, ...]) -> ArmOutput:
    streams = state.is_armed or state.run is not None
    status = ArmStatus(
        mode=state.mode,
        reason=state.reason,
        cause=state.cause,
        sequence=state.sequence,
        step=state.step,
        steps=state.steps,
        holds=state.holds,
        held_by_gate=state.mode is ArmMode.HOLDING and state.gate_holds,
        tool_speed_mps=state.tool_speed_mps,
    )
    return ArmOutput(state.q_command_rad if streams else None, state.gripper_target, status, stop, reports)
