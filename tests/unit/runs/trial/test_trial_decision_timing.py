"""When a VLA decides: at once on the first frame, then whenever the arm has nothing left to do."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.runs.trial.decision_timing import ArmProgress, Decider, DeciderState
from embodied_iqa.world.protocols import ChunkStatus

AGAIN_NS = 500
DECIDER = Decider(AGAIN_NS, max_decisions=3)
STARTED = DECIDER.set_task(DeciderState(), "pick the red cube", 1_000)


def idle(state: DeciderState, completed: int | None, stamp_ns: int, *, whole: bool = True) -> DeciderState:
    return DECIDER.arm_seen(state, ArmProgress(stamp_ns, True, completed, whole))


def test_nothing_is_decided_without_a_task() -> None:
    assert DECIDER.choose(DeciderState(), [1, 2, 3]) is None


def test_the_first_decision_is_on_the_first_frame_of_the_run_even_when_newer_ones_are_there() -> None:
    assert DECIDER.choose(STARTED, [900, 999, 1_000, 1_066, 1_133]) == 1_000


def test_frames_before_the_run_do_not_count() -> None:
    assert DECIDER.choose(STARTED, [900, 999]) is None


def test_the_first_decision_waits_for_nobody() -> None:
    assert not STARTED.ready
    assert DECIDER.choose(STARTED, [1_000]) == 1_000


def test_later_decisions_take_the_newest_frame_and_wait_for_the_arm() -> None:
    state = DECIDER.decided(STARTED, 1_000)
    assert DECIDER.choose(state, [1_000, 9_000]) is None
    assert DECIDER.choose(idle(state, 1, 8_000), [1_000, 8_500, 9_000]) == 9_000


def test_a_frame_from_before_the_arm_stood_still_is_too_old() -> None:
    state = idle(DECIDER.decided(STARTED, 1_000), 1, 8_000)
    assert DECIDER.choose(state, [1_000, 7_999]) is None
    assert DECIDER.choose(state, [1_000, 8_000]) is None
    assert DECIDER.choose(state, [1_000, 8_001]) == 8_001


def test_without_a_goal_that_ended_it_decides_again_only_after_a_while() -> None:
    state = idle(DECIDER.decided(STARTED, 1_000), None, 1_100)
    assert DECIDER.choose(state, [1_000 + AGAIN_NS]) is None
    assert DECIDER.choose(state, [1_001 + AGAIN_NS]) == 1_001 + AGAIN_NS


def test_steps_count_whole_goals_of_this_run_only() -> None:
    state = idle(DECIDER.decided(STARTED, 1_000), 1, 2_000)
    assert state.step == 1
    assert idle(state, 1, 2_100).step == 1, "the same news again"
    given_up = idle(DECIDER.decided(state, 3_000), 2, 4_000, whole=False)
    assert given_up.step == 1
    fresh = DECIDER.set_task(given_up, "push the blue ball", 9_000)
    assert (fresh.step, fresh.decisions, fresh.sequence) == (0, 0, 2)
    assert idle(fresh, 2, 9_100).step == 0, "that goal was of the run before"


def test_the_number_of_decisions_is_limited() -> None:
    state, stamp_ns = STARTED, 1_000
    for sequence in range(1, 4):
        assert DECIDER.choose(state, [stamp_ns]) == stamp_ns
        state = idle(DECIDER.decided(state, stamp_ns), sequence, stamp_ns + 600)
        stamp_ns += 1_000
    assert DECIDER.choose(state, [stamp_ns]) is None


def test_only_an_idle_arm_that_may_move_waits_from_when_its_decision_is_due() -> None:
    decider = Decider(AGAIN_NS, max_decisions=2)
    waiting = DeciderState(
        task="pick", from_ns=100, ready=True, decisions=1, decided_ns=1_000, ended_ns=1_200, reported_ns=5_000
    )
    assert decider.idle_ns(waiting) == 5_000 - 1_000 - AGAIN_NS
    assert decider.idle_ns(replace(waiting, ended_ns=4_000)) == 1_000
    assert decider.idle_ns(replace(waiting, hold_until_ns=4_500)) == 500
    assert decider.idle_ns(replace(waiting, decided_ns=None, decisions=0, ended_ns=0)) == 4_900
    assert decider.idle_ns(replace(waiting, reported_ns=1_400)) == 0, "it is not due yet"
    for other in ({"task": ""}, {"ready": False}, {"held": True}, {"decisions": 2}):
        assert decider.idle_ns(replace(waiting, **other)) == 0  # type: ignore[arg-type]


def test_an_empty_task_ends_the_decisions() -> None:
    state = idle(DECIDER.decided(STARTED, 1_000), 1, 2_000)
    assert DECIDER.choose(state, [9_000]) == 9_000
    assert DECIDER.choose(DECIDER.set_task(state, "", 0), [9_000]) is None


@given(
    st.lists(st.tuples(st.booleans(), st.none() | st.integers(0, 5), st.integers(0, 9_000)), max_size=30),
    st.lists(st.integers(0, 10_000), max_size=8, unique=True).map(sorted),
)
def test_a_choice_is_always_one_of_the_frames_and_newer_than_the_last(
    news: list[tuple[bool, int | None, int]], stamps_ns: list[int]
) -> None:
    state = STARTED
    for ready, completed, stamp_ns in news:
        state = DECIDER.arm_seen(state, ArmProgress(stamp_ns, ready, completed, whole=True))
        chosen = DECIDER.choose(state, stamps_ns)
        if chosen is None:
            continue
        assert chosen in stamps_ns
        assert chosen >= state.from_ns
        assert state.decided_ns is None or chosen > state.decided_ns
        state = DECIDER.decided(state, chosen)
    assert state.decisions <= 3


def test_a_quick_answer_changes_nothing() -> None:
    state = DECIDER.decided(STARTED, 1_000)
    assert DECIDER.answered(state, 1_000 + AGAIN_NS) == state
    assert DECIDER.answered(STARTED, 9_000) == STARTED


def test_after_an_answer_that_took_long_the_arm_has_time_to_take_it_up() -> None:
    """Its news from before it heard of the goal must not count as having nothing to do."""
    state = DECIDER.answered(idle(DECIDER.decided(STARTED, 1_000), None, 8_900), 9_000)
    assert not state.ready
    state = idle(state, None, 9_001)
    assert DECIDER.choose(state, [9_000 + AGAIN_NS]) is None
    assert DECIDER.choose(state, [9_001 + AGAIN_NS]) == 9_001 + AGAIN_NS


def test_decisions_that_the_gate_holds_do_not_use_up_those_of_the_run() -> None:
    state = STARTED
    for k in range(1, 20):
        state = DECIDER.decided(state, 1_000 * k)
        for _ in range(3):  # the arm reports more often than it is asked
            state = DECIDER.arm_seen(state, ArmProgress(1_000 * k, True, k, held=True))
        assert (state.decisions, state.turn) == (0, k)
        assert DECIDER.choose(state, [1_000 * k + AGAIN_NS + 1]) is not None
    for k in range(20, 23):
        state = idle(DECIDER.decided(state, 1_000 * k), k, 1_000 * k + 1)
    assert (state.decisions, DECIDER.choose(state, [100_000])) == (3, None)
    assert DECIDER.came_to(state, View.TOP, 22_000, ChunkStatus.NO_TARGET).turn == 20
    assert (state.turn, DECIDER.set_task(state, "pick it", 100_000).turn) == (19, 0)


BLIND = [ChunkStatus.NO_TARGET, None]
"""Decisions that move nothing: the arm reports nothing about them."""


def decide(
    state: DeciderState, stamp_ns: int, status: ChunkStatus | None, *, rejects: bool, first: str = "gate"
) -> DeciderState:
    """Decide on a frame of the top camera; its verdict is known before or after the decision."""
    assert DECIDER.choose(state, [stamp_ns]) == stamp_ns
    gate_first = rejects and first == "gate"
    state = DECIDER.rejected(state, View.TOP, stamp_ns) if gate_first else state
    state = DECIDER.came_to(DECIDER.decided(state, stamp_ns), View.TOP, stamp_ns, status)
    state = DECIDER.rejected(state, View.TOP, stamp_ns) if rejects and not gate_first else state
    return idle(state, None, stamp_ns + 1)


@pytest.mark.parametrize("first", ["gate", "policy"])
@pytest.mark.parametrize("status", BLIND)
def test_decisions_that_move_nothing_while_the_gate_holds_do_not_use_up_those_of_the_run(
    status: ChunkStatus | None, first: str
) -> None:
    state = STARTED
    for k in range(1, 20):
        state = decide(state, 1_000 * k, status, rejects=True, first=first)
        assert state.decisions == 0
    assert state.turn == (19 if status is ChunkStatus.NO_TARGET else 0)
    for k in range(20, 23):
        state = decide(state, 1_000 * k, status, rejects=False)
    assert (state.decisions, DECIDER.choose(state, [100_000])) == (3, None), "an open gate: they count"


@pytest.mark.parametrize("status", [ChunkStatus.ACT, ChunkStatus.DONE])
def test_a_decision_that_moves_the_arm_counts_until_the_arm_reports_that_it_is_held(
    status: ChunkStatus,
) -> None:
    state = decide(STARTED, 1_000, status, rejects=True)
    assert state.decisions == 1
    state = DECIDER.arm_seen(state, ArmProgress(1_002, True, 1, held=True))
    assert state.decisions == 0, "once, not twice"


def test_only_a_verdict_on_the_frame_of_the_decision_counts() -> None:
    state = decide(STARTED, 2_000, ChunkStatus.NO_TARGET, rejects=False)
    for view, stamp_ns in ((View.WRIST, 2_000), (View.TOP, 1_999), (View.TOP, 2_001), (View.TOP, 999)):
        state = DECIDER.rejected(state, view, stamp_ns)
    assert state.decisions == 1
    assert DECIDER.rejected(state, View.TOP, 2_000).decisions == 0
    twice = DECIDER.rejected(DECIDER.rejected(state, View.TOP, 2_000), View.TOP, 2_000)
    assert twice.decisions == 0


def test_a_verdict_is_remembered_however_long_the_policy_thinks() -> None:
    state = DECIDER.decided(DECIDER.rejected(STARTED, View.TOP, 1_000), 1_000)
    for stamp_ns in range(1_001, 3_000):
        state = DECIDER.rejected(state, View.TOP, stamp_ns)
    assert len(state.rejected) < 100
    assert DECIDER.came_to(state, View.TOP, 1_000, ChunkStatus.NO_TARGET).decisions == 0
    late = DECIDER.decided(STARTED, 1_000)
    for stamp_ns in (*range(1_001, 1_100), 1_000):
        late = DECIDER.rejected(late, View.TOP, stamp_ns)
    assert DECIDER.came_to(late, View.TOP, 1_000, ChunkStatus.NO_TARGET).decisions == 0


def test_a_run_begins_without_the_verdicts_of_the_one_before() -> None:
    state = decide(STARTED, 1_000, ChunkStatus.NO_TARGET, rejects=False)
    state = DECIDER.set_task(state, "push the blue ball", 9_000)
    assert (state.still, state.rejected) == (frozenset(), frozenset())
    state = DECIDER.rejected(DECIDER.decided(state, 9_000), View.TOP, 1_000)
    assert (state.decisions, state.rejected) == (1, frozenset())


def test_a_report_about_the_decision_before_says_nothing_about_the_next_one() -> None:
    state = DECIDER.decided(STARTED, 1_000)
    state = DECIDER.arm_seen(state, ArmProgress(1_001, True, 1, held=True))
    state = DECIDER.decided(state, 9_000)
    for _ in range(3):  # the arm holds still, and has not taken up the second goal
        state = DECIDER.arm_seen(state, ArmProgress(9_001, True, 1, held=True))
    assert (state.decisions, state.turn) == (1, 1)
    state = idle(state, 2, 9_002)
    assert (state.decisions, state.step, state.turn) == (1, 1, 1)


def test_a_report_that_a_newer_one_has_overtaken_counts_no_motion_twice() -> None:
    state = DECIDER.decided(idle(DECIDER.decided(STARTED, 1_000), 1, 2_000), 2_500)
    state = idle(state, 2, 3_000)
    late = idle(state, 1, 2_000)
    assert late == state
    assert idle(late, 2, 3_100).step == 2


def test_reports_count_again_after_the_clock_was_set_back() -> None:
    state = replace(STARTED, reported_ns=5 * SECOND_NS)
    assert idle(DECIDER.decided(state, 1_000), 1, SECOND_NS).step == 1


def test_an_arm_that_has_not_taken_up_its_goal_yet_is_not_idle() -> None:
    """On a busy computer reports from before the goal come after the next frame: it was decided again."""
    state = DECIDER.arm_seen(STARTED, ArmProgress(900, ready=True))
    state = DECIDER.decided(state, 1_000)
    state = DECIDER.came_to(state, View.TOP, 1_000, ChunkStatus.ACT, 8)
    late_ns = 1_000 + 2 * AGAIN_NS
    stale = DECIDER.arm_seen(state, ArmProgress(1_100, ready=True))
    assert DECIDER.choose(stale, [late_ns]) is None
    refused = DECIDER.arm_seen(stale, ArmProgress(1_200, ready=True, completed=state.sequence))
    assert DECIDER.choose(refused, [late_ns]) == late_ns
    moving = DECIDER.arm_seen(stale, ArmProgress(1_200, ready=False))
    ended = DECIDER.arm_seen(moving, ArmProgress(1_300, ready=True, completed=state.sequence, whole=True))
    assert DECIDER.choose(ended, [late_ns]) == late_ns
    lost = DECIDER.arm_seen(stale, ArmProgress(901 + SECOND_NS, ready=True))
    assert DECIDER.choose(lost, [late_ns + SECOND_NS]) == late_ns + SECOND_NS, "the arm never got it"
