"""What the gate says of a frame, and the lease that carries it to the arm."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum

from embodied_iqa.images.frame import View

__all__ = ["GateLease", "GateMode", "Verdict"]


class Verdict(IntEnum):
    """Ordered by severity: where several speak, the most severe wins (``max``)."""

    PASS = 0
    HOLD = 1
    REJECT = 2


class GateMode(StrEnum):
    """How much the gate may do."""

    ON = "on"
    """Judges, and the arm obeys."""
    SHADOW = "shadow"
    """Judges and reports, but always leases."""
    OFF = "off"
    """Does not look at the picture; leases every frame, so that freshness is still enforced."""


@dataclass(frozen=True, slots=True)
class GateLease:
    """Permission to move while a frame is fresh.

    Attributes:
        view: The camera.
        frame_stamp_ns: The frame that was judged, ROS time.
        verdict: What the arm has to obey (PASS in modes SHADOW and OFF).
        judged: What the picture deserves, whatever the mode.
        expires_ns: ROS time after which the lease is worth nothing.
        reason: In words; empty for a PASS.
    """

    view: View
    frame_stamp_ns: int
    verdict: Verdict
    judged: Verdict
    expires_ns: int
    reason: str = ""
