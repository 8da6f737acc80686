"""The trial as a pure state machine.

A command that expects a reply is the last one of its step; the next one waits for the reply. A refused or
overdue command ends the trial, with the arm stopped and the recording closed. Time comes only with events, as
ROS time in nanoseconds. Where a simulator stops time, only the world's events carry it; beside a real arm the
arm's do, too, so that a run ends while no image comes.
"""

from __future__ import annotations

from embodied_iqa.base.states import replace
from embodied_iqa.data.recording.trial_record import ANSWERED, DECIDED
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.runs.trial.attendance import judged_next
from embodied_iqa.runs.trial.outcome import held_by_gate, outcome_of, overdue_motion, with_fault
from embodied_iqa.runs.trial.protocol import (
    Answered,
    ArmSeen,
    AskPerson,
    AskVlm,
    CheckArm,
    CheckStart,
    ChunkSeen,
    CloseRecording,
    Command,
    Deciding,
    EndedByPerson,
    Event,
    Finish,
    FrameSeen,
    MarkRunEnd,
    MarkRunStart,
    OpenRecording,
    Rearm,
    Reply,
    ResetWorld,
    ReturnToStart,
    RunResult,
    RunWorld,
    SetDistortion,
    SetTask,
    Stage,
    StopArm,
    TrialPlan,
    WorldSeen,
)
from embodied_iqa.runs.trial.state import TrialState
from embodied_iqa.world.protocols import ChunkStatus

Step = tuple[TrialState, list[Command]]


def start(plan: TrialPlan, first_run: int = 0) -> Step:
    """Return the first state and command.

    Args:
        plan: The trial.
        first_run: Earlier runs are skipped; their results are known.
    """
    checks = (CheckArm(),) if plan.attended else ()
    return _enter(TrialState(plan, run_index=first_run), Stage.OPEN, *checks, OpenRecording())


def cancel(state: TrialState, reason: str) -> Step:
    """Stop the arm, close the recording and end; a second call does nothing."""
    if state.stage in {Stage.CLOSE, Stage.DONE}:
        return state, []
    state = replace(state, problem=reason)
    return _enter(
        state, Stage.CLOSE, *_stopping(state.plan, reason), RunWorld(running=False), CloseRecording()
    )


def step(state: TrialState, event: Event) -> Step:
    """Handle an event; return the new state and commands."""
    match event:
        case Reply():
            return _replied(state, event)
        case Answered():
            return _answered(state, event)
        case FrameSeen():
            return _frame_seen(state, event)
        case WorldSeen():
            return _world_seen(state, event)
        case ArmSeen():
            return _arm_seen(state, event)
        case ChunkSeen() if event.frame_stamp_ns >= state.start_ns:
            return _chunk_seen(state, event)
        case Deciding(busy):
            state = replace(state, deciding=busy)
        case EndedByPerson() if state.is_executing:
            return _ended_by_person(state)
    return state, []


def _answered(state: TrialState, event: Answered) -> Step:
    is_own = state.asked and event.stamp_ns >= state.start_ns
    state = replace(state, answered=state.answered + is_own)
    if event.ok:
        return state, []
    run = f"run {state.run_index}" if is_own else "an earlier run"
    remark = f"{run}: the VLM gave no answer ({event.message})"
    return replace(state, remarks=(*state.remarks, remark)), []


def _chunk_seen(state: TrialState, event: ChunkSeen) -> Step:
    if event.is_reference:
        return replace(state, referenced=True), []
    held = state.held if event.status is ChunkStatus.ACT else ""
    decided, acts = state.decided | {event.status}, state.acts + (event.status is ChunkStatus.ACT)
    state = replace(state, held=held, decided=decided, acts=acts, failure=event.failure)
    if event.status is ChunkStatus.DONE and state.is_executing:
        return _end_run(replace(state, rejection=""), "the VLA reported that the task is done")
    return state, []


def _stopping(plan: TrialPlan, reason: str) -> tuple[Command, ...]:
    """Return what stops arm and policy: the arm first, which never waits for an answer of the policy."""
    return (*((StopArm(reason),) if plan.has_arm else ()), SetTask("", 0))


def _enter(state: TrialState, stage: Stage, *commands: Command) -> Step:
    """Enter a stage with commands that each expect a reply; return the first."""
    return replace(state, stage=stage, pending=commands), [commands[0]]


def _replied(state: TrialState, reply: Reply) -> Step:
    if not state.pending or reply.to is not state.pending[0]:
        return state, []
    done, *rest = state.pending
    state = replace(state, pending=tuple(rest))
    if isinstance(done, AskPerson | ReturnToStart | CheckStart):
        return _attended(state, done, reply)
    if isinstance(done, Rearm) and not reply.ok and reply.stopped:
        return _stopped_before_run(state, reply)
    if not reply.ok and state.stage is not Stage.CLOSE:
        what = "" if isinstance(done, CheckArm) else f"{type(done).__name__} failed: "
        return cancel(state, f"{what}{reply.message}")
    if isinstance(done, ResetWorld | SetDistortion):
        state = state.from_start(reply.stamp_ns)
    if isinstance(done, SetTask) and state.stage is Stage.ARM:
        state = replace(state, waited=reply.message)
    if isinstance(done, Rearm) and not state.plan.stops_time:
        # the arm refuses what a policy decides on images from before the arming
        from_ns = reply.stamp_ns
        rest = [replace(c, from_ns=max(c.from_ns, from_ns)) if isinstance(c, SetTask) else c for c in rest]
        state = replace(state, pending=tuple(rest))
    if rest:
        return _next(state)
    return _stage_done(state, reply)


def _next(state: TrialState) -> Step:
    """Return the next command of this stage; a run is marked once the arm is armed for it."""
    command, mark = state.pending[0], MarkRunStart(state.run_index, state.start_ns)
    is_begun = state.stage is Stage.ARM and isinstance(command, SetTask)
    return state, [mark, command] if is_begun else [command]


def _stage_done(state: TrialState, reply: Reply) -> Step:
    plan, index = state.plan, state.run_index
    match state.stage:
        case Stage.OPEN:
            return _begin_run(state)
        case Stage.RESET:
            # where time does not stop, images of later stamps may have passed already
            change = SetDistortion(plan.distortion(index), state.start_ns, or_later=not plan.stops_time)
            return _enter(state, Stage.DISTORT, change)
        case Stage.DISTORT:
            # armed while time is stopped, so that the first frame is not older than the arming
            arming = (Rearm(state.start_ns),) if plan.has_arm else ()
            pending = (*arming, SetTask(plan.task, state.start_ns), RunWorld(running=True))
            return _next(replace(state, stage=Stage.ARM, pending=pending))
        case Stage.ARM:
            return replace(state, stage=Stage.EXECUTE), []
        case Stage.SETTLE if state.settle_until_ns == 0:
            return replace(state, settle_until_ns=state.now_ns + plan.settle_ns), []
        case Stage.SETTLE:
            return _settled(state, reply.stopped)
        case Stage.CLOSE:
            return _closed(state, reply)
        case _:
            return state, []


def _closed(state: TrialState, reply: Reply) -> Step:
    problem = state.problem or ("" if reply.ok else f"closing failed: {reply.message}")
    remarks = (*state.remarks, reply.message) if reply.ok and reply.message else state.remarks
    state = replace(state, stage=Stage.DONE, problem=problem, remarks=remarks)
    return state, [Finish(not problem, problem)]


def _begin_run(state: TrialState, problem: str = "") -> Step:
    if state.plan.attended:
        return _enter(state, Stage.PREPARE, AskPerson(Stage.PREPARE, state.run_index, problem))
    return _reset(state)


def _settled(state: TrialState, stopped: str) -> Step:
    if state.plan.attended and state.world is not None:
        why = judged_next(with_fault(state, state.ending), stopped)
        return _enter(state, Stage.JUDGE, AskPerson(Stage.JUDGE, state.run_index, why))
    return _finish_run(state)


def _reset(state: TrialState) -> Step:
    return _enter(state, Stage.RESET, ResetWorld(state.plan.scene_seed, state.plan.task))


def _attended(state: TrialState, done: AskPerson | ReturnToStart | CheckStart, reply: Reply) -> Step:
    """Handle the reply of a person, or of the arm that returns between attended runs."""
    is_over = state.run_index == state.plan.run_count
    if isinstance(done, AskPerson) and (reply.ok or not is_over):
        return _answered_by_person(state, done, reply)
    if isinstance(done, CheckStart) and reply.ok and not reply.stopped:
        return _reset(state)
    if state.goes_back(done, reply):
        return _to_start(state, reply.stopped or reply.message)
    away = "the arm is not back at its start: " if isinstance(done, AskPerson) else ""
    problem = "" if reply.ok else f"{away}{reply.message}"
    if not is_over:
        return _begin_run(state, reply.stopped or problem)
    if problem:
        state = replace(state, remarks=(*state.remarks, problem))
    return _enter(state, Stage.CLOSE, CloseRecording())


def _answered_by_person(state: TrialState, done: AskPerson, reply: Reply) -> Step:
    if not reply.ok:
        return cancel(state, reply.message)
    if done.stage is Stage.JUDGE:
        return _judged(state, reply)
    if done.stage is Stage.RECOVER:
        return _to_start(state, reply.stopped)
    if not reply.yes or reply.stopped:
        return _begin_run(state, reply.stopped or done.problem)
    return _enter(state, Stage.PREPARE, CheckStart(state.run_index))


def _to_start(state: TrialState, stopped: str) -> Step:
    """Return a real arm to its start; after a stop only once a person has answered that the way is free."""
    if stopped:
        return _enter(state, Stage.RECOVER, AskPerson(Stage.RECOVER, max(0, state.run_index - 1), stopped))
    return _enter(state, Stage.RESET, ReturnToStart())


def _stopped_before_run(state: TrialState, reply: Reply) -> Step:
    """Ask again after a stop between the answer and the arming, which may have armed the arm all the same."""
    question = AskPerson(Stage.PREPARE, state.run_index, reply.stopped)
    return _enter(state.without_run(), Stage.PREPARE, StopArm(reply.message), question)


def _judged(state: TrialState, reply: Reply) -> Step:
    world = None if state.world is None else replace(state.world, task_success=reply.yes)
    words = f"judged: {'done' if reply.yes else 'not done'}" + (reply.message and f"; {reply.message}")
    return _finish_run(replace(state, world=world, judged=words), reply.stopped)


def _frame_seen(state: TrialState, event: FrameSeen) -> Step:
    if state.stage not in {Stage.ARM, Stage.EXECUTE} or event.stamp_ns < state.start_ns:
        return state, []
    if event.rejection:
        state = replace(state, rejection=event.rejection, rejected_ns=event.stamp_ns)
    else:
        state = replace(state, passed_ns=max(state.passed_ns, event.stamp_ns))
    if state.asked:
        return state, []
    sources = Source if state.plan.has_vlm else ()
    return replace(state, asked=True), [AskVlm(source, event.stamp_ns) for source in sources]


def _world_seen(state: TrialState, event: WorldSeen) -> Step:
    if event.stamp_ns < state.start_ns or state.stage is Stage.JUDGE:
        return state, []
    state = replace(state, world=event).at(event.stamp_ns)
    if event.contact_violation and state.is_executing:
        return _end_run(replace(state, emergency=True), event.contact_violation)
    return _time_passed(state)


def _time_passed(state: TrialState) -> Step:
    """Let things come to rest, or end a run that has taken too long."""
    if state.stage is Stage.SETTLE:
        return _settle(state)
    if not state.is_executing:
        return state, []
    if state.now_ns - state.start_ns > state.plan.run_limit_ns:
        return _end_run(state, "the run took too long")
    if not state.plan.has_arm and state.is_answered:
        return _end_run(state, ANSWERED if state.plan.has_vlm else DECIDED)
    if held_by_gate(state, state.now_ns):
        state = replace(state, held_ns=state.now_ns)
    overdue = overdue_motion(state)
    return _end_run(state, overdue) if overdue else (state, [])


def _arm_seen(state: TrialState, event: ArmSeen) -> Step:
    if event.stamp_ns < state.start_ns:
        return state, []
    carries_time = not state.plan.stops_time
    if carries_time:
        state = state.at(event.stamp_ns)
    if state.is_executing:
        if event.emergency_stop:
            return _end_run(replace(state, emergency=True), event.reason)
        if event.broken_down:
            return cancel(state, f"equipment failure: {event.reason}")
        if event.moving:
            state = replace(state, moved_ns=event.stamp_ns, moved=True, held="", at_rest="")
        else:
            state = replace(state, held=event.reason if event.held_by_gate else "", at_rest=event.reason)
    return _time_passed(state) if carries_time else (state, [])


def _end_run(state: TrialState, reason: str) -> Step:
    state = replace(state, ending=reason, ended_ns=state.now_ns, settle_until_ns=0)
    return _enter(state, Stage.SETTLE, *_stopping(state.plan, f"run {state.run_index} ends: {reason}"))


def _ended_by_person(state: TrialState) -> Step:
    """End the run; where the gate holds the arm at that moment, the reason says both."""
    held = held_by_gate(state, state.now_ns)
    circumstance = f" while the gate held the arm: {held}" if held else ""
    return _end_run(replace(state, by_person=True), f"ended by a person{circumstance}")


def _settle(state: TrialState) -> Step:
    if state.pending or state.settle_until_ns == 0 or state.now_ns < state.settle_until_ns:
        return state, []
    return _enter(state, Stage.SETTLE, RunWorld(running=False))


def _finish_run(state: TrialState, stopped: str = "") -> Step:
    if state.world is None:
        return cancel(state, with_fault(state, "no state of the world in this run"))
    world = state.world
    outcome, reason = outcome_of(state, world)
    result = RunResult(state.run_index, state.start_ns, world.stamp_ns, outcome, reason, world.T_base_tool)
    state = replace(state, results=(*state.results, result), run_index=state.run_index + 1)
    state = state.without_run()
    if state.plan.attended:
        state, commands = _to_start(state, stopped)
    elif state.run_index < state.plan.run_count:
        state, commands = _begin_run(state)
    else:
        state, commands = _enter(state, Stage.CLOSE, CloseRecording())
    return state, [MarkRunEnd(result), *commands]
