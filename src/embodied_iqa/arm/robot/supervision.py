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
    """

    def __init__(self, who: str) -> None:
        self._who = who
        self._limit_s = self._heard_s = 0.0

    def begin(self, limit_s: float, now_s: float) -> None:
        """Begin with a promise.

        Args:
            limit_s: Longest silence; 0 for no heartbeat.
            now_s: Time.
        """
        self._limit_s, self._heard_s = limit_s, now_s

    def hear(self, now_s: float) -> None:
        """Take a heartbeat."""
        self._heard_s = now_s

    def lost(self, now_s: float) -> str:
        """Return that the heartbeat has stopped, in words; empty where it has not, or none is promised."""
        is_lost = 0.0 < self._limit_s < now_s - self._heard_s
        return f"{self._who} has been silent for {self._limit_s:g} s" if is_lost else ""
