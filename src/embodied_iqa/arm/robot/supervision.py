"""Whether those who could stop a real arm still work: a program that is frozen ends no run."""

from __future__ import annotations

from typing import Final

BEAT_S: Final = 0.5
"""Time between heartbeats."""
SILENCE_S: Final = 5.0
"""Longest silence that may be promised for a real arm: a busy machine is silent for a while, too."""


class Supervision:
    """A heartbeat that may be promised. Time is real time in seconds, from any origin.

    Args:
        who: Whose heartbeat it is, for messages.
        own: The program that waits for it: after it was frozen itself, it cannot blame the other.
    """

    def __init__(self, who: str, own: str) -> None:
        self._who, self._own = who, own
        self._limit_s = self._heard_s = self._awake_s = self._asleep_s = 0.0

    def begin(self, limit_s: float, now_s: float) -> None:
        """Begin with a promise.

        Args:
            limit_s: Longest silence; 0 for no heartbeat.
            now_s: Time.
        """
        self._limit_s, self._awake_s = limit_s, now_s
        self.hear(now_s)

    def hear(self, now_s: float) -> None:
        """Take a heartbeat."""
        self._heard_s, self._asleep_s = now_s, 0.0

    def lost(self, now_s: float) -> str:
        """Return that the heartbeat has stopped, in words; empty where it has not, or none is promised.

        To be called several times a second while it matters.
        """
        self._asleep_s, self._awake_s = max(self._asleep_s, now_s - self._awake_s), now_s
        if not 0.0 < self._limit_s < now_s - self._heard_s:
            return ""
        if self._asleep_s > self._limit_s:
            return f"{self._own} stood still for {self._asleep_s:.1f} s"
        return f"{self._who} has been silent for {self._limit_s:g} s"
