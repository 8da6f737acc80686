"""Deadlines on the monotonic clock."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

from embodied_iqa.subjects.wire.errors import DeadlineError


@dataclass(frozen=True, slots=True)
class Deadline:
    """A deadline and the message of its error.

    Attributes:
        at_s: The deadline, in seconds of `time.monotonic`.
        what: Start of the message, such as ``no answer from 127.0.0.1:8000``.
        within_s: Total time, for the message [s].
    """

    at_s: float
    what: str
    within_s: float

    @classmethod
    def after(cls, seconds: float, what: str) -> Deadline:
        """Return a deadline ``seconds`` from now."""
        return cls(monotonic() + seconds, what, seconds)

    def left_s(self) -> float:
        """Return the remaining time [s].

        Raises:
            DeadlineError: The deadline has passed.
        """
        left = self.at_s - monotonic()
        if left <= 0.0:
            raise self.error()
        return left

    def error(self) -> DeadlineError:
        """Return the error of a missed deadline."""
        return DeadlineError(f"{self.what} within {self.within_s:g} s")
