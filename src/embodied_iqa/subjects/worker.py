"""Asks a subject in a thread of its own: a bounded queue, a deadline for every answer, newer replaces older.

A model cannot be interrupted. What it says after the deadline is dropped and counted; whoever asked was told
at the deadline.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Generic, TypeVar

__all__ = ["InferenceWorker", "Outcome", "OutcomeKind", "WorkerHealth"]

ResultT = TypeVar("ResultT")

_KEPT_LATENCIES: Final = 200
_JOIN_S: Final = 2.0


class OutcomeKind(StrEnum):
    """What became of a question."""

    DONE = "done"
    FAILED = "failed"
    """The subject raised."""
    LATE = "late"
    """No answer before the deadline."""
    SUPERSEDED = "superseded"
    """A newer question with the same key came before this one was begun."""
    REFUSED = "refused"
    """Too many questions wait."""
    CLOSED = "closed"
    """The subject was let go."""


@dataclass(frozen=True, slots=True)
class Outcome(Generic[ResultT]):
    """What became of a question.

    Attributes:
        kind: In a word.
        result: The answer; None unless the kind is DONE.
        error: What the subject raised; None unless the kind is FAILED.
        latency_ms: From the question until this outcome, with the wait for others [ms].
    """

    kind: OutcomeKind
    result: ResultT | None = None
    error: Exception | None = None
    latency_ms: float = 0.0

    @property
    def reason(self) -> str:
        """Why there is no answer, in words; empty where there is one."""
        match self.kind:
            case OutcomeKind.DONE:
                return ""
            case OutcomeKind.FAILED:
                return f"{type(self.error).__name__}: {self.error}"
            case OutcomeKind.LATE:
                return f"no answer in {self.latency_ms / 1e3:.1f} s"
            case OutcomeKind.SUPERSEDED:
                return "a newer question came"
            case OutcomeKind.REFUSED:
                return "too many questions wait"
            case OutcomeKind.CLOSED:
                return "the subject was let go"


@dataclass(frozen=True, slots=True)
class WorkerHealth:
    """How a worker is.

    Attributes:
        counts: How often each kind of outcome came about.
        waiting: Questions that are not begun.
        busy_s: For how long the subject has been thinking now; 0 where it is not.
        last_ms: Latency of the last answer [ms]; NaN before the first.
        median_ms: Of the last 200 answers [ms].
        p95_ms: 95 of 100 of the last 200 answers took no longer [ms].
    """

    counts: dict[OutcomeKind, int]
    waiting: int
    busy_s: float
    last_ms: float
    median_ms: float
    p95_ms: float


@dataclass(slots=True, eq=False)
class _Job:
    work: Callable[[], Any]
    done: Callable[[Outcome[Any]], None]
    key: Hashable
    asked_s: float
    until_s: float
    is_told: bool = False


class InferenceWorker(Generic[ResultT]):
    """Runs questions one after the other in its own thread.

    Args:
        name: Of the thread.
        limit: Most questions that wait; further ones are refused.
    """

    def __init__(self, name: str, limit: int = 4) -> None:
        self._limit = limit
        self._changed = threading.Condition()
        self._waiting: deque[_Job] = deque()
        self._current: _Job | None = None
        self._begun_s = 0.0
        self._closed = False
        self._counts: Counter[OutcomeKind] = Counter()
        self._latencies_ms: deque[float] = deque(maxlen=_KEPT_LATENCIES)
        self._threads = [
            threading.Thread(target=target, name=f"{name} {what}", daemon=True)
            for target, what in ((self._think, "thinks"), (self._watch, "watches"))
        ]
        for thread in self._threads:
            thread.start()

    def submit(
        self,
        work: Callable[[], ResultT],
        done: Callable[[Outcome[ResultT]], None],
        *,
        deadline_s: float,
        key: Hashable = None,
    ) -> None:
        """Ask; return at once.

        Args:
            work: Asks the subject; runs in the worker's thread.
            done: Takes the outcome, exactly once, in any thread and perhaps before this returns; quick.
            deadline_s: How long an answer may take from now on.
            key: A question that waits with the same key is given up for this one; None: none is.
        """
        now_s = time.monotonic()
        job = _Job(work, done, key, now_s, now_s + deadline_s)
        told: list[tuple[_Job, OutcomeKind]] = []
        with self._changed:
            if key is not None:
                told += [(old, OutcomeKind.SUPERSEDED) for old in self._waiting if old.key == key]
                self._waiting = deque(old for old in self._waiting if old.key != key)
            if self._closed:
                told.append((job, OutcomeKind.CLOSED))
            elif len(self._waiting) >= self._limit:
                told.append((job, OutcomeKind.REFUSED))
            else:
                self._waiting.append(job)
                self._changed.notify_all()
        for old, kind in told:
            self._tell(old, kind)

    def ask(
        self, work: Callable[[], ResultT], *, deadline_s: float, key: Hashable = None
    ) -> Outcome[ResultT]:
        """Ask and wait for the outcome, at most until the deadline."""
        answered = threading.Event()
        outcomes: list[Outcome[ResultT]] = []

        def done(outcome: Outcome[ResultT]) -> None:
            outcomes.append(outcome)
            answered.set()

        self.submit(work, done, deadline_s=deadline_s, key=key)
        answered.wait()
        return outcomes[0]

    def health(self) -> WorkerHealth:
        """Say how it is."""
        with self._changed:
            busy_s = time.monotonic() - self._begun_s if self._current is not None else 0.0
            kept = sorted(self._latencies_ms)
            last_ms = self._latencies_ms[-1] if kept else float("nan")
            p95_ms = kept[min(len(kept) - 1, round(0.95 * len(kept)))] if kept else float("nan")
            median_ms = statistics.median(kept) if kept else float("nan")
            counts = {kind: self._counts[kind] for kind in OutcomeKind}
            return WorkerHealth(counts, len(self._waiting), busy_s, last_ms, median_ms, p95_ms)

    def close(self) -> None:
        """Give all questions up and end the threads; a subject that still thinks is left alone."""
        with self._changed:
            self._closed = True
            left = [*self._waiting, *([] if self._current is None else [self._current])]
            self._waiting.clear()
            self._changed.notify_all()
        for job in left:
            self._tell(job, OutcomeKind.CLOSED)
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(_JOIN_S)

    def _think(self) -> None:
        while (job := self._next()) is not None:
            try:
                result, error = job.work(), None
            except Exception as caught:  # noqa: BLE001 - a subject may be anybody's code
                result, error = None, caught
            with self._changed:
                self._current = None
                self._changed.notify_all()
            kind = OutcomeKind.DONE if error is None else OutcomeKind.FAILED
            if time.monotonic() > job.until_s:
                kind = OutcomeKind.LATE
            self._tell(job, kind, result, error)

    def _next(self) -> _Job | None:
        with self._changed:
            while not self._waiting and not self._closed:
                self._changed.wait()
            if self._closed:
                return None
            self._current, self._begun_s = self._waiting.popleft(), time.monotonic()
            self._changed.notify_all()
            return self._current

    def _watch(self) -> None:
        """Tell who asked as soon as a deadline passes; a question that is not begun then is dropped."""
        while True:
            with self._changed:
                if self._closed:
                    return
                now_s = time.monotonic()
                open_jobs = [*self._waiting, *([] if self._current is None else [self._current])]
                late = [job for job in open_jobs if job.until_s <= now_s and not job.is_told]
                self._waiting = deque(job for job in self._waiting if job not in late)
                if not late:
                    pending = [job.until_s for job in open_jobs if not job.is_told]
                    self._changed.wait(min(pending) - now_s if pending else None)
                    continue
            for job in late:
                self._tell(job, OutcomeKind.LATE)

    def _tell(
        self, job: _Job, kind: OutcomeKind, result: ResultT | None = None, error: Exception | None = None
    ) -> None:
        latency_ms = 1e3 * (time.monotonic() - job.asked_s)
        with self._changed:
            if job.is_told:
                return
            job.is_told = True
            self._counts[kind] += 1
            if kind is OutcomeKind.DONE:
                self._latencies_ms.append(latency_ms)
        told = result if kind is OutcomeKind.DONE else None
        job.done(Outcome(kind, told, error if kind is OutcomeKind.FAILED else None, latency_ms))
