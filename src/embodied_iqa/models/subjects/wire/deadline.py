"""Deadlines on a monotonic clock, and repeated attempts within them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Event
from typing import Final, TypeVar

from embodied_iqa.base.clock import MONOTONIC, Clock
from embodied_iqa.models.subjects.wire.errors import ConnectionLostError, DeadlineError

ResultT = TypeVar("ResultT")

_LONGEST: Final = 20
"""Longest pause, in first ones."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """A deadline and the message of its error.

    Attributes:
        at_s: The deadline, in seconds of the clock.
        what: Start of the message, such as ``no answer from 127.0.0.1:8000``.
        within_s: Total time, for the message [s].
        clock: The clock.
    """

    at_s: float
    what: str
    within_s: float
    clock: Clock = MONOTONIC

    @classmethod
    def after(cls, seconds: float, what: str, clock: Clock = MONOTONIC) -> Deadline:
        """Return a deadline ``seconds`` from now."""
        return cls(clock.now_s() + seconds, what, seconds, clock)

    def left_s(self) -> float:
        """Return the remaining time [s].

        Raises:
            DeadlineError: The deadline has passed.
        """
        left = self.at_s - self.clock.now_s()
        if left <= 0.0:
            raise self.error()
        return left

    def error(self) -> DeadlineError:
        """Return the error of a missed deadline."""
        return DeadlineError(f"{self.what} within {self.within_s:g} s")


def retrying(
    ask: Callable[[], ResultT], deadline: Deadline, retries: int | None, stop: Event, first_s: float = 0.05
) -> ResultT:
    """Return the result of ``ask``, called again after each lost connection.

    Args:
        ask: Raises `ConnectionLostError` if another attempt may help; keeps the deadline itself.
        deadline: Of all attempts together.
        retries: Most further attempts; None for as many as the deadline allows.
        stop: Ends the pauses.
        first_s: First pause [s]; each further one is twice as long.

    Raises:
        WireError: Of the last attempt, or `DeadlineError`, with why the attempt before was lost.
    """
    attempt, lost = 0, ""
    while True:
        try:
            return ask()
        except DeadlineError as error:
            raise DeadlineError(f"{error}: {lost}") if lost else error from None
        except ConnectionLostError as error:
            lost = str(error)
            if attempt == retries:
                raise
            pause_s = max(first_s * min(2**attempt, _LONGEST), error.retry_after_s)
            attempt += 1
            too_near = pause_s >= deadline.at_s - deadline.clock.now_s()
            if too_near or deadline.clock.wait_event(stop, pause_s):
                raise DeadlineError(f"{deadline.error()}: {error}") from None
