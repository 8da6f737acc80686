"""Outcome of a run in a trial, and in physical terms why."""

from __future__ import annotations

import re
from typing import Final

from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.models.scoring.execution_score import Outcome
from embodied_iqa.runs.trial.protocol import WorldSeen
from embodied_iqa.runs.trial.state import TrialState
from embodied_iqa.world.protocols import ChunkStatus

_CAMERA: Final = "camera_node"
_BLOCKED_NS: Final = SECOND_NS
"""The gate blocks the arm if it has passed no frame for this long."""
_NUMBER: Final = re.compile(r"[\d.]+")


def outcome_of(state: TrialState, world: WorldSeen) -> tuple[Outcome | None, str]:
    """Return the outcome of the present run and the reason.

    A run without success is held by the gate if at its end, also one that a person brought about, the arm
    could not execute a goal because of the gate, or the gate had passed no frame for a second; else it has no
    target if the policy never decided anything else. None without an arm. Why the arm stood still where
    the run took too long, a fault of the graph, then what a person said of the run end any reason.
    """
    outcome, reason = _unjudged(state, world)
    reason = with_fault(state, reason)
    return outcome, f"{reason}; {state.judged}" if state.judged else reason


def with_fault(state: TrialState, reason: str) -> str:
    """Return a reason, and what is wrong with the graph; also why the arm stood still to the end of a run."""
    reason = f"{reason}{_stood_still(state)}"
    return f"{reason}; {state.fault}" if state.fault else reason


def silent_camera(reason: str) -> str:
    """Return what the camera's node reported of itself, from the reason of a run; empty for nothing."""
    _, found, words = reason.partition(f"; {_CAMERA}: ")
    return f"{_CAMERA}: {words.partition('; judged: ')[0]}" if found else ""


def _unjudged(state: TrialState, world: WorldSeen) -> tuple[Outcome | None, str]:
    """Return the outcome and the reason without the words of a person."""
    if state.emergency:
        return Outcome.EMERGENCY_STOP, state.ending
    if world.contact_violation:
        return Outcome.EMERGENCY_STOP, world.contact_violation
    if not state.plan.has_arm:
        return None, state.ending
    if world.task_success:
        return Outcome.SUCCESS, state.ending
    lacks = f"; {world.missing}" if world.missing else ""
    if held := held_by_gate(state, state.ended_ns):
        reason = state.ending if state.by_person else f"held by the gate: {held}"
        return Outcome.HELD_BY_GATE, f"{reason}{lacks}"
    if state.decided - {None} == {ChunkStatus.NO_TARGET}:
        return Outcome.NO_TARGET, f"the policy saw no target{lacks}"
    return Outcome.FAILURE, f"{state.ending}{lacks}"


def _stood_still(state: TrialState) -> str:
    """Return why the arm stood still when the time of a run was over, as it says; empty for nothing new.

    Decisions that all come too late for the arm show only here: each starts the time without motion anew.
    """
    is_over = state.ended_ns - state.start_ns > state.plan.run_limit_ns
    is_known = state.plan.has_arm and not state.emergency and not state.held
    return (
        f"; at its end the arm stood still: {state.at_rest}" if is_over and is_known and state.at_rest else ""
    )


def held_by_gate(state: TrialState, now_ns: int) -> str:
    """Return why the gate keeps the arm from moving at a time, in words; empty if it does not."""
    is_blocked = now_ns - state.passed_ns >= _BLOCKED_NS
    if not state.held:
        return state.rejection if is_blocked else ""
    # the images of another camera may pass meanwhile, so what counts is how old the rejection is
    is_new = bool(state.rejected_ns) and now_ns - state.rejected_ns < _BLOCKED_NS
    is_said = _NUMBER.sub("", state.rejection) in _NUMBER.sub("", state.held)  # with other numbers
    why = state.rejection if is_new and not is_said else ""
    return f"{why}; {state.held}" if why else state.held


def overdue_motion(state: TrialState) -> str:
    """Return why a run without motion ends now, in words; empty if it does not.

    While the gate holds the arm its own limit counts; when it opens, the time without motion starts anew.
    The time that decisions take counts towards neither.
    """
    plan, now_ns = state.plan, state.now_ns
    waited = f"; reported before the run: {state.waited}" if state.waited and not state.decided else ""
    if not plan.has_arm:
        lacks = "no answer or no decision" if plan.has_vlm else "no decision"
        return f"{lacks}{waited}" if now_ns - state.moved_ns > plan.no_motion_limit_ns else ""
    if held := held_by_gate(state, now_ns):
        limit = f"the gate held the arm for over {plan.hold_limit_ns / SECOND_NS:g} s: {held}"
        return limit if now_ns - state.moved_ns > plan.hold_limit_ns else ""
    if now_ns - max(state.moved_ns, state.held_ns) <= plan.no_motion_limit_ns:
        return ""
    why = f": {state.at_rest}" if state.at_rest else ""
    return f"{_no_motion(state)}{why}{waited}"


def _no_motion(state: TrialState) -> str:
    """Return that a run ends for lack of motion: one whose arm has moved does not say that it did not."""
    if not state.moved:
        return "the arm did not move"
    after = f" after {state.acts} decision{'s' * (state.acts != 1)}" if state.acts else ""
    return f"the arm stood still for {state.plan.no_motion_limit_ns / SECOND_NS:g} s{after}"
