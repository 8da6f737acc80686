"""Times in the life of a lease: the gate grants it, the arm obeys it, the simulated world waits for it."""

from __future__ import annotations

from dataclasses import dataclass

from embodied_iqa.base.config import check_fields, ranged
from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.units import SECOND_NS


@dataclass(frozen=True, slots=True)
class LeaseOptions:
    """Times in the life of a lease, from `docs/reference/lease.md`; gate, arm and world have the same ones.

    Attributes:
        ttl_s: From the stamp of a frame to the end of its lease [s].
        longest_s: From the arrival of a lease at the arm to its end at most, whatever the gate says [s].
        remember_s: From the stamp of a frame until the arm forgets its lease [s].
        overrun_s: From the end of a lease to the standstill of the arm at most [s]; if braking takes longer,
            it starts earlier.
        wait_s: Longest wait of a goal for the verdict on its frame, from the frame's stamp [s]; then the goal
            is refused.
        window_s: Lead of simulated time over the oldest frame without a verdict [s].

    Raises:
        UsageError: A time is none or out of its range, or two times contradict each other.
    """

    ttl_s: float = ranged(0.12, 0.001, 1.0)
    longest_s: float = ranged(1.0, 0.001, 1.0)
    remember_s: float = ranged(3.0, 0.001, 10.0)
    overrun_s: float = ranged(0.07, 0.0, 0.1)
    wait_s: float = ranged(0.5, 0.0, 10.0)
    window_s: float = ranged(0.016, 0.0, 1.0)

    def __post_init__(self) -> None:
        check_fields(self)
        _at_most(
            "ttl_s", self.ttl_s, "longest_s", self.longest_s, "the arm would end a lease before its time"
        )
        _at_most(
            "longest_s",
            self.longest_s,
            "remember_s",
            self.remember_s,
            "a lease would be forgotten while it is valid",
        )
        _at_most(
            "wait_s",
            self.wait_s,
            "remember_s",
            self.remember_s,
            "a verdict would be forgotten before its goal",
        )
        if self.window_s >= self.ttl_s:
            raise UsageError(
                "lease.window_s is too long: leases would reach the simulated arm after their end",
                expected=f"less than lease.ttl_s, {self.ttl_s:g} s",
                got=self.window_s,
            )

    @property
    def ttl_ns(self) -> int:
        """See `ttl_s`."""
        return round(self.ttl_s * SECOND_NS)

    @property
    def longest_ns(self) -> int:
        """See `longest_s`."""
        return round(self.longest_s * SECOND_NS)

    @property
    def remember_ns(self) -> int:
        """See `remember_s`."""
        return round(self.remember_s * SECOND_NS)

    @property
    def overrun_ns(self) -> int:
        """See `overrun_s`."""
        return round(self.overrun_s * SECOND_NS)

    @property
    def wait_ns(self) -> int:
        """See `wait_s`."""
        return round(self.wait_s * SECOND_NS)

    @property
    def window_ns(self) -> int:
        """See `window_s`."""
        return round(self.window_s * SECOND_NS)

    @property
    def least_rate_hz(self) -> float:
        """Lowest rate of a camera at which a lease lasts until the next frame [Hz]."""
        return 1.0 / self.ttl_s

    def end_ns(self, stamp_ns: int, now_ns: int) -> int:
        """Return the end of a frame's lease, ROS time; a stamp ahead of the clock does not lengthen it."""
        return min(stamp_ns, now_ns) + self.ttl_ns


def _at_most(name: str, value_s: float, limit: str, limit_s: float, why: str) -> None:
    if value_s > limit_s:
        raise UsageError(
            f"lease.{name} is too long: {why}", expected=f"at most lease.{limit}, {limit_s:g} s", got=value_s
        )
