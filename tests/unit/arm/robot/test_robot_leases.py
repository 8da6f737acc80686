"""Leases of the gate: the newest judged frame decides, for as long as its lease lasts and no longer."""

from __future__ import annotations

from dataclasses import replace

import pytest
from arm_bench import TTL_NS, Bench, straight

from embodied_iqa.arm.lease_options import LeaseOptions
from embodied_iqa.arm.robot.leases import LeaseBook, Permission
from embodied_iqa.arm.robot.messages import ArmMode
from embodied_iqa.arm.verdict import GateLease, Verdict
from embodied_iqa.imaging.images.frame import View

MS = 1_000_000
TIMES = LeaseOptions()


def _lease(stamp_ms: int, verdict: Verdict, expires_ms: int, view: View = View.WRIST) -> GateLease:
    return GateLease(view, stamp_ms * MS, verdict, verdict, expires_ms * MS)


def test_the_newest_judged_frame_of_the_view_decides():
    book = LeaseBook().with_leases(
        (
            _lease(100, Verdict.PASS, 300),
            _lease(90, Verdict.REJECT, 300),
            _lease(150, Verdict.HOLD, 400, View.TOP),
        ),
        200 * MS,
        TIMES,
    )
    assert book.permission((View.WRIST,), 200 * MS).verdict is Verdict.PASS
    assert book.permission((View.WRIST,), 300 * MS).verdict is Verdict.PASS
    assert book.permission((View.WRIST,), 300 * MS + 1).verdict is Verdict.HOLD
    assert book.permission((View.TOP,), 200 * MS).verdict is Verdict.HOLD
    assert book.permission((View.SIDE,), 200 * MS).verdict is Verdict.HOLD


@pytest.mark.parametrize("turned", [False, True])
def test_of_one_frame_the_most_severe_verdict_counts(turned: bool):
    both = (_lease(100, Verdict.PASS, 300), _lease(100, Verdict.REJECT, 300))
    book = LeaseBook().with_leases(both[::-1] if turned else both, 200 * MS, TIMES)
    assert book.permission((View.WRIST,), 200 * MS).verdict is Verdict.REJECT


def test_leases_from_the_future_and_forgotten_ones_do_not_count():
    book = LeaseBook().with_leases((_lease(500, Verdict.PASS, 900),), 200 * MS, TIMES)
    assert book.permission((View.WRIST,), 200 * MS).verdict is Verdict.HOLD
    book = book.with_leases((_lease(500, Verdict.PASS, 900),), 500 * MS, TIMES)
    assert book.of_frame(View.WRIST, 500 * MS) is not None
    book = book.with_leases((_lease(5000, Verdict.PASS, 5900),), 5000 * MS, TIMES)
    assert book.of_frame(View.WRIST, 500 * MS) is None


@pytest.mark.parametrize("later_ms", [130, 140])
def test_of_one_frame_ahead_of_the_clock_the_most_severe_verdict_counts(later_ms: int):
    """A HOLD may end with the next frame; a REJECT ends the goal."""
    book = LeaseBook().with_leases([_lease(135, Verdict.HOLD, 335)], 130 * MS, TIMES)
    book = book.with_leases([_lease(135, Verdict.REJECT, 335)], later_ms * MS, TIMES)
    assert book.permission((View.WRIST,), later_ms * MS).verdict is Verdict.REJECT
    of_frame = book.of_frame(View.WRIST, 135 * MS)
    assert of_frame is not None
    assert of_frame.verdict is Verdict.REJECT


@pytest.mark.parametrize("verdict", [Verdict.HOLD, Verdict.REJECT])
def test_a_verdict_to_stop_that_is_ahead_of_the_clock_counts_at_once(verdict: Verdict):
    book = LeaseBook().with_leases([_lease(100, Verdict.PASS, 300)], 110 * MS, TIMES)
    book = book.with_leases([_lease(135, verdict, 335)], 130 * MS, TIMES)
    assert book.permission((View.WRIST,), 130 * MS).verdict is verdict, "an older PASS does not outlast it"
    denied = book.of_frame(View.WRIST, 135 * MS)
    assert denied is not None
    assert denied.verdict is verdict, "a goal on that frame is not permitted either"
    book = book.with_leases([_lease(129, Verdict.PASS, 329)], 131 * MS, TIMES)
    assert book.permission((View.WRIST,), 131 * MS).verdict is verdict, "an older frame does not lift it"
    book = book.with_leases([_lease(160, Verdict.PASS, 360)], 165 * MS, TIMES)
    assert book.permission((View.WRIST,), 165 * MS).verdict is Verdict.PASS
    decided = replace(_lease(200, Verdict.REJECT, 400), decision=3)
    assert book.with_leases([decided], 170 * MS, TIMES) == book, (
        "a decision on that frame has no lease anyway"
    )


@pytest.mark.parametrize("stamp_ms", [132, 135])
def test_a_stop_ahead_of_the_clock_outranks_frames_up_to_its_own(stamp_ms: int):
    book = LeaseBook().with_leases([_lease(135, Verdict.REJECT, 335)], 130 * MS, TIMES)
    book = book.with_leases([_lease(stamp_ms, Verdict.PASS, 335)], 140 * MS, TIMES)
    assert book.permission((View.WRIST,), 140 * MS).verdict is Verdict.REJECT
    assert book.permission((View.TOP,), 140 * MS).reason == "no lease of the top view"
    newer = book.with_leases([_lease(136, Verdict.PASS, 336)], 141 * MS, TIMES)
    assert newer.permission((View.WRIST,), 141 * MS).verdict is Verdict.PASS
    assert newer.of_frame(View.WRIST, 135 * MS) == _lease(135, Verdict.REJECT, 335)


def test_a_stop_by_a_clock_an_hour_ahead_is_forgotten_as_any_lease_is():
    hour_ms = 3_600_000
    book = LeaseBook().with_leases([_lease(hour_ms, Verdict.HOLD, hour_ms)], 1000 * MS, TIMES)
    for now_ms, expected in ((4000, Verdict.HOLD), (4001, Verdict.PASS)):
        later = book.with_leases([_lease(now_ms, Verdict.PASS, now_ms + 120)], now_ms * MS, TIMES)
        assert later.permission((View.WRIST,), now_ms * MS).verdict is expected
    back = book.with_leases([_lease(900, Verdict.PASS, 1020)], 900 * MS, TIMES)
    assert back.permission((View.WRIST,), 900 * MS).verdict is Verdict.PASS, "the clock was set back since"
    assert back.ahead == ()
    assert book.leases == (), "it is kept once, as a stop that is ahead"


def test_a_stop_by_a_clock_ahead_ends_by_time_alone():
    book = LeaseBook().with_leases([_lease(9000, Verdict.HOLD, 9000)], 1000 * MS, TIMES)
    book = book.with_leases([_lease(4000, Verdict.PASS, 4120)], 4000 * MS, TIMES)
    assert book.permission((View.WRIST,), 4000 * MS).verdict is Verdict.HOLD
    assert book.permission((View.WRIST,), 4000 * MS + 1).verdict is Verdict.PASS


@pytest.mark.parametrize("verdict", [Verdict.HOLD, Verdict.REJECT])
def test_a_verdict_on_one_motion_is_not_one_on_its_frame(verdict: Verdict):
    decided = replace(_lease(100, verdict, 300), decision=1)
    book = LeaseBook().with_leases([_lease(100, Verdict.PASS, 300), decided], 100 * MS, TIMES)
    assert book.permission((View.WRIST,), 100 * MS).verdict is Verdict.PASS
    assert book.of_frame(View.WRIST, 100 * MS, 1) == decided
    permitted = replace(_lease(110, Verdict.PASS, 300), decision=2)
    alone = LeaseBook().with_leases([permitted], 110 * MS, TIMES)
    assert alone.permission((View.WRIST,), 110 * MS).reason == "no lease of the wrist view"


def test_after_a_clock_was_set_back_a_stored_lease_allows_nothing_and_is_forgotten():
    options = LeaseOptions()
    book = LeaseBook().with_leases([_lease(5_000, Verdict.PASS, 5_120)], 5_010 * MS, options)
    reason = "the lease of the wrist view is on a frame 4000 ms in the future"
    assert book.permission((View.WRIST,), 1_000 * MS) == Permission(Verdict.HOLD, reason, 0, 5_000 * MS)
    book = book.with_leases([_lease(990, Verdict.PASS, 1_110)], 1_000 * MS, options)
    assert [lease.frame_stamp_ns for lease in book.leases] == [990 * MS]


def test_a_permission_says_until_when_or_why_not():
    book = LeaseBook().with_leases((_lease(100, Verdict.PASS, 300),), 100 * MS, TIMES)
    assert book.permission((View.WRIST,), 100 * MS) == Permission(Verdict.PASS, "", 300 * MS, 100 * MS)
    late = "the lease of the wrist view ran out 20 ms ago"
    assert book.permission((View.WRIST,), 320 * MS) == Permission(Verdict.HOLD, late, 0, 100 * MS)
    none = Permission(Verdict.HOLD, "no lease of the side view", 0, 0)
    assert book.permission((View.SIDE,), 100 * MS) == none
    held = book.with_leases((_lease(110, Verdict.HOLD, 300),), 120 * MS, TIMES)
    reason = "the gate's verdict is HOLD"
    assert held.permission((View.WRIST,), 120 * MS) == Permission(Verdict.HOLD, reason, 0, 110 * MS)
    blurred = replace(_lease(115, Verdict.REJECT, 300), reason="blurred")
    rejected = held.with_leases((blurred,), 120 * MS, TIMES)
    assert rejected.permission((View.WRIST,), 120 * MS) == Permission(Verdict.REJECT, "blurred", 0, 115 * MS)


def test_a_lease_lives_a_second_after_its_arrival_at_most():
    book = LeaseBook().with_leases((_lease(100, Verdict.PASS, 90_000),), 200 * MS, TIMES)
    assert book.permission((View.WRIST,), 200 * MS).expires_ns == 1200 * MS
    assert book.permission((View.WRIST,), 1200 * MS).verdict is Verdict.PASS
    assert book.permission((View.WRIST,), 1200 * MS + 1).verdict is Verdict.HOLD


def test_the_lease_of_this_instant_stays_when_one_of_an_older_frame_arrives():
    book = LeaseBook().with_leases((_lease(100, Verdict.HOLD, 300),), 100 * MS, TIMES)
    book = book.with_leases((_lease(90, Verdict.PASS, 290),), 100 * MS, TIMES)
    assert book.permission((View.WRIST,), 100 * MS).verdict is Verdict.HOLD


def test_leases_are_kept_for_three_seconds_in_the_order_of_their_frames():
    book = LeaseBook().with_leases(
        (_lease(300, Verdict.PASS, 400), _lease(100, Verdict.PASS, 400)), 300 * MS, TIMES
    )
    assert [lease.frame_stamp_ns for lease in book.leases] == [100 * MS, 300 * MS]
    edge = book.with_leases((_lease(3100, Verdict.PASS, 3200),), 3100 * MS, TIMES)
    assert [lease.frame_stamp_ns // MS for lease in edge.leases] == [300, 3100]
    before = book.with_leases((_lease(3099, Verdict.PASS, 3200),), 3100 * MS - 1, TIMES)
    assert [lease.frame_stamp_ns // MS for lease in before.leases] == [100, 300, 3099]


def test_a_lease_is_found_by_its_camera_and_its_frame():
    top, wrist = _lease(100, Verdict.PASS, 400, View.TOP), _lease(100, Verdict.HOLD, 400, View.WRIST)
    book = LeaseBook().with_leases((top, wrist), 100 * MS, TIMES)
    assert (book.of_frame(View.TOP, 100 * MS), book.of_frame(View.WRIST, 100 * MS)) == (top, wrist)
    assert book.of_frame(View.SIDE, 100 * MS) is None
    assert book.of_frame(View.TOP, 100 * MS + 1) is None
    assert book.with_leases((_lease(101, Verdict.PASS, 400),), 101 * MS - 1, TIMES) is book


def test_a_milder_verdict_on_the_same_frame_changes_nothing_and_an_equal_one_is_news():
    book = LeaseBook().with_leases((_lease(100, Verdict.HOLD, 300),), 200 * MS, TIMES)
    assert book.with_leases((_lease(100, Verdict.PASS, 900),), 200 * MS, TIMES).leases == book.leases
    longer = _lease(100, Verdict.HOLD, 500)
    assert book.with_leases((longer,), 200 * MS, TIMES).leases == (longer,)


@pytest.mark.parametrize("verdict", [None, Verdict.HOLD, Verdict.REJECT])
def test_every_camera_behind_a_goal_holds_the_arm_while_it_moves(verdict: Verdict | None):
    bench = Bench().armed()
    bench.now_ns += bench.tick_ns
    goal = replace(bench.goal(straight(dz=0.15, count=5)), other_frames=((View.SIDE, bench.now_ns),))
    own = bench.lease()
    bench.now_ns -= bench.tick_ns

    def side(lease: GateLease, verdict: Verdict = Verdict.PASS) -> GateLease:
        return replace(lease, view=View.SIDE, verdict=verdict, reason="" if verdict == 0 else "dark")

    bench.tick(goal=goal, leases=(own, side(own)))
    for _ in range(20):
        lease = bench.lease(stamp_ns=bench.now_ns)
        assert bench.tick(leases=(lease, side(lease))).status.mode is ArmMode.EXECUTING
    last_ns = bench.now_ns - bench.tick_ns
    if verdict is not None:
        bench.tick(leases=(bench.lease(), side(bench.lease(), verdict)))
    while bench.outputs[-1].status.mode is ArmMode.EXECUTING:
        bench.tick(leases=(bench.lease(),))
    assert bench.now_ns <= last_ns + TTL_NS + 2 * bench.tick_ns
    ends = "dark" if verdict is not None else "the lease of the side view ran out"
    assert bench.outputs[-1].status.reason.startswith(ends)
    while bench.state.run is not None and not bench.state.run.progress.is_still:
        bench.tick(leases=(bench.lease(),))
    assert bench.now_ns <= last_ns + TTL_NS + TIMES.overrun_ns + 2 * bench.tick_ns
