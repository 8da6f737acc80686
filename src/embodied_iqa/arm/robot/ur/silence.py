"""Silences of the driver, as the watchdog of the robot's program sees them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

_SURELY: Final = 0.9
"""The robot counts in periods of its own; this part of the limit counts as all of it."""
_NEARLY: Final = 0.5


class Silence:
    """The time since the last sign of life, on one clock.

    Args:
        limit_s: The watchdog's period.
        clock_s: Returns the time.

    Attributes:
        longest_s: Longest silence since the restart.
        near_misses: Silences of more than half the limit since the start of the session.
    """

    def __init__(self, limit_s: float, clock_s: Callable[[], float]) -> None:
        self._limit_s = limit_s
        self._clock_s = clock_s
        self._since_s = self._overdue_s = -limit_s
        self.longest_s = 0.0
        self.near_misses = 0

    def restart(self) -> None:
        """Begin at a newly armed arm."""
        self._since_s, self._overdue_s, self.longest_s = self._clock_s(), -self._limit_s, 0.0

    def end(self) -> None:
        """Note a sign of life."""
        self.near_misses += self._measure() > _NEARLY * self._limit_s
        self._since_s = self._clock_s()

    def is_exceeded(self) -> bool:
        """Return whether a silence until now or shortly before was as long as the watchdog allows."""
        self._measure()
        return self._clock_s() - self._overdue_s < self._limit_s

    def _measure(self) -> float:
        now_s = self._clock_s()
        silence_s = now_s - self._since_s
        self.longest_s = max(self.longest_s, silence_s)
        if silence_s >= _SURELY * self._limit_s:
            self._overdue_s = now_s
        return silence_s
