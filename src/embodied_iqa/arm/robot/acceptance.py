"""Acceptance of goals: fresh, leased, finite, within limits, reachable along the whole path."""

from __future__ import annotations

from typing import Final

import numpy as np

from embodied_iqa.arm.robot.controller_options import ControllerOptions
from embodied_iqa.arm.robot.limits import Violation, check_increments
from embodied_iqa.arm.robot.messages import ArmGoal, ArmMode, GoalOutcome, GoalReport
from embodied_iqa.arm.robot.planning import Plan, Planner, Segment, begin_joint_plan, begin_plan, extended
from embodied_iqa.arm.robot.receding import plan_receding, why_not_continued, why_not_joints
from embodied_iqa.arm.robot.state import ControllerState, Planning, Run
from embodied_iqa.arm.verdict import GateLease, Verdict
from embodied_iqa.base.states import replace

Accepted = tuple[ControllerState, tuple[GoalReport, ...], Violation | None]

SEGMENTS_A_TICK: Final = 4
"""Planned in one tick: each takes up to 2 ms, in the thread that also answers the arm's states."""


def accept_goal(
    planner: Planner,
    options: ControllerOptions,
    state: ControllerState,
    goal: ArmGoal,
    now_ns: int,
    *,
    begun: Plan | None = None,
) -> Accepted:
    """Accept or refuse a goal, or plan a part of it: then the state says so, and the next tick goes on.

    Args:
        planner: Arm, limits and options.
        options: Times and tolerances.
        state: State of the controller.
        goal: The goal.
        now_ns: ROS time.
        begun: Its plan so far.

    Returns:
        The new state, the reports, and a violation if the goal requires an emergency stop.
    """
    if not state.is_armed:
        return _refused(state, goal, f"the arm is {state.mode}")
    violation = check_increments(goal.increments, planner.limits)
    if violation is not None:
        return state, (GoalReport(goal.sequence, GoalOutcome.REFUSED, violation.reason),), violation
    busy = _why_busy(state, goal)
    if busy is not None:
        return _refused(state, goal, busy)
    stale = _why_stale(options, state, goal, now_ns)
    if stale is not None:
        return _held(state, goal, stale)
    denied = _why_denied(state, goal)
    if denied is not None:
        return _held(state, goal, denied, by_gate=True)
    foreign = why_not_joints(planner.kinematics, goal)
    if foreign is not None:
        return _held(state, goal, foreign)
    if options.horizon.is_receding and not goal.whole:
        return _continued(planner, options, state, goal, now_ns)
    return _planned(planner, state, goal, begun)


def _continued(
    planner: Planner, options: ControllerOptions, state: ControllerState, goal: ArmGoal, now_ns: int
) -> Accepted:
    run = plan_receding(planner, options, state, goal, now_ns)
    if isinstance(run, Violation):
        if run.kind.is_emergency:
            return state, (GoalReport(goal.sequence, GoalOutcome.REFUSED, run.reason),), run
        return _held(state, goal, run.reason)
    reports = [GoalReport(goal.sequence, GoalOutcome.ACCEPTED)]
    if state.run is not None:
        reason = f"continued by goal {goal.sequence}"
        reports.insert(0, GoalReport(state.run.goal.sequence, GoalOutcome.COMPLETED, reason))
    return _executing(state, goal, run), tuple(reports), None


def _planned(planner: Planner, state: ControllerState, goal: ArmGoal, begun: Plan | None) -> Accepted:
    if state.q_command_rad is None or state.measured is None:
        return _refused(state, goal, "the arm has no measured state")
    gripper = state.measured.gripper.position if state.gripper_target is None else state.gripper_target
    q, joints_rad = state.q_command_rad, goal.joints_rad
    plan: Plan | Violation
    if begun is not None and np.array_equal(begun.q_start_rad, q):
        plan = begun
    elif joints_rad is None:
        plan = begin_plan(planner, goal.increments, q, gripper)
    else:
        plan = begin_joint_plan(planner, joints_rad, goal.increments[:, 6], q, gripper)
    plan = plan if isinstance(plan, Violation) else extended(planner, plan, SEGMENTS_A_TICK)
    if isinstance(plan, Violation):
        if plan.kind.is_emergency:
            return state, (GoalReport(goal.sequence, GoalOutcome.REFUSED, plan.reason),), plan
        return _held(state, goal, plan.reason)
    if not plan.is_whole:
        return replace(state, planning=Planning(goal, plan)), (), None
    return _begun(state, goal, plan.segments)


def _begun(state: ControllerState, goal: ArmGoal, plan: tuple[Segment, ...]) -> Accepted:
    reports = [GoalReport(goal.sequence, GoalOutcome.ACCEPTED)]
    if state.run is not None and not state.run.abandoned:
        reason = f"replaced by goal {goal.sequence}"
        reports.insert(0, GoalReport(state.run.goal.sequence, GoalOutcome.ABANDONED, reason))
    state = _executing(state, goal, Run(goal, plan) if plan else None)
    if not plan:
        state = replace(state, mode=ArmMode.IDLE)
        reports.append(GoalReport(goal.sequence, GoalOutcome.COMPLETED))
    return state, tuple(reports), None


def _executing(state: ControllerState, goal: ArmGoal, run: Run | None) -> ControllerState:
    return replace(
        state,
        mode=ArmMode.EXECUTING,
        reason="",
        run=run,
        sequence=goal.sequence,
        step=0,
        steps=len(goal.increments),
        holds=0,
    )


def _why_busy(state: ControllerState, goal: ArmGoal) -> str | None:
    if goal.sequence <= state.sequence:
        return f"goal {goal.sequence} is not newer than goal {state.sequence}"
    if state.planning is not None:
        return f"the arm is busy with goal {state.planning.goal.sequence}"
    if state.run is None:
        return None
    if state.run.receding and not goal.whole:
        return why_not_continued(state.run, state.mode, goal)
    if state.mode is ArmMode.EXECUTING:
        return f"the arm is busy with goal {state.run.goal.sequence}"
    if not state.run.progress.is_still:
        return "the arm is still braking"
    return None


def _why_stale(options: ControllerOptions, state: ControllerState, goal: ArmGoal, now_ns: int) -> str | None:
    age_ms = (now_ns - goal.frame_stamp_ns) / 1e6
    if age_ms < 0:
        return f"the goal's frame is {-age_ms:.0f} ms in the future"
    if now_ns - goal.frame_stamp_ns > options.max_frame_age_ns:
        oldest_ms = options.max_frame_age_ns / 1e6
        return f"the decision came too late: its image is {age_ms:.0f} ms old, at most {oldest_ms:.0f} ms"
    if min(stamp_ns for _, stamp_ns in goal.frames) < state.oldest_frame_ns:
        return f"the goal's frame was taken before {state.oldest_frame_event}"
    return None


def _why_denied(state: ControllerState, goal: ArmGoal) -> str | None:
    needs_decision = False
    for view, stamp_ns in goal.frames:
        lease = state.book.of_frame(view, stamp_ns)
        if lease is None:
            return f"the gate has not leased the goal's {view} frame"
        if lease.verdict is not Verdict.PASS:
            return _verdict_on(f"goal's {view} frame", lease)
        needs_decision |= lease.needs_decision and view == goal.view
    if not needs_decision:
        return None
    own = state.book.of_frame(goal.view, goal.frame_stamp_ns, goal.sequence)
    if own is None:
        return "the gate has not judged the decision, which this frame's lease requires"
    return None if own.verdict is Verdict.PASS else _verdict_on("decision", own)


def _verdict_on(what: str, lease: GateLease) -> str:
    detail = f": {lease.reason}" if lease.reason else ""
    return f"the gate's verdict on the {what} is {lease.verdict.name}{detail}"


def _refused(state: ControllerState, goal: ArmGoal, reason: str) -> Accepted:
    return state, (GoalReport(goal.sequence, GoalOutcome.REFUSED, reason),), None


def _held(state: ControllerState, goal: ArmGoal, reason: str, *, by_gate: bool = False) -> Accepted:
    state = replace(state, mode=ArmMode.HOLDING, reason=reason, gate_holds=by_gate)
    return _refused(state, goal, reason)
