"""A subject's thread: every question gets exactly one outcome, in time, whatever the subject does."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embodied_iqa.subjects.worker import InferenceWorker, Outcome, OutcomeKind

PATIENCE_S = 20.0


class Gate:
    """A subject that thinks until it is let go."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.let_go = threading.Event()

    def think(self) -> str:
        self.begun.set()
        assert self.let_go.wait(PATIENCE_S)
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

    def wait(self, number: int) -> list[OutcomeKind]:
        with self._come:
            assert self._come.wait_for(lambda: len(self.outcomes) >= number, PATIENCE_S)
            return [outcome.kind for outcome in self.outcomes]


@pytest.fixture
def worker() -> Iterator[InferenceWorker[Any]]:
    made: InferenceWorker[Any] = InferenceWorker("test", limit=2)
    yield made
    made.close()


def test_an_answer_comes_back_with_its_latency(worker: InferenceWorker[Any]) -> None:
    outcome = worker.ask(lambda: threading.current_thread().name, deadline_s=PATIENCE_S)
    assert (outcome.kind, outcome.result, outcome.reason) == (OutcomeKind.DONE, "test thinks", "")
    health = worker.health()
    assert 0 < health.last_ms == outcome.latency_ms
    assert (health.counts[OutcomeKind.DONE], health.waiting, health.busy_s) == (1, 0, 0.0)


def test_what_the_subject_raises_is_told(worker: InferenceWorker[Any]) -> None:
    outcome = worker.ask(lambda: 1 // 0, deadline_s=PATIENCE_S)
    assert (outcome.kind, outcome.result) == (OutcomeKind.FAILED, None)
    assert outcome.reason.startswith("ZeroDivisionError: ")
    assert worker.ask(lambda: 2, deadline_s=PATIENCE_S).result == 2


def test_who_asked_a_stuck_subject_is_told_at_the_deadline(worker: InferenceWorker[Any]) -> None:
    gate = Gate()
    late = worker.ask(gate.think, deadline_s=0.05)
    assert late.kind is OutcomeKind.LATE
    assert 50 <= late.latency_ms < 1e3 * PATIENCE_S
    behind = worker.ask(lambda: "never begun", deadline_s=0.05)
    assert behind.kind is OutcomeKind.LATE
    assert worker.health().busy_s > 0
    gate.let_go.set()
    assert worker.ask(lambda: "next", deadline_s=PATIENCE_S).result == "next"
    counts = worker.health().counts
    assert (counts[OutcomeKind.LATE], counts[OutcomeKind.DONE]) == (2, 1), "the late answer was dropped"


def test_the_newest_question_of_a_key_wins(worker: InferenceWorker[Any]) -> None:
    gate, box = Gate(), Box()
    worker.submit(gate.think, box.put, deadline_s=PATIENCE_S)
    assert gate.begun.wait(PATIENCE_S)
    worker.submit(lambda: "old", box.put, deadline_s=PATIENCE_S, key="top")
    worker.submit(lambda: "other", box.put, deadline_s=PATIENCE_S, key="side")
    worker.submit(lambda: "new", box.put, deadline_s=PATIENCE_S, key="top")
    assert box.wait(1) == [OutcomeKind.SUPERSEDED]
    gate.let_go.set()
    box.wait(4)
    assert [outcome.result for outcome in box.outcomes[1:]] == ["slow", "other", "new"]


def test_questions_beyond_the_limit_are_refused_at_once(worker: InferenceWorker[Any]) -> None:
    gate, box = Gate(), Box()
    worker.submit(gate.think, box.put, deadline_s=PATIENCE_S)
    assert gate.begun.wait(PATIENCE_S)
    for _ in range(3):
        worker.submit(lambda: "waits", box.put, deadline_s=PATIENCE_S)
    assert box.wait(1) == [OutcomeKind.REFUSED]
    gate.let_go.set()
    assert box.wait(4) == [OutcomeKind.REFUSED] + 3 * [OutcomeKind.DONE]


def test_closing_tells_all_who_wait(worker: InferenceWorker[Any]) -> None:
    gate, box = Gate(), Box()
    worker.submit(gate.think, box.put, deadline_s=PATIENCE_S)
    assert gate.begun.wait(PATIENCE_S)
    worker.submit(lambda: "waits", box.put, deadline_s=PATIENCE_S)
    closing = threading.Thread(target=worker.close)
    closing.start()
    assert box.wait(2) == 2 * [OutcomeKind.CLOSED]
    gate.let_go.set()
    closing.join(PATIENCE_S)
    assert worker.ask(lambda: 1, deadline_s=PATIENCE_S).kind is OutcomeKind.CLOSED
    assert len(box.outcomes) == 2


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([None, "a", "b"]), st.booleans()), max_size=20))
def test_every_question_gets_exactly_one_outcome(questions: list[tuple[str | None, bool]]) -> None:
    worker: InferenceWorker[int] = InferenceWorker("test", limit=3)
    box = Box()
    for key, fails in questions:
        worker.submit(lambda f=fails: 1 // (not f), box.put, deadline_s=PATIENCE_S, key=key)
    box.wait(len(questions))
    worker.close()
    assert len(box.outcomes) == len(questions) == sum(worker.health().counts.values())
