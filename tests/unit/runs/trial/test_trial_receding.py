"""A receding horizon: the next decision is due while the arm moves; the raw question does not delay it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from embodied_iqa.arm.horizon_options import Horizon, HorizonOptions
from embodied_iqa.base.errors import UsageError
from embodied_iqa.data.recording.trial_record import ChunkRecord
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.inference import Outcome, OutcomeKind
from embodied_iqa.runs.trial.deciding import DecisionRequest, chunk_record
from embodied_iqa.runs.trial.decision_desk import DecisionDesk
from embodied_iqa.runs.trial.decision_timing import ArmProgress, Decider, DeciderState
from embodied_iqa.world.protocols import ActionChunk, ChunkStatus, SubjectInfo

MS = 1_000_000
HORIZON = HorizonOptions(Horizon.RECEDING, 5, 10.0)
DECIDER = Decider(500 * MS, 0, HORIZON)
INFO = SubjectInfo("scripted", "1", "moves", (View.TOP,), rate_hz=10.0)


def asked(status: ChunkStatus | None = ChunkStatus.ACT, steps: int = 8) -> DeciderState:
    """The first decision of a run, on the frame of 1000 ms, is answered."""
    state = DECIDER.decided(DECIDER.set_task(DeciderState(), "open the microwave", 1000 * MS), 1000 * MS)
    return DECIDER.came_to(state, View.TOP, 1000 * MS, status, steps)


def seen(
    state: DeciderState,
    stamp_ms: int,
    completed: int | None = None,
    *,
    ready: bool = False,
    whole: bool = False,
    held: bool = False,
    refused: int = 0,
) -> DeciderState:
    arm = ArmProgress(stamp_ms * MS, ready, completed, whole, held, refused)
    return DECIDER.arm_seen(state, arm)


def chosen(state: DeciderState, *stamps_ms: int) -> int | None:
    stamp_ns = DECIDER.choose(state, [stamp * MS for stamp in stamps_ms])
    return None if stamp_ns is None else stamp_ns // MS


@pytest.mark.parametrize(("steps", "due_ms"), [(8, 1500), (5, 1500), (3, 1300), (1, 1100)])
def test_the_next_decision_is_due_after_the_steps_while_the_arm_moves(steps: int, due_ms: int) -> None:
    state = seen(asked(steps=steps), 1100)
    assert chosen(state, due_ms - 1) is None
    assert chosen(state, due_ms - 1, due_ms, due_ms + 40) == due_ms + 40


def test_an_arm_that_has_not_yet_begun_does_not_ask_for_a_further_chunk() -> None:
    assert chosen(seen(asked(), 1040, ready=True), 1050) is None


@pytest.mark.parametrize("whole", [False, True])
def test_an_arm_with_nothing_left_asks_at_once_on_a_frame_from_then_on(whole: bool) -> None:
    state = seen(asked(), 1200, 1, ready=True, whole=whole)
    assert state.step == int(whole)
    assert chosen(state, 1190, 1200) is None
    assert chosen(state, 1200, 1210) == 1210


def test_a_chunk_that_the_next_one_continues_counts_as_executed() -> None:
    state = DECIDER.came_to(DECIDER.decided(asked(), 1500 * MS), View.TOP, 1500 * MS, ChunkStatus.ACT, 8)
    state = seen(state, 1600, 1, whole=True)
    assert state.step == 1
    assert chosen(state, 1900) is None
    assert chosen(state, 2000) == 2000


def later(state: DeciderState, stamp_ms: int) -> DeciderState:
    """A further decision, of eight steps."""
    state = DECIDER.decided(state, stamp_ms * MS)
    return DECIDER.came_to(state, View.TOP, stamp_ms * MS, ChunkStatus.ACT, 8)


def test_a_refused_chunk_is_asked_for_again_and_stays_over_when_the_one_before_it_ends() -> None:
    state = later(asked(), 1500)
    state = seen(state, 1600, 2, refused=1)  # the arm goes on with the first chunk
    assert chosen(state, 1600, 1610) == 1610
    state = seen(state, 1700, 1, ready=True, whole=True, refused=1)
    assert state.step == 1
    assert chosen(state, 1700, 1710) == 1710, "the arm stands: it does not wait until the refused one is due"


def test_a_goal_of_the_same_number_that_ended_before_the_run_says_nothing_about_it() -> None:
    state = seen(DeciderState(), 900, 1, ready=True, whole=True)  # of the policy that was loaded before
    state = DECIDER.decided(DECIDER.set_task(state, "open the microwave", 1000 * MS), 1000 * MS)
    state = DECIDER.came_to(state, View.TOP, 1000 * MS, ChunkStatus.ACT, 8)
    assert chosen(seen(state, 1100, 1), 1200) is None


def test_chunks_that_the_arm_refuses_do_not_use_up_those_of_the_run() -> None:
    state = asked()
    for k in range(1, 6):
        assert state.decisions == 1
        for stamp_ms in (1000 * k + 100, 1000 * k + 140):  # the arm reports more often than it is asked
            state = seen(state, stamp_ms, k, ready=True, refused=k)
        assert state.decisions == 0
        state = later(state, 1000 * (k + 1))
    state = seen(state, 7000, 6, ready=True, whole=True, refused=5)
    assert (state.decisions, state.step) == (1, 1)
    state = seen(later(state, 7100), 7200, 7, ready=True, refused=1)  # counted anew since it was armed
    assert state.decisions == 1
    held = seen(later(state, 7300), 7400, 8, ready=True, refused=2, held=True)
    assert (held.decisions, held.turn) == (1, 1), "held and refused: once, not twice"


def test_of_whole_chunks_those_that_the_arm_refuses_count() -> None:
    whole = Decider(500 * MS, 0)
    state = whole.decided(whole.set_task(DeciderState(), "open the microwave", 1000 * MS), 1000 * MS)
    state = whole.arm_seen(state, ArmProgress(1100 * MS, ready=True, completed=1, refused=1))
    assert state.decisions == 1


@pytest.mark.parametrize("status", [None, ChunkStatus.NO_TARGET])
def test_after_a_decision_without_steps_the_next_one_waits_a_while(status: ChunkStatus | None) -> None:
    state = seen(asked(status, 0), 1100, ready=True)
    assert chosen(state, 1499) is None
    assert chosen(state, 1500) == 1500


def test_while_the_gate_holds_the_arm_it_decides_on_the_first_frame_that_passes() -> None:
    state = seen(asked(), 1200, 1, ready=True, held=True)
    state = DECIDER.rejected(state, View.TOP, 1300 * MS)
    assert chosen(state, 1250, 1300) is None
    state = DECIDER.passed(state, View.SIDE, 1400 * MS)  # of another camera
    assert chosen(state, 1250, 1300, 1400) is None
    state = DECIDER.passed(state, View.TOP, 1400 * MS)
    assert chosen(state, 1300, 1400, 1450) == 1400


def test_a_new_run_forgets_what_was_due_and_held() -> None:
    state = DECIDER.set_task(seen(asked(), 1200, 1, held=True), "again", 3000 * MS)
    assert chosen(state, 2990, 3000) == 3000


def answered(desk: DecisionDesk, request: DecisionRequest, newest_ms: int, steps: int = 8) -> ChunkRecord:
    chunk = ActionChunk(ChunkStatus.ACT, np.zeros((steps, 7)), "moves")
    record = chunk_record(INFO, request, Outcome(OutcomeKind.DONE, chunk), {})
    assert desk.close(request)
    desk.came_to(record)
    desk.published(newest_ms * MS)
    return record


def opened() -> tuple[DecisionDesk, DecisionRequest, DecisionRequest]:
    desk = DecisionDesk(DECIDER)
    desk.set_task("open the microwave", 1000 * MS)
    arm, raw = desk.ask(1000 * MS, np.eye(4), 0.0)
    assert (arm.source, raw.source) == (Source.DISTORTED, Source.RAW)
    return desk, arm, raw


def test_only_the_question_of_the_arm_keeps_the_next_one_waiting() -> None:
    desk, arm, raw = opened()
    assert desk.is_busy
    answered(desk, arm, 1080)
    assert not desk.is_busy
    assert desk.time_for_reference(raw, 1080 * MS)
    assert desk.choose([1500 * MS]) == 1500 * MS
    assert desk.close(raw)
    assert (desk.skipped, desk.dropped) == (0, 0)


def test_a_raw_question_that_would_last_until_the_next_decision_is_skipped() -> None:
    desk, arm, raw = opened()
    answered(desk, arm, 1300)
    assert not desk.time_for_reference(raw, 1300 * MS)
    assert desk.skipped == 1
    assert not desk.close(raw)


def test_a_raw_question_of_a_run_that_is_over_is_not_asked() -> None:
    desk, arm, raw = opened()
    answered(desk, arm, 1080)
    desk.set_task("", 0)
    assert not desk.time_for_reference(raw, 1080 * MS)
    assert desk.skipped == 0


def test_receding_chunks_need_the_rate_of_the_policy() -> None:
    with pytest.raises(UsageError, match="step_rate_hz"):
        HorizonOptions(Horizon.RECEDING)
    HORIZON.check_rate(10.0, "pi0")
    HORIZON.check_rate(None, "classical-vla")
    HorizonOptions().check_rate(5.0, "openvla")
    with pytest.raises(UsageError, match="trained at another rate"):
        replace(HORIZON, step_rate_hz=15.0).check_rate(10.0, "pi0")
