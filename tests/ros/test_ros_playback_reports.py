"""A playback's reports of the arm are about its own decisions, whatever numbers the recorded ones had."""

from __future__ import annotations

import pytest
from embodied_iqa_msgs.msg import ArmStatus

from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.live.nodes.playback_node import renumbered
from embodied_iqa.runs.trial.decision_timing import ArmProgress, Decider, DeciderState

DECIDER = Decider(again_ns=SECOND_NS, max_decisions=3)
HELD = ArmStatus.STATE_HOLDING


def report(sequence: int, *, has_goal: bool = False, whole: bool = False, held: bool = False) -> ArmStatus:
    return ArmStatus(
        state=HELD,
        has_goal=has_goal,
        goal_sequence=sequence if has_goal else 0,
        has_completed=not has_goal,
        completed_sequence=0 if has_goal else sequence,
        completed_whole=whole,
        held_by_gate=held,
    )


def seen(state: DeciderState, status: ArmStatus, stamp_ns: int) -> DeciderState:
    completed = status.completed_sequence if status.has_completed else None
    arm = ArmProgress(stamp_ns, not status.has_goal, completed, status.completed_whole, status.held_by_gate)
    return DECIDER.arm_seen(state, arm)


@pytest.mark.parametrize("first", [1, 8])
def test_a_held_decision_of_any_task_of_a_session_is_recognised(first: int) -> None:
    state = DECIDER.decided(DECIDER.set_task(DeciderState(), "task", 0), 0)
    state = seen(state, renumbered(report(first, held=True), first, state.sequence), 1)
    assert (state.decisions, state.turn, state.uncounted) == (0, 1, 1)
    state = DECIDER.decided(state, 2 * SECOND_NS)
    state = seen(state, renumbered(report(first + 1, whole=True), first, 1), 3 * SECOND_NS)
    assert (state.step, state.last_completed, state.ended_ns) == (1, 2, 3 * SECOND_NS)


def test_the_goal_in_work_has_the_number_of_the_playback() -> None:
    status = renumbered(report(9, has_goal=True), 8, 3)
    assert (status.has_goal, status.goal_sequence, status.has_completed) == (True, 4, False)


@pytest.mark.parametrize(
    ("sequence", "recorded", "played"),
    [(8, 8, None), (8, None, 1), (7, 8, 1)],
    ids=["not decided yet", "no decision recorded", "a goal of an earlier run"],
)
def test_what_the_playback_did_not_decide_has_not_ended(
    sequence: int, recorded: int | None, played: int | None
) -> None:
    status = renumbered(report(sequence, whole=True, held=True), recorded, played)
    assert (status.has_completed, status.completed_whole, status.completed_sequence) == (False, False, 0)
    assert (status.held_by_gate, status.state) == (True, HELD)
