"""The inference queue: a subject in a thread of its own, behind a bounded queue, with a deadline per answer.

A model cannot be interrupted. At the deadline the caller gets its outcome; a later answer is dropped and
counted.
"""

from __future__ import annotations

import contextlib
import statistics
import threading
from collections import Counter, deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, Generic, TypeVar

from embodied_iqa.base.clock import MONOTONIC, Clock

QuestionT = TypeVar("QuestionT")
AnswerT = TypeVar("AnswerT")

_KEPT_LATENCIES: Final = 200
_JOIN_S: Final = 1.0


class OutcomeKind(StrEnum):
    """How a question to a subject ended."""

    DONE = "done"
    FAILED = "failed"
    """The subject raised."""
    LATE = "late"
    """There was no answer before the deadline."""
    SUPERSEDED = "superseded"
    """A newer question with the same key arrived before this one was started."""
    REFUSED = "refused"
    """The queue was full."""
    CLOSED = "closed"
    """The subject was unloaded."""


@dataclass(frozen=True, slots=True)
class Outcome(Generic[AnswerT]):
    """The answer to a question, or why there is none.

    Attributes:
        kind: How the question ended.
        result: The answer; None unless the kind is DONE.
        error: What the subject raised; None unless the kind is FAILED.
        latency_ms: From the question until this outcome, with the time in the queue [ms].
        model_ms: Time that the subject took [ms]; 0 where it was not asked or not waited for.
        batch: Questions that the subject answered together with this one, itself included.
    """

    kind: OutcomeKind
    result: AnswerT | None = None
    error: Exception | None = None
    latency_ms: float = 0.0
    model_ms: float = 0.0
    batch: int = 1

    @property
    def reason(self) -> str:
        """Why there is no answer; empty where there is one."""
        match self.kind:
            case OutcomeKind.DONE:
                return ""
            case OutcomeKind.FAILED:
                return f"{type(self.error).__name__}: {self.error}"
            case OutcomeKind.LATE:
                return f"no answer in {self.latency_ms / 1e3:.1f} s"
            case OutcomeKind.SUPERSEDED:
                return "superseded by a newer question"
            case OutcomeKind.REFUSED:
                return "too many questions are waiting"
            case OutcomeKind.CLOSED:
                return "the subject was unloaded"


def attempt(call: Callable[[], AnswerT], clock: Clock = MONOTONIC) -> Outcome[AnswerT]:
    """Call a subject; whatever it raises becomes an outcome."""
    began_s = clock.now_s()
    result, error = None, None
    try:
        result = call()
    except Exception as caught:  # noqa: BLE001 - a subject may be third-party code
        error = caught
    took_ms = 1e3 * (clock.now_s() - began_s)
    kind = OutcomeKind.DONE if error is None else OutcomeKind.FAILED
    return Outcome(kind, result, error, latency_ms=took_ms, model_ms=took_ms)


@dataclass(frozen=True, slots=True)
class QueueHealth:
    """State of an inference queue.

    Attributes:
        counts: Outcomes so far, by kind.
        waiting: Questions that are not started.
        busy_s: How long the subject has been working on the present question; 0 where it is idle.
        last_ms: Latency of the last answer [ms]; NaN before the first.
        median_ms: Of the last 200 answers [ms].
        p95_ms: 95th percentile of the last 200 answers [ms].
        failure: Why the subject gave no answer to the newest question: it raised, or took too long; empty
            where it gave one.
    """

    counts: dict[OutcomeKind, int]
    waiting: int
    busy_s: float
    last_ms: float
    median_ms: float
    p95_ms: float
    failure: str = ""


@dataclass(slots=True, eq=False)
class _Job(Generic[QuestionT, AnswerT]):
    question: QuestionT
    key: Hashable
    asked_s: float
    until_s: float
    future: Future[Outcome[AnswerT]] = field(default_factory=Future)
    is_settled: bool = False


class InferenceQueue(Generic[QuestionT, AnswerT]):
    """Asks a subject one question after the other, or several at once, in its own thread.

    Args:
        name: Of the thread.
        ask: Asks the subject; returns one answer for each question.
        limit: Most questions that wait; further ones are refused.
        batch: Most questions that ``ask`` gets at once. Where a batch fails, its questions are asked one by
            one, so that one that cannot be answered fails alone.
        clock: Of the deadlines and latencies.
    """

    def __init__(
        self,
        name: str,
        ask: Callable[[Sequence[QuestionT]], Sequence[AnswerT]],
        *,
        limit: int,
        batch: int = 1,
        clock: Clock = MONOTONIC,
    ) -> None:
        self._ask = ask
        self._clock = clock
        self._limit = limit
        self._batch = batch
        self._changed = threading.Condition()
        self._waiting: deque[_Job[QuestionT, AnswerT]] = deque()
        self._current: list[_Job[QuestionT, AnswerT]] = []
        self._begun_s = 0.0
        self._closed = False
        self._counts: Counter[OutcomeKind] = Counter()
        self._latencies_ms: deque[float] = deque(maxlen=_KEPT_LATENCIES)
        self._failure = ""
        self._threads = [
            threading.Thread(target=target, name=f"{name} {what}", daemon=True)
            for target, what in ((self._work, "inference"), (self._watch, "deadlines"))
        ]
        for thread in self._threads:
            thread.start()

    def submit(
        self, question: QuestionT, *, deadline_s: float, key: Hashable = None
    ) -> Future[Outcome[AnswerT]]:
        """Queue a question; return at once.

        Args:
            question: The question.
            deadline_s: Longest time until the outcome, from now on.
            key: Replaces a waiting question with the same key, which ends as SUPERSEDED; None: replaces none.

        Returns:
            Gets its outcome exactly once, in any thread, perhaps before this returns. Cancelling it takes the
            question out of the queue.
        """
        now_s = self._clock.now_s()
        job: _Job[QuestionT, AnswerT] = _Job(question, key, now_s, now_s + deadline_s)
        with self._changed:
            older = [old for old in self._waiting if key is not None and old.key == key]
            self._drop(older)
            refusal = None
            if self._closed or len(self._waiting) >= self._limit:
                refusal = OutcomeKind.CLOSED if self._closed else OutcomeKind.REFUSED
            else:
                self._waiting.append(job)
                self._changed.notify_all()
        for old in older:
            self._settle(old, Outcome(OutcomeKind.SUPERSEDED))
        if refusal is not None:
            self._settle(job, Outcome(refusal))
        return job.future

    def ask(self, question: QuestionT, *, deadline_s: float, key: Hashable = None) -> Outcome[AnswerT]:
        """Queue a question and wait for its outcome, at most until the deadline; see `submit`."""
        return self.submit(question, deadline_s=deadline_s, key=key).result()

    @property
    def is_alive(self) -> bool:
        """Whether questions are still answered."""
        return self._threads[0].is_alive()

    def health(self) -> QueueHealth:
        """Return counts and latencies."""
        with self._changed:
            kept = sorted(self._latencies_ms)
            return QueueHealth(
                counts={kind: self._counts[kind] for kind in OutcomeKind},
                waiting=len(self._waiting),
                busy_s=self._clock.now_s() - self._begun_s if self._current else 0.0,
                last_ms=self._latencies_ms[-1] if kept else float("nan"),
                median_ms=statistics.median(kept) if kept else float("nan"),
                p95_ms=kept[min(len(kept) - 1, round(0.95 * len(kept)))] if kept else float("nan"),
                failure=self._failure,
            )

    def close(self, join_s: float = _JOIN_S) -> None:
        """End every question as CLOSED and stop the threads; a subject that is still busy is left alone."""
        with self._changed:
            self._closed = True
            left = [*self._waiting, *self._current]
            self._waiting.clear()
            self._changed.notify_all()
        for job in left:
            self._settle(job, Outcome(OutcomeKind.CLOSED))
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(join_s)

    def _work(self) -> None:
        while batch := self._next():
            self._answer(batch)
            with self._changed:
                self._current = []

    def _next(self) -> list[_Job[QuestionT, AnswerT]]:
        """Wait for questions and take them; a fuller batch is not waited for. Empty once closed."""
        with self._changed:
            while not self._closed:
                self._drop(())
                if self._waiting:
                    count = min(self._batch, len(self._waiting))
                    self._current = [self._waiting.popleft() for _ in range(count)]
                    self._begun_s = self._clock.now_s()
                    self._changed.notify_all()
                    return self._current
                self._changed.wait()
            return []

    def _answer(self, batch: Sequence[_Job[QuestionT, AnswerT]]) -> None:
        outcome = attempt(lambda: self._answers_to([job.question for job in batch]), self._clock)
        if outcome.result is None and len(batch) > 1:
            for job in batch:
                if not job.future.done():
                    self._answer([job])
            return
        with self._changed:
            self._current = [job for job in self._current if job not in batch]
            self._changed.notify_all()
        for index, job in enumerate(batch):
            result = None if outcome.result is None else outcome.result[index]
            late = self._clock.now_s() > job.until_s
            own = Outcome(outcome.kind, result, outcome.error, model_ms=outcome.model_ms, batch=len(batch))
            self._settle(job, Outcome(OutcomeKind.LATE) if late else own)

    def _answers_to(self, questions: Sequence[QuestionT]) -> list[AnswerT]:
        answers = list(self._ask(questions))
        if len(answers) != len(questions):
            raise ValueError(f"{len(answers)} answers to {len(questions)} questions")
        return answers

    def _watch(self) -> None:
        """Settle questions at their deadlines; one that is not started by then is dropped."""
        while True:
            with self._changed:
                if self._closed:
                    return
                now_s = self._clock.now_s()
                unsettled = [job for job in (*self._waiting, *self._current) if not job.future.done()]
                late = [job for job in unsettled if job.until_s <= now_s]
                if not late:
                    next_s = min((job.until_s for job in unsettled), default=None)
                    self._clock.wait(self._changed, None if next_s is None else next_s - now_s)
                    continue
                self._drop(late)
            for job in late:
                self._settle(job, Outcome(OutcomeKind.LATE))

    def _drop(self, gone: Sequence[_Job[QuestionT, AnswerT]]) -> None:
        """Take questions, and those that were cancelled, out of the queue; the lock is held."""
        self._waiting = deque(job for job in self._waiting if job not in gone and not job.future.cancelled())

    def _settle(self, job: _Job[QuestionT, AnswerT], outcome: Outcome[AnswerT]) -> None:
        outcome = replace(outcome, latency_ms=1e3 * (self._clock.now_s() - job.asked_s))
        with self._changed:
            if job.is_settled or job.future.cancelled():
                return
            job.is_settled = True
            self._counts[outcome.kind] += 1
            if outcome.kind in {OutcomeKind.DONE, OutcomeKind.FAILED, OutcomeKind.LATE}:
                self._failure = outcome.reason
            if outcome.kind is OutcomeKind.DONE:
                self._latencies_ms.append(outcome.latency_ms)
        with contextlib.suppress(InvalidStateError):  # cancelled in this moment
            job.future.set_result(outcome)
