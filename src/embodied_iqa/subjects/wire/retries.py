"""Trying again after a connection broke, with growing pauses, never beyond a deadline."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from time import monotonic
from typing import Final, TypeVar

from embodied_iqa.subjects.wire.deadline import Deadline
from embodied_iqa.subjects.wire.errors import ConnectionLostError, DeadlineError

__all__ = ["retrying"]

ResultT = TypeVar("ResultT")

_PAUSES_S: Final = (0.05, 0.1, 0.2, 0.4, 0.8, 1.0)


def retrying(ask: Callable[[], ResultT], deadline: Deadline, retries: int | None, stop: Event) -> ResultT:
    """Return what ``ask`` returns, asking again where it loses the connection.

    Args:
        ask: Raises `ConnectionLostError` where trying again may help; keeps the deadline itself.
        deadline: By when.
        retries: Further attempts at most; None for as many as the deadline allows.
        stop: Ends the pauses.

    Raises:
        WireError: What the last attempt raised, or `DeadlineError`.
    """
    attempt = 0
    while True:
        try:
            return ask()
        except ConnectionLostError as error:
            pause_s = _PAUSES_S[min(attempt, len(_PAUSES_S) - 1)]
            if attempt == retries:
                raise
            attempt += 1
            if pause_s >= deadline.at_s - monotonic() or stop.wait(pause_s):
                raise DeadlineError(f"{deadline.error()}: {error}") from None
