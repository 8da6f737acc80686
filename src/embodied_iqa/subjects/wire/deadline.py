"""A moment by which something has to be over."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

from embodied_iqa.subjects.wire.errors import DeadlineError

__all__ = ["Deadline"]


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on the monotonic clock, and what has to be done by then.

    Attributes:
        at_s: The moment, in seconds of `time.monotonic`.
        what: For the message, such as ``no answer from 127.0.0.1:8000``.
        within_s: How long it was from the start.
    """

    at_s: float
    what: str
    within_s: float

    @classmethod
    def after(cls, seconds: float, what: str) -> Deadline:
        """Start to count."""
        return cls(monotonic() + seconds, what, seconds)

    def left_s(self) -> float:
        """Return the seconds that are left.

        Raises:
            DeadlineError: None are.
        """
        left = self.at_s - monotonic()
        if left <= 0.0:
            raise self.error()
        return left

    def error(self) -> DeadlineError:
        """Return the error that says so."""
        return DeadlineError(f"{self.what} within {self.within_s:g} s")

    def sooner(self, seconds: float, what: str) -> Deadline:
        """Return a deadline for a part: in ``seconds``, but never after this one."""
        other = Deadline.after(seconds, what)
        return other if other.at_s <= self.at_s else self
