"""State of the arm at the stamp of a picture: the same however late the messages arrive."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from typing import Final, Generic, TypeVar

StateT = TypeVar("StateT")

_KEPT: Final = 1024
"""States; two seconds at 500 Hz."""


class StateHistory(Generic[StateT]):
    """The newest states by stamp."""

    def __init__(self) -> None:
        self._stamps_ns: deque[int] = deque(maxlen=_KEPT)
        self._states: deque[StateT] = deque(maxlen=_KEPT)

    def add(self, stamp_ns: int, state: StateT) -> None:
        """Add a state; one that is older than the last starts a new history (time was set back)."""
        if self._stamps_ns and stamp_ns < self._stamps_ns[-1]:
            self._stamps_ns.clear()
            self._states.clear()
        self._stamps_ns.append(stamp_ns)
        self._states.append(state)

    def at(self, stamp_ns: int) -> StateT | None:
        """Return the newest state that is not later than a stamp, or the oldest one if all are later.

        None until a state of that time or later has arrived: before, a better one may be on its way.
        """
        if not self._stamps_ns or self._stamps_ns[-1] < stamp_ns:
            return None
        return self._states[max(bisect_right(self._stamps_ns, stamp_ns) - 1, 0)]
