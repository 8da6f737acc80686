"""The inference queue: every question gets exactly one outcome, in time, whatever the subject does."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embodied_iqa.base.clock import MONOTONIC, Clock
from embodied_iqa.models.subjects.inference import InferenceQueue, Outcome, OutcomeKind, attempt
from manual_clock import PATIENCE_S, ManualClock

Calls = InferenceQueue[Callable[[], Any], Any]


class Gate:
    """A subject that thinks until it is released."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.released = threading.Event()

    def think(self) -> str:
        self.begun.set()
        assert self.released.wait(PATIENCE_S)
        return "slow"


class Box:
    """Outcomes in the order in which they came."""

    def __init__(self) -> None:
        self._come = threading.Condition()
        self.outcomes: list[Outcome[Any]] = []

    def put(self, outcome: Outcome[Any]) -> None:
        with self._come:
            self.outcomes.append(outcome)
            self._come.notify_all()

    def kinds(self, number: int) -> list[OutcomeKind]:
        """Wait for so many outcomes."""
        with self._come:
            assert self._come.wait_for(lambda: len(self.outcomes) >= number, PATIENCE_S)
            return [outcome.kind for outcome in self.outcomes]


def calls(limit: int, clock: Clock = MONOTONIC) -> Calls:
    return InferenceQueue("test", lambda waiting: [call() for call in waiting], limit=limit, clock=clock)


def submit(queue: Calls, call: Callable[[], Any], box: Box, key: str | None = None) -> None:
    future = queue.submit(call, deadline_s=PATIENCE_S, key=key)
    future.add_done_callback(lambda settled: box.put(settled.result()))


@pytest.fixture
def queue() -> Iterator[Calls]:
    made = calls(limit=2)
    yield made
    made.close()


def test_an_answer_comes_back_with_its_latency(queue: Calls) -> None:
    outcome = queue.ask(lambda: threading.current_thread().name, deadline_s=PATIENCE_S)
    assert (outcome.kind, outcome.result, outcome.reason) == (OutcomeKind.DONE, "test inference", "")
    health = queue.health()
    assert 0 < health.last_ms == outcome.latency_ms
    assert (health.counts[OutcomeKind.DONE], health.waiting, health.busy_s) == (1, 0, 0.0)


def test_what_the_subject_raises_is_reported(queue: Calls) -> None:
    outcome = queue.ask(lambda: 1 // 0, deadline_s=PATIENCE_S)
    assert (outcome.kind, outcome.result) == (OutcomeKind.FAILED, None)
    assert outcome.reason.startswith("ZeroDivisionError: ")
    assert queue.health().failure == outcome.reason
    assert queue.ask(lambda: 2, deadline_s=PATIENCE_S).result == 2
    assert queue.health().failure == ""


def test_a_stuck_subject_gives_an_outcome_at_the_deadline() -> None:
    gate, clock = Gate(), ManualClock()
    queue = calls(limit=2, clock=clock)
    late = queue.submit(gate.think, deadline_s=0.05)
    assert gate.begun.wait(PATIENCE_S)
    clock.outlast(late, 0.05)
    assert (late.result().kind, late.result().latency_ms) == (OutcomeKind.LATE, pytest.approx(51))
    behind = queue.submit(lambda: "never begun", deadline_s=0.05)
    clock.outlast(behind, 0.05)
    assert behind.result().kind is OutcomeKind.LATE
    assert queue.health().busy_s == pytest.approx(0.102)
    gate.released.set()
    assert queue.ask(lambda: "next", deadline_s=0.05).result == "next"
    counts = queue.health().counts
    assert (counts[OutcomeKind.LATE], counts[OutcomeKind.DONE]) == (2, 1), "the late answer was dropped"
    queue.close()


def test_an_answer_after_the_deadline_is_late_even_where_nobody_has_noticed() -> None:
    clock = ManualClock()
    queue = calls(limit=2, clock=clock)

    def think() -> str:
        clock.advance(0.06)
        return "in vain"

    assert queue.ask(think, deadline_s=0.05).kind is OutcomeKind.LATE
    queue.close()


def test_the_newest_question_of_a_key_wins(queue: Calls) -> None:
    gate, box = Gate(), Box()
    submit(queue, gate.think, box)
    assert gate.begun.wait(PATIENCE_S)
    submit(queue, lambda: "old", box, "top")
    submit(queue, lambda: "other", box, "side")
    submit(queue, lambda: "new", box, "top")
    assert box.kinds(1) == [OutcomeKind.SUPERSEDED]
    gate.released.set()
    box.kinds(4)
    assert [outcome.result for outcome in box.outcomes[1:]] == ["slow", "other", "new"]


def test_questions_beyond_the_limit_are_refused_at_once(queue: Calls) -> None:
    gate, box = Gate(), Box()
    submit(queue, gate.think, box)
    assert gate.begun.wait(PATIENCE_S)
    for _ in range(3):
        submit(queue, lambda: "waits", box)
    assert box.kinds(1) == [OutcomeKind.REFUSED]
    gate.released.set()
    assert box.kinds(4) == [OutcomeKind.REFUSED] + 3 * [OutcomeKind.DONE]


def test_closing_ends_every_question(queue: Calls) -> None:
    gate, box = Gate(), Box()
    submit(queue, gate.think, box)
    assert gate.begun.wait(PATIENCE_S)
    submit(queue, lambda: "waits", box)
    closing = threading.Thread(target=queue.close)
    closing.start()
    assert box.kinds(2) == 2 * [OutcomeKind.CLOSED]
    gate.released.set()
    closing.join(PATIENCE_S)
    assert queue.ask(lambda: 1, deadline_s=PATIENCE_S).kind is OutcomeKind.CLOSED
    assert len(box.outcomes) == 2


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([None, "a", "b"]), st.booleans()), max_size=20))
def test_every_question_gets_exactly_one_outcome(questions: list[tuple[str | None, bool]]) -> None:
    queue = calls(limit=3)
    box = Box()
    for key, fails in questions:
        submit(queue, lambda f=fails: 1 // (not f), box, key)
    box.kinds(len(questions))
    queue.close()
    assert len(box.outcomes) == len(questions) == sum(queue.health().counts.values())


def test_a_call_outside_of_a_queue_ends_as_a_value_too() -> None:
    assert (attempt(lambda: 3).kind, attempt(lambda: 3).result) == (OutcomeKind.DONE, 3)
    failed = attempt(lambda: 1 // 0)
    assert (failed.kind, failed.result) == (OutcomeKind.FAILED, None)
    assert failed.reason.startswith("ZeroDivisionError: ")


class Batches:
    """Answers several questions at once; waits at "first", fails at "fail", loses answers at "short"."""

    def __init__(self) -> None:
        self.gate = Gate()
        self.seen: list[list[str]] = []

    def __call__(self, questions: Sequence[str]) -> list[str]:
        self.seen.append(list(questions))
        if questions[0] == "first":
            self.gate.think()
        if "fail" in questions:
            raise ValueError("cannot answer")
        return [] if "short" in questions else [question.upper() for question in questions]


def test_waiting_questions_are_answered_together_and_one_that_fails_fails_alone() -> None:
    subject = Batches()
    queue: InferenceQueue[str, str] = InferenceQueue("test", subject, limit=8, batch=3)
    first = queue.submit("first", deadline_s=PATIENCE_S)
    assert subject.gate.begun.wait(PATIENCE_S)
    words = ("a", "fail", "b", "c", "short")
    futures = {word: queue.submit(word, deadline_s=PATIENCE_S) for word in words}
    subject.gate.released.set()
    outcomes = {word: future.result(PATIENCE_S) for word, future in futures.items()}
    assert first.result().result == "FIRST"
    answered = {word: outcome.result for word, outcome in outcomes.items() if outcome.result}
    assert answered == {"a": "A", "b": "B", "c": "C"}
    assert outcomes["fail"].reason == "ValueError: cannot answer"
    assert outcomes["short"].reason == "ValueError: 0 answers to 1 questions"
    one_by_one = [[["a", "fail", "b"], ["a"], ["fail"], ["b"]], [["c", "short"], ["c"], ["short"]]]
    assert subject.seen == [["first"], *one_by_one[0], *one_by_one[1]]
    assert queue.ask("last", deadline_s=PATIENCE_S).batch == 1
    assert queue.health().waiting == 0
    queue.close()


def test_a_cancelled_question_leaves_the_queue(queue: Calls) -> None:
    gate, box = Gate(), Box()
    submit(queue, gate.think, box)
    assert gate.begun.wait(PATIENCE_S)
    given_up = [queue.submit(lambda: "given up", deadline_s=PATIENCE_S) for _ in range(2)]
    assert [future.cancel() for future in given_up] == [True, True]
    submit(queue, lambda: "fits", box)
    gate.released.set()
    assert box.kinds(2) == 2 * [OutcomeKind.DONE]
    assert [outcome.result for outcome in box.outcomes] == ["slow", "fits"]
    assert queue.health().counts[OutcomeKind.DONE] == 2
