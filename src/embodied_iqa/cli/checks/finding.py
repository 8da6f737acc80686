"""What a check found."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Check", "Finding", "Status"]


class Status(enum.StrEnum):
    """How it stands with one thing."""

    OK = "ok"
    MISSING = "missing"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the doctor's table.

    Attributes:
        name: What was looked at.
        status: How it stands.
        detail: What was found: versions, numbers, the reason.
        mend: What to do about it in one line; empty when there is nothing to do.
        required: Whether the simulated trial needs it.
    """

    name: str
    status: Status
    detail: str
    mend: str = ""
    required: bool = False

    @property
    def stops_the_trial(self) -> bool:
        """Whether `embodied-iqa trial` cannot work because of this."""
        return self.required and self.status is not Status.OK


@dataclass(frozen=True, slots=True)
class Check:
    """A check and the heading that its findings stand under."""

    group: str
    look: Callable[[], list[Finding]]
