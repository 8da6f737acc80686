"""Execution of a goal, tick by tick: move, hold, resume, grip, finish. Moves only on a valid PASS."""

from __future__ import annotations

from typing import Final

from embodied_iqa.arm.robot.controller_options import ControllerOptions
from embodied_iqa.arm.robot.leases import Permission
from embodied_iqa.arm.robot.messages import ArmMode, GoalOutcome, GoalReport
from embodied_iqa.arm.robot.receding import gripper_of
from embodied_iqa.arm.robot.speed_scaling import Progress, brake, brake_time_s, proceed
from embodied_iqa.arm.robot.state import ControllerState, Run
from embodied_iqa.arm.verdict import Verdict
from embodied_iqa.base.states import replace

_STANDSTILL: Final = 0.005
"""The speed slider is at 0; it has whole percents."""
_FULL_SPEED: Final = 0.995
_HALF_MISSED: Final = 1.75
"""Periods of the controller for each state that is handled; single late ones are not worth a warning."""

Advanced = tuple[ControllerState, tuple[GoalReport, ...]]


def advance_run(options: ControllerOptions, state: ControllerState, run: Run, now_ns: int) -> Advanced:
    """Advance the goal by one tick; the joint command follows from the new progress."""
    if run.abandoned:
        return _brake_out(options, state, run, now_ns), ()
    permission = state.book.permission((view for view, _ in run.goal.frames), now_ns)
    held_ns = 0 if run.held_since_ns is None else now_ns - run.held_since_ns
    if permission.verdict is Verdict.REJECT:
        # a frame by a clock that is far ahead refuses goals no longer than its verdict counts
        rejected_ns = min(permission.frame_stamp_ns, now_ns + options.lease.remember_ns)
        oldest_frame_ns = max(state.oldest_frame_ns, rejected_ns + 1)
        state = replace(
            state, oldest_frame_ns=oldest_frame_ns, oldest_frame_event="the gate rejected what it shows"
        )
        return _abandon(options, state, run, permission.reason or "the gate rejected the view", now_ns)
    if held_ns > options.max_hold_ns:
        return _abandon(options, state, run, f"held for {held_ns / 1e9:.1f} s: {permission.reason}", now_ns)
    if permission.verdict is not Verdict.PASS:
        state = _hold(options, state, run, permission, now_ns)
        return _dropped(state, now_ns) if run.receding else (state, ())
    if run.held_since_ns is not None:
        run = replace(run, held_since_ns=None)
    if state.mode is not ArmMode.EXECUTING or state.reason:
        state = replace(state, mode=ArmMode.EXECUTING, reason="")
    if run.gripping_since_ns is not None:
        return _grip(options, state, run, now_ns)
    return _move(options, state, run, permission, now_ns)


def _hold(
    options: ControllerOptions, state: ControllerState, run: Run, permission: Permission, now_ns: int
) -> ControllerState:
    if run.held_since_ns is None:
        run = replace(run, held_since_ns=now_ns, holds=run.holds + 1)
    moved, run = not run.progress.is_still, replace(run, progress=_braked(options, run))
    if moved and run.progress.is_still:
        state = _standing(state, now_ns)
    return replace(
        state, mode=ArmMode.HOLDING, reason=permission.reason, gate_holds=True, run=run, holds=run.holds
    )


def _dropped(state: ControllerState, now_ns: int) -> Advanced:
    """Drop a receding goal that is held once the arm stands: the policy decides on a frame from then on."""
    run = state.run
    if run is None or not run.progress.is_still:
        return state, ()
    state = _standing(replace(state, run=None, step=run.step), now_ns)
    return state, (GoalReport(run.goal.sequence, GoalOutcome.ABANDONED, state.reason),)


def _abandon(
    options: ControllerOptions, state: ControllerState, run: Run, reason: str, now_ns: int
) -> Advanced:
    state = replace(state, mode=ArmMode.HOLDING, reason=reason, gate_holds=True)
    state = _brake_out(options, state, replace(run, abandoned=True), now_ns)
    return state, (GoalReport(run.goal.sequence, GoalOutcome.ABANDONED, reason),)


def _brake_out(options: ControllerOptions, state: ControllerState, run: Run, now_ns: int) -> ControllerState:
    """Brake along the path; drop the goal once the arm stands still."""
    if run.progress.is_still:
        return _standing(replace(state, run=None), now_ns)
    return replace(state, run=replace(run, progress=_braked(options, run)))


def _braked(options: ControllerOptions, run: Run) -> Progress:
    motion = run.segment.motion
    return run.progress if motion is None else brake(motion, run.progress, options.dt_s)


def _move(
    options: ControllerOptions, state: ControllerState, run: Run, permission: Permission, now_ns: int
) -> Advanced:
    motion = run.segment.motion
    if motion is not None and run.progress.u_s < motion.end_s - 1e-9:
        pace = max(1.0, state.pace)  # where states are missed, braking takes as many of them, but longer
        left_s = (permission.expires_ns - now_ns + options.lease.overrun_ns) / 1e9 - options.dt_s * pace
        slider = _slider(state)
        if words := slider_words(state):
            state = replace(state, reason=words)
        if brake_time_s(motion, run.progress) * pace > left_s:
            state = replace(state, reason="slows down: the lease is about to run out")
            progress = brake(motion, run.progress, options.dt_s)
        elif slider < _STANDSTILL:
            progress = brake(motion, run.progress, options.dt_s)
        else:
            progress = proceed(motion, run.progress, options.dt_s, slider)
        run = replace(run, progress=progress)
        gripper = gripper_of(options, state, run) if run.receding else state.gripper_target
        return replace(state, run=run, gripper_target=gripper), ()
    if run.segment.gripper is None:
        return _next_segment(state, run, now_ns)
    run = replace(run, gripping_since_ns=now_ns)
    return replace(state, run=run, gripper_target=run.segment.gripper, reason="waits for the gripper"), ()


def slider_words(state: ControllerState) -> str:
    """Return that the speed slider at the robot slows the arm; empty where it does not."""
    slider = _slider(state)
    return f"the speed slider is at {slider:.0%}" if slider < _FULL_SPEED else ""


def late_words(state: ControllerState) -> str:
    """Return that half of the controller's states or more are missed, which slows the arm; else empty."""
    if state.pace < _HALF_MISSED:
        return ""
    return (
        f"this computer handles one of {state.pace:.0f} states: the arm is slower, and stops later, by that"
    )


def _slider(state: ControllerState) -> float:
    return 1.0 if state.measured is None else state.measured.speed_fraction


def _grip(options: ControllerOptions, state: ControllerState, run: Run, now_ns: int) -> Advanced:
    waited_ns = now_ns - (run.gripping_since_ns or now_ns)
    if waited_ns < options.gripper_timeout_ns and not _settled(options, state, waited_ns):
        return replace(state, run=run, reason="waits for the gripper"), ()
    return _next_segment(state, run, now_ns)


def _settled(options: ControllerOptions, state: ControllerState, waited_ns: int) -> bool:
    if state.measured is None or state.gripper_target is None or state.measured.gripper.moving:
        return False
    gripper = state.measured.gripper
    arrived = abs(gripper.position - state.gripper_target) <= options.gripper_tolerance
    return arrived or (gripper.object_held and waited_ns >= options.gripper_least_ns)


def _next_segment(state: ControllerState, run: Run, now_ns: int) -> Advanced:
    if run.index + 1 < len(run.segments):
        run = replace(run, index=run.index + 1, progress=Progress(), gripping_since_ns=None)
        return replace(state, run=run), ()
    state = replace(state, mode=ArmMode.IDLE, reason="", run=None, step=run.segment.last_step)
    if not run.receding:  # a receding goal is placed by the pose in its frame, also where the arm moved then
        state = _standing(state, now_ns)
    return state, (GoalReport(run.goal.sequence, GoalOutcome.COMPLETED),)


def _standing(state: ControllerState, now_ns: int) -> ControllerState:
    """Require goals on new frames, because older ones do not show the arm at its present pose."""
    if state.oldest_frame_ns > now_ns:
        return state
    return replace(state, oldest_frame_ns=now_ns, oldest_frame_event="the arm stood still")
