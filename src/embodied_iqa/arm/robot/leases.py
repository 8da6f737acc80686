"""Recent verdicts of the gate and the permission to move that follows from them. Fails closed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice

from embodied_iqa.arm.lease_options import LeaseOptions
from embodied_iqa.arm.verdict import GateLease, Verdict
from embodied_iqa.imaging.images.frame import View


@dataclass(frozen=True, slots=True)
class Permission:
    """Whether the arm may move now.

    Attributes:
        verdict: PASS only if the newest judged frame passed and its lease has not expired.
        reason: Why not; empty for PASS.
        expires_ns: End of a PASS; 0 otherwise.
        frame_stamp_ns: Stamp of the deciding frame; 0 without one.
    """

    verdict: Verdict
    reason: str
    expires_ns: int
    frame_stamp_ns: int

    def __bool__(self) -> bool:
        """Return whether the arm may move."""
        return self.verdict is Verdict.PASS


@dataclass(frozen=True, slots=True)
class StopAhead:
    """A verdict to stop on a frame that was ahead of the clock when the verdict came.

    It counts from its arrival, until a newer frame passes or, should the clock of the frames have been wrong,
    until it is forgotten.

    Attributes:
        lease: The verdict, under the stamp of its own frame: an older frame does not outdate it.
        since_ns: Its arrival; the clock was set back where this is in the future.
        until_ns: When it is forgotten.
    """

    lease: GateLease
    since_ns: int
    until_ns: int

    def counts(self, now_ns: int) -> bool:
        """Return whether it counts at a time."""
        return self.since_ns <= now_ns <= self.until_ns


@dataclass(frozen=True, slots=True)
class LeaseBook:
    """Leases ordered by frame, the oldest first; immutable.

    Attributes:
        leases: Stored leases, for each frame and each decision the one with the most severe verdict.
        ahead: Verdicts to stop on frames that were ahead of the clock.
    """

    leases: tuple[GateLease, ...] = ()
    ahead: tuple[StopAhead, ...] = ()

    def with_leases(self, arrived: Iterable[GateLease], now_ns: int, options: LeaseOptions) -> LeaseBook:
        """Return a book with the new leases that count; stored ones of the future are dropped.

        Args:
            arrived: The new leases.
            now_ns: ROS time.
            options: Bound how long a lease is valid after its arrival, and how long it is stored.
        """
        latest_ns = now_ns + options.longest_ns
        counting = [
            replace(one, expires_ns=min(one.expires_ns, latest_ns)) for one in arrived if counts(one, now_ns)
        ]
        if not counting:
            return self
        oldest_ns = now_ns - options.remember_ns
        kept = [lease for lease in self.leases if oldest_ns < lease.frame_stamp_ns <= now_ns]
        by_frame: dict[tuple[View, int, int | None], GateLease] = {}
        for lease in (*kept, *(one for one in counting if one.frame_stamp_ns <= now_ns)):
            key = (lease.view, lease.frame_stamp_ns, lease.decision)
            before = by_frame.get(key)
            if before is None or lease.verdict >= before.verdict:
                by_frame[key] = lease
        ordered = sorted(by_frame.values(), key=lambda lease: lease.frame_stamp_ns)
        until_ns = now_ns + options.remember_ns
        ahead = [stop for stop in self.ahead if stop.counts(now_ns)]
        ahead += [StopAhead(one, now_ns, until_ns) for one in counting if one.frame_stamp_ns > now_ns]
        return LeaseBook(tuple(ordered), tuple(ahead))

    def permission(self, views: Iterable[View], now_ns: int) -> Permission:
        """Return whether the arm may move on the newest judged frames: the worst of some cameras."""
        return worst_of(self._permission(view, now_ns) for view in views)

    def _permission(self, view: View, now_ns: int) -> Permission:
        stops = [stop.lease for stop in self.ahead if stop.lease.view == view and stop.counts(now_ns)]
        latest = (one for one in reversed(self.leases) if one.view == view and one.decision is None)
        found = max((*stops, *islice(latest, 1)), key=_order, default=None)
        if found is not None:
            return judge_lease(found, now_ns)
        return Permission(Verdict.HOLD, f"no lease of the {view} view", 0, 0)

    def of_frame(self, view: View, frame_stamp_ns: int, decision: int | None = None) -> GateLease | None:
        """Return the most severe lease of one frame, or of one decision on it; or None."""
        wanted = (view, frame_stamp_ns, decision)
        found = [
            lease
            for lease in (*(stop.lease for stop in self.ahead), *self.leases)
            if (lease.view, lease.frame_stamp_ns, lease.decision) == wanted
        ]
        return max(found, key=lambda lease: lease.verdict, default=None)


def _order(lease: GateLease) -> tuple[int, Verdict]:
    """Of several leases the one on the newest frame counts, and of one frame the most severe."""
    return lease.frame_stamp_ns, lease.verdict


def worst_of(permissions: Iterable[Permission]) -> Permission:
    """Return the permission of several cameras together: PASS until the first of them ends; HOLD of none."""
    found = tuple(permissions)
    if not found:
        return Permission(Verdict.HOLD, "no camera is judged", 0, 0)
    worst = max(found, key=lambda one: one.verdict)
    return min(found, key=lambda one: one.expires_ns) if worst.verdict is Verdict.PASS else worst


def counts(lease: GateLease, now_ns: int) -> bool:
    """Return whether a lease counts at its arrival.

    Of a frame in the future, by a clock that is not ours, a PASS permits nothing. A verdict to stop counts at
    once: without it, an older PASS would last to its end.
    """
    return lease.frame_stamp_ns <= now_ns or (lease.verdict is not Verdict.PASS and lease.decision is None)


def judge_lease(lease: GateLease, now_ns: int) -> Permission:
    """Return the permission that follows from one lease at a time."""
    if lease.verdict is not Verdict.PASS:
        reason = lease.reason or f"the gate's verdict is {lease.verdict.name}"
        return Permission(lease.verdict, reason, 0, lease.frame_stamp_ns)
    if lease.frame_stamp_ns > now_ns:  # the clock was set back: the end of the lease is as far away
        ahead_ms = (lease.frame_stamp_ns - now_ns) / 1e6
        reason = f"the lease of the {lease.view} view is on a frame {ahead_ms:.0f} ms in the future"
        return Permission(Verdict.HOLD, reason, 0, lease.frame_stamp_ns)
    if now_ns > lease.expires_ns:
        late_ms = (now_ns - lease.expires_ns) / 1e6
        reason = f"the lease of the {lease.view} view ran out {late_ms:.0f} ms ago"
        return Permission(Verdict.HOLD, reason, 0, lease.frame_stamp_ns)
    return Permission(Verdict.PASS, "", lease.expires_ns, lease.frame_stamp_ns)
