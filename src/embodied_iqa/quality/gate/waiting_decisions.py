"""Decisions that wait until the frame that they are about is judged."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.second_stage import GateDecision

_KEPT: Final = 8


class WaitingDecisions:
    """A queue of limited length: where it is full, the oldest decision is dropped and counted.

    A dropped decision gets no verdict, so that the arm does not move on it.
    """

    def __init__(self) -> None:
        self._waiting: deque[GateDecision] = deque()
        self.dropped = 0

    def add(self, decision: GateDecision) -> GateDecision | None:
        """Add a decision; return the one that is dropped for it, if any."""
        self._waiting.append(decision)
        if len(self._waiting) <= _KEPT:
            return None
        self.dropped += 1
        return self._waiting.popleft()

    def take(self, is_judged: Callable[[View, int], bool]) -> list[GateDecision]:
        """Remove and return the decisions whose frame is judged, the oldest first.

        Args:
            is_judged: Whether the frame of a camera with a stamp is judged.
        """
        due = [one for one in self._waiting if is_judged(one.view, one.stamp_ns)]
        self._waiting = deque(one for one in self._waiting if one not in due)
        return due
