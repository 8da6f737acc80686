"""Reports what a trial waits for, at least every few seconds: a person may stand beside the arm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

TOLD_EVERY_S: Final = 5.0
"""Longest time without a word while something is waited for."""


class WaitNews:
    """Says what a wait is for: a new fault at once, anything again after some seconds without a word.

    Args:
        say: Called with the words.
        every_s: Longest time without a word (s).
    """

    def __init__(self, say: Callable[[str], None], every_s: float = TOLD_EVERY_S) -> None:
        self._say, self._every_s = say, every_s
        self._fault, self._told_s = "", 0.0

    def begin(self, now_s: float) -> None:
        """Begin a wait."""
        self._fault, self._told_s = "", now_s

    def tell(self, waits_for: str, fault: str, now_s: float) -> None:
        """Say it where that is due.

        Args:
            waits_for: What is waited for; empty where it is not known.
            fault: What a node reports of itself, such as a silent camera; empty for nothing.
            now_s: Time.
        """
        is_new, self._fault = bool(fault) and fault != self._fault, fault
        words = "; ".join(filter(None, (waits_for, fault)))
        if words and (is_new or now_s - self._told_s >= self._every_s):
            self._told_s = now_s
            self._say(words)
