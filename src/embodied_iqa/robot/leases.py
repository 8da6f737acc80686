"""What the gate has said lately, and what the arm may conclude from it. Fails closed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from embodied_iqa.gate.verdict import GateLease, Verdict
from embodied_iqa.images.frame import View

__all__ = ["LeaseBook", "Permission"]


@dataclass(frozen=True, slots=True)
class Permission:
    """Whether the arm may move now.

    Attributes:
        verdict: PASS only where the newest judged frame passed and its lease has not run out.
        reason: Why not, in words; empty for PASS.
        expires_ns: When a PASS runs out; 0 otherwise.
        frame_stamp_ns: The frame that decided, 0 where there is none.
    """

    verdict: Verdict
    reason: str
    expires_ns: int
    frame_stamp_ns: int


@dataclass(frozen=True, slots=True)
class LeaseBook:
    """Leases by their frames, the oldest first; immutable.

    Attributes:
        leases: What is remembered; of one frame the most severe verdict counts.
        longest_ns: A lease is worth nothing this long after it arrived, whatever it says.
        remember_ns: How long a lease is remembered after its frame.
    """

    leases: tuple[GateLease, ...] = ()
    longest_ns: int = 1_000_000_000
    remember_ns: int = 3_000_000_000

    def with_leases(self, arrived: Iterable[GateLease], now_ns: int) -> LeaseBook:
        """Return a book that also knows the leases that arrived; leases from the future are left out."""
        fresh = [
            _limited(lease, now_ns + self.longest_ns) for lease in arrived if lease.frame_stamp_ns <= now_ns
        ]
        if not fresh:
            return self
        kept = [lease for lease in self.leases if lease.frame_stamp_ns > now_ns - self.remember_ns]
        by_frame: dict[tuple[View, int], GateLease] = {}
        for lease in (*kept, *fresh):
            key = (lease.view, lease.frame_stamp_ns)
            before = by_frame.get(key)
            if before is None or lease.verdict >= before.verdict:
                by_frame[key] = lease
        ordered = sorted(by_frame.values(), key=lambda lease: lease.frame_stamp_ns)
        return LeaseBook(tuple(ordered), self.longest_ns, self.remember_ns)

    def permission(self, view: View, now_ns: int) -> Permission:
        """Say whether the arm may move on what ``view`` shows: the newest judged frame decides."""
        for lease in reversed(self.leases):
            if lease.view is view:
                return _judge(lease, now_ns)
        return Permission(Verdict.HOLD, f"no lease of the {view} view", 0, 0)

    def of_frame(self, view: View, frame_stamp_ns: int) -> GateLease | None:
        """Return what the gate said of one frame, or None."""
        for lease in reversed(self.leases):
            if lease.view is view and lease.frame_stamp_ns == frame_stamp_ns:
                return lease
        return None


def _limited(lease: GateLease, latest_ns: int) -> GateLease:
    if lease.expires_ns <= latest_ns:
        return lease
    return GateLease(lease.view, lease.frame_stamp_ns, lease.verdict, lease.judged, latest_ns, lease.reason)


def _judge(lease: GateLease, now_ns: int) -> Permission:
    if lease.verdict is not Verdict.PASS:
        reason = lease.reason or f"the gate says {lease.verdict.name}"
        return Permission(lease.verdict, reason, 0, lease.frame_stamp_ns)
    if now_ns > lease.expires_ns:
        late_ms = (now_ns - lease.expires_ns) / 1e6
        reason = f"the lease of the {lease.view} view ran out {late_ms:.0f} ms ago"
        return Permission(Verdict.HOLD, reason, 0, lease.frame_stamp_ns)
    return Permission(Verdict.PASS, "", lease.expires_ns, lease.frame_stamp_ns)
