"""Commands pass only under a fresh lease, and each loss of it is answered by one stop. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from embodied_iqa.arm.robot.lease_watch import LeaseWatch, Moment
from embodied_iqa.arm.robot.leases import Permission
from embodied_iqa.arm.verdict import GateLease, Verdict
from embodied_iqa.imaging.images.frame import View


@dataclass(frozen=True, slots=True)
class LeaseFilter:
    """Decides about commands whose images it does not know; immutable.

    A lease that needs a verdict on each motion permits nothing: which motion a command is, is not known.

    Attributes:
        views: Cameras whose leases have to be fresh.
        leases: That came so far.
        is_released: Whether a command passed since the newest stop.
    """

    views: tuple[View, ...]
    leases: LeaseWatch = field(default_factory=LeaseWatch)
    is_released: bool = False

    def with_lease(self, lease: GateLease, now: Moment) -> LeaseFilter:
        """Return the filter after the arrival of a lease; call `watch` next: it may be a verdict to stop."""
        if lease.decision is not None or lease.view not in self.views:
            return self
        return replace(self, leases=self.leases.with_lease(lease, now))

    def permission(self, now: Moment) -> Permission:
        """Return whether a command passes now, and why not."""
        return self.leases.permission(self.views, now)

    def command(self, now: Moment) -> tuple[LeaseFilter, Permission]:
        """Return the filter after a command, which passes where the permission is PASS."""
        found = self.permission(now)
        return replace(self, is_released=self.is_released or found.verdict is Verdict.PASS), found

    def watch(self, now: Moment, lost: str = "") -> tuple[LeaseFilter, str]:
        """Return the filter, and why to send a stop now; empty where there is no need.

        Call it after each lease, before each command and all the time, by a clock that does not stand still.

        Args:
            now: The time.
            lost: What else than a lease is lost, in words; empty where nothing is.
        """
        if not self.is_released:
            return self, ""
        found = self.permission(now)
        reason = lost if found.verdict is Verdict.PASS else found.reason
        return (replace(self, is_released=False), reason) if reason else (self, "")
