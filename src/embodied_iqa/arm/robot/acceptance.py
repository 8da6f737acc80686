"""Acceptance of goals: fresh, leased, finite, within limits, reachable along the whole path."""

from __future__ import annotations

from dataclasses import replace

from embodied_iqa.arm.robot.controller_options import ControllerOptions
from embodied_iqa.arm.robot.limits import Violation, check_increments
from embodied_iqa.arm.robot.messages import ArmGoal, ArmMode, GoalOutcome, GoalReport
from embodied_iqa.arm.robot.planning import Planner, plan_goal, plan_joint_goal
from embodied_iqa.arm.robot.receding import plan_receding, why_not_continued, why_not_joints
from embodied_iqa.arm.robot.state import ControllerState, Run
from embodied_iqa.arm.verdict import GateLease, Verdict

Accepted = tuple[ControllerState, tuple[GoalReport, ...], Violation | None]


def accept_goal(
    planner: Planner, options: ControllerOptions, state: ControllerState, goal: ArmGoal, now_ns: int
) -> Accepted:
    """Accept or refuse a goal.

    Returns:
        The new state, the reports, and a violation if the goal requires an emergency stop.
    """
    if not state.is_armed:
        return _refused(state, goal, f"the arm is {state.mode}")
    violation = check_increments(goal.increments, planner.limits)
    if violation is not None:
        return state, (GoalReport(goal.sequence, GoalOutcome.REFUSED, violation.reason),), violation
    busy = _why_busy(options, state, goal)
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
    if options.horizon.is_receding:
        return _continued(planner, options, state, goal, now_ns)
    return _planned(planner, state, goal)


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


def _planned(planner: Planner, state: ControllerState, goal: ArmGoal) -> Accepted:
    if state.q_command_rad is None or state.measured is None:
        return _refused(state, goal, "the arm has no measured state")
    gripper = state.measured.gripper.position if state.gripper_target is None else state.gripper_target
    q, joints_rad = state.q_command_rad, goal.joints_rad
    if joints_rad is None:
        plan = plan_goal(planner, goal.increments, q, gripper)
    else:
        plan = plan_joint_goal(planner, joints_rad, goal.increments[:, 6], q, gripper)
    if isinstance(plan, Violation):
        if plan.kind.is_emergency:
            return state, (GoalReport(goal.sequence, GoalOutcome.REFUSED, plan.reason),), plan
        return _held(state, goal, plan.reason)
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


def _why_busy(options: ControllerOptions, state: ControllerState, goal: ArmGoal) -> str | None:
    if goal.sequence <= state.sequence:
        return f"goal {goal.sequence} is not newer than goal {state.sequence}"
    if state.run is None:
        return None
    if options.horizon.is_receding:
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
        return f"the goal's frame is {age_ms:.0f} ms old, at most {options.max_frame_age_ns / 1e6:.0f} ms"
    if goal.frame_stamp_ns < state.oldest_frame_ns:
        return f"the goal's frame was taken before {state.oldest_frame_event}"
    return None


def _why_denied(state: ControllerState, goal: ArmGoal) -> str | None:
    lease = state.book.of_frame(goal.view, goal.frame_stamp_ns)
    if lease is None:
        return f"the gate has not leased the goal's {goal.view} frame"
    if lease.verdict is not Verdict.PASS:
        return _verdict_on("goal's frame", lease)
    if not lease.needs_decision:
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
