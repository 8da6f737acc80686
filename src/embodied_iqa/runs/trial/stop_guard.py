"""What a real arm may not do after a stop: arm again before a person has answered that the way is free."""

from __future__ import annotations

from typing import Final

from embodied_iqa.arm.robot.messages import StopCause

_STOPS_OF_THE_ROBOT: Final = {
    cause for cause in StopCause if cause.is_breakdown or cause in {StopCause.PROTECTIVE, StopCause.EMERGENCY}
}
"""Stops after which people may be at the arm: by its own safety system, or because it has failed."""


class StopGuard:
    """Remembers a stop of the robot until a person has answered a question that names it.

    An answer counts if its question was asked after the stop began, named it, and if the robot reports no
    fault any more when the answer comes. Time is real time in seconds, from any origin.

    Attributes:
        stopped: The stop that nobody has answered yet, in words; empty for none.
        fault: What the robot reports of itself now, such as a pressed emergency stop; empty for nothing.
    """

    def __init__(self) -> None:
        self.stopped = self.fault = ""
        self._began_s = self._released_s = self._asked_s = -float("inf")
        self._named = self._cause = self._fault_cause = ""
        self._is_early = False
        self._seen: tuple[str, str] | None = None

    def begin(self) -> None:
        """Forget the stops from before a trial, whose first question is asked in any case."""
        self.stopped = self.fault

    def see_status(self, cause: str, reason: str, now_s: float) -> None:
        """Take a status of the arm, which keeps the cause of its last stop until it is armed again.

        Args:
            cause: A `StopCause` in words; empty where the arm is not stopped.
            reason: The stop in words.
            now_s: Time.
        """
        seen = (cause, reason) if cause else None
        if seen is not None and seen != self._seen and StopCause(cause) in _STOPS_OF_THE_ROBOT:
            self._stop(reason or cause, now_s, cause)
        self._seen = seen

    def see_fault(self, fault: str, now_s: float, cause: str = "") -> None:
        """Take what the robot reports of itself now; empty for nothing.

        Args:
            fault: The fault in words.
            now_s: Time.
            cause: Its `StopCause` in words; empty where it is not known.
        """
        if fault and not self.fault:  # other words while it lasts are of the same stop, such as no power
            self._stop(fault, now_s, cause)
        elif self.fault and not fault:
            self._released_s = now_s
        self.fault, self._fault_cause = fault, cause

    def refuse(self, reason: str, now_s: float) -> None:
        """Take a refused arming: it is not tried again without an answer either."""
        self._stop(reason, now_s)

    def ask(self, named: str, now_s: float) -> None:
        """Note a question that names a stop; one that names none has the empty string."""
        self._named, self._asked_s = named, now_s

    def answer(self, now_s: float) -> None:
        """Take the answer that the way is free."""
        is_of_this_stop = self._named == self.stopped and self._asked_s >= self._began_s
        if is_of_this_stop and not self.fault and now_s >= self._released_s:
            self.stopped = self._named = ""
        self._is_early = is_of_this_stop and bool(self.fault)

    @property
    def release(self) -> str:
        """What has to be done at the robot before an answer counts; empty for nothing, or not known."""
        is_released = not self.fault and self._released_s >= self._began_s
        cause = self._fault_cause if self.fault else self._cause
        words = StopCause(cause).release if cause else ""
        if not self.stopped or is_released or not words:
            return ""
        return f"It is still stopped: {words} first." if self._is_early else f"First {words}."

    def _stop(self, words: str, now_s: float, cause: str = "") -> None:
        """Begin a stop, unless it is the one that is known: the arm's status and its node both report it."""
        if words != self.stopped:
            self.stopped, self._began_s = self.stopped if self._is_to_be_asked else words, now_s
            self._cause, self._is_early = cause, False

    @property
    def _is_to_be_asked(self) -> bool:
        return bool(self.stopped) and self._asked_s < self._began_s
