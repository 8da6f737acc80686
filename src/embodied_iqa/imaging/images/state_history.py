"""State of the arm at the stamp of an image: the same however late the messages arrive."""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections import deque
from typing import Generic, TypeVar

StateT = TypeVar("StateT")


class StateHistory(Generic[StateT]):
    """The newest states by stamp. Thread-safe.

    Args:
        capacity: Number of stored states; 1024 are two seconds at 500 Hz.
    """

    def __init__(self, capacity: int = 1024) -> None:
        self._stamps_ns: deque[int] = deque(maxlen=capacity)
        self._states: deque[StateT] = deque(maxlen=capacity)
        self._lock = threading.Lock()

    def add(self, stamp_ns: int, state: StateT) -> None:
        """Add a state; one that is older than the last starts a new history (time was set back)."""
        with self._lock:
            if self._stamps_ns and stamp_ns < self._stamps_ns[-1]:
                self._stamps_ns.clear()
                self._states.clear()
            self._stamps_ns.append(stamp_ns)
            self._states.append(state)

    def at(self, stamp_ns: int) -> StateT | None:
        """Return the newest state that is not later than a stamp, or the oldest one if all are later.

        None until a state of that time or later has arrived: before, a better one may be on its way.
        """
        with self._lock:
            if not self._stamps_ns or self._stamps_ns[-1] < stamp_ns:
                return None
            return self._states[max(bisect_right(self._stamps_ns, stamp_ns) - 1, 0)]

    def around(self, stamp_ns: int) -> tuple[tuple[int, StateT], tuple[int, StateT]] | None:
        """Return the newest state that is not later than a stamp and the next one, each with its stamp.

        Both are the newest state where none is later; None where all are later.
        """
        with self._lock:
            place = bisect_right(self._stamps_ns, stamp_ns) - 1
            if place < 0:
                return None
            after = min(place + 1, len(self._stamps_ns) - 1)
            return (
                (self._stamps_ns[place], self._states[place]),
                (self._stamps_ns[after], self._states[after]),
            )

    def nearest(self, stamp_ns: int, longest_gap_ns: int) -> StateT | None:
        """Return the state nearest in time, or None if none is near enough."""
        with self._lock:
            after = bisect_left(self._stamps_ns, stamp_ns)
            around = [index for index in (after - 1, after) if 0 <= index < len(self._stamps_ns)]
            gaps_ns = {index: abs(self._stamps_ns[index] - stamp_ns) for index in around}
            best = min(gaps_ns, key=gaps_ns.__getitem__, default=None)
            return None if best is None or gaps_ns[best] > longest_gap_ns else self._states[best]
