"""Verdicts of the gate, and the lease that takes them to the arm."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import NoReturn

from embodied_iqa.imaging.images.frame import View


class Verdict(IntEnum):
    """Ordered by severity: of several verdicts the most severe wins (``max``)."""

    PASS = 0
    HOLD = 1
    REJECT = 2

    def __bool__(self) -> NoReturn:
        """Refuse: PASS is 0, so that ``if verdict`` would move the robot on all but PASS."""
        raise no_truth("a verdict", "verdict is Verdict.PASS")


class GateMode(StrEnum):
    """What the gate may do."""

    ON = "on"
    """Judges; the arm obeys."""
    SHADOW = "shadow"
    """Judges and reports, but always leases."""
    OFF = "off"
    """Does not measure images; leases every frame, so that freshness is still enforced."""


def no_truth(what: str, instead: str) -> TypeError:
    """Return the error of who asks whether something is true that must not decide about a motion so.

    Args:
        what: It, in words.
        instead: What to write.
    """
    return TypeError(f"{what} is neither true nor false; expected {instead}, or gate.allows()")


@dataclass(frozen=True, slots=True)
class GateLease:
    """Permission to move while a frame is fresh; or a verdict on one decision about a frame.

    Attributes:
        view: The camera.
        frame_stamp_ns: The frame that was judged, or on which it was decided, ROS time.
        verdict: Binding for the arm; PASS in modes SHADOW and OFF.
        judged: Verdict on the frame in any mode.
        expires_ns: End of its validity, ROS time.
        reason: Empty for PASS.
        needs_decision: A motion that is decided on this frame also needs a PASS of its own.
        decision: Sequence of the decision that the verdict is about; None for a verdict on the frame.
    """

    view: View
    frame_stamp_ns: int
    verdict: Verdict
    judged: Verdict
    expires_ns: int
    reason: str = ""
    needs_decision: bool = False
    decision: int | None = None

    def __bool__(self) -> NoReturn:
        """Refuse: a lease may forbid to move."""
        raise no_truth("a lease", "lease.verdict is Verdict.PASS")
