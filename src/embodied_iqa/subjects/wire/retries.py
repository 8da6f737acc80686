"""Repeated attempts after a connection broke, with growing pauses, never beyond a deadline."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from time import monotonic
from typing import Final, TypeVar

from embodied_iqa.subjects.wire.deadline import Deadline
from embodied_iqa.subjects.wire.errors import ConnectionLostError, DeadlineError

ResultT = TypeVar("ResultT")

_LONGEST: Final = 20
"""Longest pause, in first ones."""


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
        WireError: Of the last attempt, or `DeadlineError`.
    """
    attempt = 0
    while True:
        try:
            return ask()
        except ConnectionLostError as error:
            if attempt == retries:
                raise
            pause_s = max(first_s * min(2**attempt, _LONGEST), error.retry_after_s)
            attempt += 1
            if pause_s >= deadline.at_s - monotonic() or stop.wait(pause_s):
                raise DeadlineError(f"{deadline.error()}: {error}") from None
