"""A clock that the test owns: its time passes when the test says so, whatever else the machine is doing."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Condition, Event
from typing import Any, TypeVar

from embodied_iqa.base.clock import Descriptor, poll_of
from embodied_iqa.base.units import SECOND_NS

PATIENCE_S = 60.0
"""Real time after which a test fails because nothing happens; nothing is decided by it."""

_MARGIN_S = 0.001
_SLICE_S = 0.002
"""Real time between two looks at a library; nothing is decided by it."""
ResultT = TypeVar("ResultT")


@dataclass(eq=False)
class _Waiter:
    """A thread that waits for an event or for a time, None for the event alone."""

    until_ns: int | None
    wake: Callable[[], None]


class ManualClock:
    """A `Clock` whose time passes by `advance` alone. Waits end at once when their event comes.

    A thread's wait counts from when the thread last looked at the clock: what it computes takes no time.

    Args:
        pauses_pass: `sleep` and `wait_event` do not wait: they move the time on by themselves. For code with
            one thread, whose pauses nothing but time ends.
    """

    def __init__(self, *, pauses_pass: bool = False) -> None:
        self._pauses_pass = pauses_pass
        self._now_ns = 1_000 * SECOND_NS
        self._changed = Condition()
        self._waiters: list[_Waiter] = []
        self._reads = 0
        self._thread = threading.local()

    # --- the protocol ---------------------------------------------------------------------------------------

    def now_ns(self) -> int:
        with self._changed:
            self._reads += 1
            self._changed.notify_all()
            self._thread.seen_ns = self._now_ns
            return self._now_ns

    def now_s(self) -> float:
        return self.now_ns() / SECOND_NS

    def sleep(self, seconds: float) -> None:
        self.wait_event(Event(), seconds)

    def wait(self, condition: Condition, seconds: float | None = None) -> None:
        self._wait(condition, self._until(seconds))

    def _wait(self, condition: Condition, until_ns: int | None) -> None:
        def wake() -> None:
            with condition:
                condition.notify_all()

        waiter = self._begin(until_ns, wake)
        if waiter is not None:
            try:
                condition.wait()
            finally:
                self._end(waiter)

    def wait_event(self, event: Event, seconds: float | None = None) -> bool:
        if self._pauses_pass and seconds is not None:
            if not event.is_set():
                self.advance(seconds)
            return event.is_set()
        until_ns = None if seconds is None else self._now_ns + round(seconds * SECOND_NS)
        condition = event._cond  # type: ignore[attr-defined]
        with condition:
            while not event.is_set() and (until_ns is None or self._now_ns < until_ns):
                self.wait(condition, None if until_ns is None else (until_ns - self._now_ns) / SECOND_NS)
        return event.is_set()

    def wait_readable(self, source: Descriptor, seconds: float | None = None) -> bool:
        return self._poll(source, select.POLLIN, seconds)

    def wait_writable(self, sink: Descriptor, seconds: float | None = None) -> bool:
        return self._poll(sink, select.POLLOUT, seconds)

    def limit(self, wait: Callable[[float], ResultT], seconds: float) -> ResultT:
        """Ask the library again and again: it has no other hook."""
        until_ns = self._until(seconds)
        waiter = self._begin(until_ns, lambda: None)
        if waiter is None:
            return wait(0.0)
        try:
            while (found := wait(_SLICE_S)) is None and not self._is_due(waiter):
                continue
            return found
        finally:
            self._end(waiter)

    # --- the test's side ------------------------------------------------------------------------------------

    def advance(self, seconds: float) -> None:
        """Let time pass, and wake everyone whose time has come."""
        with self._changed:
            self._now_ns += round(seconds * SECOND_NS)
            due = [waiter for waiter in self._waiters if self._is_due(waiter)]
        for waiter in due:
            waiter.wake()

    def await_waiting(self, number: int = 1, *, or_done: Future[Any] | None = None) -> None:
        """Return once so many threads wait for a time on this clock that has not come yet."""
        with self._changed:
            assert self._changed.wait_for(
                lambda: self._is_done(or_done) or len(self._sleeping()) >= number, PATIENCE_S
            ), "nobody waits on the clock"

    def await_use(self, done: Future[Any]) -> None:
        """Return once the time is read again or waited for, or all is done: someone keeps a deadline."""
        done.add_done_callback(self._tell)
        with self._changed:
            reads = self._reads
            assert self._changed.wait_for(
                lambda: done.done() or self._sleeping() or self._reads > reads, PATIENCE_S
            ), "nobody looks at the clock"

    def outlast(self, called: Future[Any], seconds: float) -> None:
        """Let a call miss its deadline of ``seconds``: it still goes on just before, then it ends."""
        self.await_use(called)
        self.advance(seconds - _MARGIN_S)
        self.await_use(called)
        assert not called.done(), called.result()
        self.advance(2 * _MARGIN_S)
        called.exception(PATIENCE_S)

    def run_until(self, done: Future[ResultT], number: int = 1) -> ResultT:
        """Let time pass to the next time that is waited for, whenever someone waits; return the result."""
        done.add_done_callback(self._tell)
        while not done.done():
            self.await_waiting(number, or_done=done)
            self._skip()
        return done.result()

    @contextmanager
    def passing(self) -> Iterator[None]:
        """While the block runs, let time pass whenever someone waits for it."""
        ended: Future[None] = Future()
        thread = threading.Thread(target=self.run_until, args=(ended,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set_result(None)
            thread.join(PATIENCE_S)

    # --- inside ---------------------------------------------------------------------------------------------

    def _skip(self) -> None:
        with self._changed:
            times = [waiter.until_ns for waiter in self._sleeping() if waiter.until_ns is not None]
        if times:
            self.advance((min(times) - self._now_ns) / SECOND_NS)

    def _tell(self, _done: Future[Any]) -> None:
        with self._changed:
            self._changed.notify_all()

    @staticmethod
    def _is_done(future: Future[Any] | None) -> bool:
        return future is not None and future.done()

    def _is_due(self, waiter: _Waiter) -> bool:
        return waiter.until_ns is not None and waiter.until_ns <= self._now_ns

    def _sleeping(self) -> list[_Waiter]:
        return [
            waiter for waiter in self._waiters if waiter.until_ns is not None and not self._is_due(waiter)
        ]

    def _until(self, seconds: float | None) -> int | None:
        """Return the end of a wait of this thread."""
        seen_ns = getattr(self._thread, "seen_ns", self._now_ns)
        return None if seconds is None else seen_ns + round(seconds * SECOND_NS)

    def _begin(self, until_ns: int | None, wake: Callable[[], None]) -> _Waiter | None:
        """Note that a thread waits; None where its time has come already."""
        with self._changed:
            self._thread.seen_ns = self._now_ns
            waiter = _Waiter(until_ns, wake)
            if self._is_due(waiter):
                return None
            self._waiters.append(waiter)
            self._changed.notify_all()
            return waiter

    def _end(self, waiter: _Waiter) -> None:
        with self._changed:
            self._thread.seen_ns = self._now_ns
            self._waiters.remove(waiter)

    def _poll(self, descriptor: Descriptor, events: int, seconds: float | None) -> bool:
        """Wait for the descriptor or for `advance`, which writes to a second one."""
        poll = poll_of(descriptor, events)
        ours, alarm = socket.socketpair()
        poll.register(ours, select.POLLIN)

        def wake() -> None:
            with suppress(OSError):  # it has stopped waiting in this moment
                alarm.send(b"!")

        with ours, alarm:
            waiter = self._begin(self._until(seconds), wake)
            try:
                found = poll.poll(0 if waiter is None else None)
            finally:
                if waiter is not None:
                    self._end(waiter)
            return any(number != ours.fileno() for number, _ in found)
