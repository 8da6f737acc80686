"""The newest lease of each camera, and the permission of several cameras together. Fails closed.

For consumers that know the frame behind no command: a filter between a policy and its controller, a loop in
Python. Where a command names its frame, `leases.LeaseBook` also says whether that frame passed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from embodied_iqa.arm.lease_options import LeaseOptions
from embodied_iqa.arm.robot.leases import Permission, StopAhead, counts, judge_lease, worst_of
from embodied_iqa.arm.verdict import GateLease, Verdict
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.imaging.images.frame import View


@dataclass(frozen=True, slots=True)
class Moment:
    """A time by two clocks.

    Attributes:
        ros_ns: By the clock of stamps and leases, which may stand still or be set.
        steady_ns: By a clock that only goes on.
    """

    ros_ns: int
    steady_ns: int


@dataclass(frozen=True, slots=True)
class _Arrived:
    lease: GateLease
    came_ns: int
    """By the steady clock, as its end."""
    ends_ns: int
    ahead: StopAhead | None = None
    """The lease itself where its frame was ahead of the clock."""

    def is_known(self, now_ns: int) -> bool:
        """Return whether it counts beside a later lease: the clock was not set back since."""
        return self.lease.frame_stamp_ns <= now_ns or (self.ahead is not None and self.ahead.counts(now_ns))


@dataclass(frozen=True, slots=True)
class LeaseWatch:
    """The newest lease of each camera; immutable.

    A lease ends by whichever clock says so first: where ROS time stands still, as a paused ``/clock`` does,
    the steady clock ends it.

    Attributes:
        options: Bound how long a lease is valid after its arrival.
    """

    options: LeaseOptions = field(default_factory=LeaseOptions)
    _newest: Mapping[View, _Arrived] = field(default_factory=dict)
    _decided: Mapping[View, GateLease] = field(default_factory=dict)

    @property
    def views(self) -> tuple[View, ...]:
        """Cameras that have a lease, in the order of their first one."""
        return tuple(self._newest)

    def newest(self, view: View) -> GateLease | None:
        """Return the lease of the newest judged frame of a camera; None before the first."""
        found = self._newest.get(view)
        return None if found is None else found.lease

    def with_lease(self, lease: GateLease, now: Moment) -> LeaseWatch:
        """Return the watch after the arrival of a lease.

        The newest frame counts, and of two leases of one frame the more severe, or else what both permit: to
        send a lease again does not prolong it. For a lease from the future see `counts` and `StopAhead`; a
        kept one that is in the future, because the clock was set back, is dropped.
        """
        if not counts(lease, now.ros_ns):
            return self
        if lease.decision is not None:
            return self._with_decision(lease, now)
        expires_ns = min(lease.expires_ns, now.ros_ns + self.options.longest_ns)
        lease = replace(lease, expires_ns=expires_ns)
        ahead = None
        if lease.frame_stamp_ns > now.ros_ns:
            ahead = StopAhead(lease, now.ros_ns, now.ros_ns + self.options.remember_ns)
        arrived = _Arrived(lease, now.steady_ns, now.steady_ns + expires_ns - now.ros_ns, ahead)
        before = self._newest.get(lease.view)
        if before is not None and before.is_known(now.ros_ns):
            arrived = _deciding(before, arrived)
        return replace(self, _newest={**self._newest, lease.view: arrived})

    def permission(self, views: Iterable[View], now: Moment) -> Permission:
        """Return whether a robot may move now: the worst of some cameras, HOLD without any.

        Of several cameras, the reason names the one.
        """
        wanted = tuple(views)
        return worst_of(_named(self._permission(view, now), view, wanted) for view in wanted)

    def _permission(self, view: View, now: Moment) -> Permission:
        newest = self._newest.get(view)
        if newest is None:
            return Permission(Verdict.HOLD, f"no lease of the {view} view", 0, 0)
        lease, stamp_ns = newest.lease, newest.lease.frame_stamp_ns
        found = judge_lease(lease, now.ros_ns)
        silent_ns = now.steady_ns - newest.came_ns
        if lease.verdict is not Verdict.PASS and silent_ns > self.options.longest_ns:
            return replace(found, reason=_silent(view, silent_ns, found.reason))
        if found.verdict is not Verdict.PASS:
            return found
        if now.steady_ns > newest.ends_ns:
            late_ms = (now.steady_ns - newest.ends_ns) / 1e6
            reason = f"the lease of the {view} view ran out {late_ms:.0f} ms ago, and the clock stands still"
            return Permission(Verdict.HOLD, reason, 0, stamp_ns)
        return self._on_decision(lease, found) if lease.needs_decision else found

    def _with_decision(self, lease: GateLease, now: Moment) -> LeaseWatch:
        before = self._decided.get(lease.view)
        if before is not None and before.frame_stamp_ns > now.ros_ns:
            before = None
        if before is not None and _order(lease) < _order(before):
            return self
        return replace(self, _decided={**self._decided, lease.view: lease})

    def _on_decision(self, lease: GateLease, permission: Permission) -> Permission:
        """Return the permission where a motion also needs a verdict of its own: that of the newest motion."""
        decided = self._decided.get(lease.view)
        if decided is None or decided.frame_stamp_ns != lease.frame_stamp_ns:
            reason = f"a motion on the {lease.view} frame also needs a verdict of its own"
            return Permission(Verdict.HOLD, reason, 0, lease.frame_stamp_ns)
        return permission if decided.verdict is Verdict.PASS else judge_lease(decided, 0)


def _silent(view: View, silent_ns: int, reason: str) -> str:
    """Return why nothing moves where no lease follows one that was to stop: its reason may be over."""
    silent_s = silent_ns // SECOND_NS
    return f"no lease of the {view} view for {silent_s} s: gate or camera is silent; the last one: {reason}"


def _deciding(before: _Arrived, arrived: _Arrived) -> _Arrived:
    """Return which of two leases of a camera counts."""
    first, second = before.lease, arrived.lease
    if (first.frame_stamp_ns, first.verdict) != (second.frame_stamp_ns, second.verdict):
        return max(before, arrived, key=lambda one: (one.lease.frame_stamp_ns, one.lease.verdict))
    both = replace(
        second,
        expires_ns=min(first.expires_ns, second.expires_ns),
        needs_decision=first.needs_decision or second.needs_decision,
    )
    return _Arrived(both, arrived.came_ns, min(before.ends_ns, arrived.ends_ns), before.ahead)


def _named(found: Permission, view: View, wanted: Collection[View]) -> Permission:
    if not found.reason or len(wanted) == 1 or f"the {view} view" in found.reason:
        return found
    return replace(found, reason=f"{view}: {found.reason}")


def _order(lease: GateLease) -> tuple[int, int, Verdict]:
    return lease.frame_stamp_ns, lease.decision or 0, lease.verdict
