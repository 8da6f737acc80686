"""Time as an argument: what waits or keeps a deadline takes a `Clock`, so that a test can own its time."""

from __future__ import annotations

import errno
import os
import select
import time
from collections.abc import Callable
from threading import Condition, Event
from typing import Final, Protocol, TypeVar

from embodied_iqa.base.units import SECOND_NS

ResultT = TypeVar("ResultT")


class Descriptor(Protocol):
    """What has a file descriptor, such as a socket."""

    def fileno(self) -> int:
        """Return the descriptor."""
        ...


class Clock(Protocol):
    """A monotonic clock and the waits that it limits.

    Every wait may end early without its event, so that its caller looks at the state again. None as the time
    limit waits for the event alone.
    """

    def now_ns(self) -> int:
        """Return the time in ns since an arbitrary zero; it never decreases."""
        ...

    def now_s(self) -> float:
        """Return the same time in s."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait so long."""
        ...

    def wait(self, condition: Condition, seconds: float | None = None) -> None:
        """Wait, with the condition's lock held, until it is notified, at most so long."""
        ...

    def wait_event(self, event: Event, seconds: float | None = None) -> bool:
        """Wait until the event is set, at most so long; return whether it is."""
        ...

    def wait_readable(self, source: Descriptor, seconds: float | None = None) -> bool:
        """Wait until reading does not block, at most so long; return whether that is so.

        Raises:
            OSError: The source is closed.
        """
        ...

    def wait_writable(self, sink: Descriptor, seconds: float | None = None) -> bool:
        """Wait until writing does not block, at most so long; return whether that is so.

        Raises:
            OSError: The sink is closed.
        """
        ...

    def limit(self, wait: Callable[[float], ResultT], seconds: float) -> ResultT:
        """Return the result of a library's own wait: it takes a time limit in s, and returns None then."""
        ...


class MonotonicClock:
    """The operating system's monotonic clock."""

    def now_ns(self) -> int:
        """Return the time in ns since the machine started."""
        return time.monotonic_ns()

    def now_s(self) -> float:
        """Return the same time in s."""
        return time.monotonic_ns() / SECOND_NS

    def sleep(self, seconds: float) -> None:
        """Wait so long."""
        time.sleep(max(seconds, 0.0))

    def wait(self, condition: Condition, seconds: float | None = None) -> None:
        """Wait, with the condition's lock held, until it is notified, at most so long."""
        condition.wait(seconds)

    def wait_event(self, event: Event, seconds: float | None = None) -> bool:
        """Wait until the event is set, at most so long; return whether it is."""
        return event.wait(seconds)

    def wait_readable(self, source: Descriptor, seconds: float | None = None) -> bool:
        """Wait until reading does not block, at most so long; return whether that is so."""
        return _poll(source, select.POLLIN, seconds)

    def wait_writable(self, sink: Descriptor, seconds: float | None = None) -> bool:
        """Wait until writing does not block, at most so long; return whether that is so."""
        return _poll(sink, select.POLLOUT, seconds)

    def limit(self, wait: Callable[[float], ResultT], seconds: float) -> ResultT:
        """Return the result of a library's own wait: it takes a time limit in s, and returns None then."""
        return wait(seconds)


MONOTONIC: Final[Clock] = MonotonicClock()
"""The clock of everything that is not given another."""


def poll_of(descriptor: Descriptor, events: int) -> select.poll:
    """Return a poll(2) of one descriptor, which may have any number, as with select(2) it may not.

    Raises:
        OSError: It is closed.
    """
    if descriptor.fileno() < 0:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    poll = select.poll()
    poll.register(descriptor, events)
    return poll


def _poll(descriptor: Descriptor, events: int, seconds: float | None) -> bool:
    poll = poll_of(descriptor, events)
    return bool(poll.poll(None if seconds is None else max(seconds, 0.0) * 1e3))
