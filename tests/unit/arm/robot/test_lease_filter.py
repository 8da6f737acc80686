"""No command passes without a fresh lease of every camera, whatever comes in what order; one stop a loss."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

from embodied_iqa.arm.robot.lease_filter import LeaseFilter
from embodied_iqa.arm.robot.lease_watch import Moment
from embodied_iqa.arm.verdict import GateLease, Verdict
from embodied_iqa.imaging.images.frame import View

MS = 1_000_000
VIEWS = (View.TOP, View.WRIST)


@dataclass
class Stack:
    """A filter with clocks of its own, and a book of all that came, read without the filter's rules."""

    ros_ms: int = 1000
    steady_ms: int = 0
    book: list[tuple[GateLease, int, int]] = field(default_factory=list)
    filter: LeaseFilter = field(default_factory=lambda: LeaseFilter(VIEWS))
    done: list[str] = field(default_factory=list)

    @property
    def now(self) -> Moment:
        return Moment(self.ros_ms * MS, self.steady_ms * MS)

    def is_fresh(self) -> bool:
        """Whether the newest lease of each camera is a PASS that lasts by both clocks."""
        for view in VIEWS:
            known = [one for one in self.book if one[0].view == view and one[0].decision is None]
            if not known:
                return False
            newest_ns = max(one[0].frame_stamp_ns for one in known)
            for lease, ros_ms, steady_ms in known:
                if lease.frame_stamp_ns == newest_ns and (
                    lease.verdict is not Verdict.PASS
                    or lease.needs_decision
                    or self.ros_ms > min(lease.expires_ns // MS, ros_ms + 1000)
                    or self.steady_ms - steady_ms > min(lease.expires_ns // MS, ros_ms + 1000) - ros_ms
                ):
                    return False
        return True

    def lease(self, view: View, age_ms: int, verdict: Verdict, ttl_ms: int, **changes: object) -> None:
        stamp_ms = self.ros_ms - age_ms
        lease = GateLease(view, stamp_ms * MS, verdict, verdict, (stamp_ms + ttl_ms) * MS, **changes)
        counts_now = verdict is not Verdict.PASS and lease.decision is None
        if age_ms >= 0 or counts_now:  # a verdict to stop that is ahead of the clock counts at once
            self.book.append((lease, self.ros_ms, self.steady_ms))
        self.filter = self.filter.with_lease(lease, self.now)
        self.look()

    def look(self) -> None:
        self.filter, reason = self.filter.watch(self.now)
        if reason:
            assert not self.is_fresh(), reason
            self.done.append("stop")

    def command(self) -> None:
        self.look()
        self.filter, found = self.filter.command(self.now)
        assert (found.verdict is Verdict.PASS) == self.is_fresh(), found.reason
        if found.verdict is Verdict.PASS:
            self.done.append("forward")


def act(stack: Stack, chance: random.Random) -> None:
    """One thing that may happen: a lease of any kind, a command, time, or a clock that stands still."""
    what = chance.random()
    if what < 0.45:
        verdict = chance.choices(list(Verdict), [8, 1, 1])[0]
        age_ms, ttl_ms = chance.choice([0, 5, 5, 60, 200, -20]), chance.choice([120, 120, 120, 40, 5000])
        changes: dict[str, object] = {"needs_decision": True} if chance.random() < 0.03 else {}
        if chance.random() < 0.03:
            changes["decision"] = 1
        stack.lease(chance.choice(VIEWS), age_ms, verdict, ttl_ms, **changes)
    elif what < 0.8:
        stack.command()
    else:
        stands_still, wait_ms = chance.random() < 0.2, chance.choice([1, 10, 30, 150])
        for _ in range(2):  # the watchdog looks before and after the end
            stack.ros_ms += 0 if stands_still else wait_ms
            stack.steady_ms += wait_ms
            stack.look()


@pytest.mark.parametrize("courses", [2_000, pytest.param(10_000, marks=pytest.mark.stress)])
def test_random_courses_forward_nothing_without_a_fresh_lease(courses: int) -> None:
    forwarded = stops = 0
    for seed in range(courses):
        stack, chance = Stack(), random.Random(seed)
        for _ in range(14):
            act(stack, chance)
            assert not (stack.filter.is_released and not stack.is_fresh()), "a loss without a stop"
        words = "".join(word[0] for word in stack.done)
        assert not words.startswith("s")
        assert "ss" not in words, "one stop for each loss"
        forwarded, stops = forwarded + words.count("f"), stops + words.count("s")
    assert forwarded > courses / 2
    assert stops > courses / 10


def test_the_watchdog_stops_once_and_a_new_lease_alone_moves_nothing() -> None:
    stack = Stack()
    for view in VIEWS:
        stack.lease(view, 0, Verdict.PASS, 120)
    stack.command()
    stack.steady_ms += 120
    stack.look()
    assert stack.done == ["forward"], "the lease lasts until its last millisecond"
    stack.steady_ms += 1
    for _ in range(3):
        stack.look()
    assert stack.done == ["forward", "stop"]
    stack.ros_ms += 150
    for view in VIEWS:
        stack.lease(view, 0, Verdict.PASS, 120)
    assert stack.done == ["forward", "stop"]
    stack.command()
    assert stack.done == ["forward", "stop", "forward"]


def test_without_a_command_there_is_nothing_to_stop() -> None:
    stack = Stack()
    stack.lease(View.TOP, 0, Verdict.REJECT, 120)
    stack.command()
    assert stack.done == []


def test_other_cameras_and_verdicts_on_motions_change_nothing() -> None:
    made = LeaseFilter((View.TOP,))
    side = GateLease(View.SIDE, 0, Verdict.REJECT, Verdict.REJECT, 120 * MS)
    motion = GateLease(View.TOP, 0, Verdict.PASS, Verdict.PASS, 120 * MS, decision=3)
    assert made.with_lease(side, Moment(0, 0)) is made
    assert made.with_lease(motion, Moment(0, 0)) is made


def test_a_command_that_is_refused_leaves_the_stop_to_be_sent() -> None:
    passed = GateLease(View.TOP, 0, Verdict.PASS, Verdict.PASS, 120 * MS)
    made, _ = LeaseFilter((View.TOP,)).with_lease(passed, Moment(0, 0)).command(Moment(0, 0))
    late = Moment(121 * MS, 121 * MS)
    made, refused = made.command(late)
    assert refused.verdict is Verdict.HOLD
    made, reason = made.watch(late)
    assert reason == "the lease of the top view ran out 1 ms ago"
    assert made.watch(late) == (made, "")
