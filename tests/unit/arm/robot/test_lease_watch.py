"""The permission of several cameras: the newest frames decide, and whichever clock ends a lease first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from embodied_iqa.arm.lease_options import LeaseOptions
from embodied_iqa.arm.robot.lease_watch import LeaseWatch, Moment
from embodied_iqa.arm.robot.leases import Permission
from embodied_iqa.arm.verdict import GateLease, Verdict
from embodied_iqa.imaging.images.frame import View

MS = 1_000_000
BOTH = (View.TOP, View.WRIST)


def at(ros_ms: int, steady_ms: int | None = None) -> Moment:
    return Moment(ros_ms * MS, (ros_ms if steady_ms is None else steady_ms) * MS)


def lease(
    stamp_ms: int, verdict: Verdict = Verdict.PASS, view: View = View.TOP, **changes: object
) -> GateLease:
    made = GateLease(view, stamp_ms * MS, verdict, verdict, (stamp_ms + 120) * MS)
    return replace(made, **changes)


def watch(*leases: GateLease, now: Moment | None = None) -> LeaseWatch:
    made = LeaseWatch()
    for one in leases:
        made = made.with_lease(one, now or Moment(one.frame_stamp_ns, one.frame_stamp_ns))
    return made


def test_every_camera_has_to_pass_and_the_first_end_counts() -> None:
    both = watch(lease(100), lease(110, view=View.WRIST))
    assert both.views == BOTH
    assert both.permission(BOTH, at(115)) == Permission(Verdict.PASS, "", 220 * MS, 100 * MS)
    assert both.permission((View.WRIST,), at(225)).verdict is Verdict.PASS
    assert both.permission(BOTH, at(225)).reason == "the lease of the top view ran out 5 ms ago"
    held = both.with_lease(lease(120, Verdict.REJECT, View.WRIST, reason="dark"), at(120))
    assert held.permission(BOTH, at(120)) == Permission(Verdict.REJECT, "wrist: dark", 0, 120 * MS)
    assert held.permission((View.WRIST,), at(120)).reason == "dark"
    missing = Permission(Verdict.HOLD, "no lease of the side view", 0, 0)
    assert both.permission((*BOTH, View.SIDE), at(115)) == missing
    assert both.permission((), at(115)) == Permission(Verdict.HOLD, "no camera is judged", 0, 0)


@pytest.mark.parametrize("views", [BOTH, BOTH[::-1]])
def test_of_several_cameras_the_worst_verdict_or_else_the_first_end_counts(views: tuple[View, ...]) -> None:
    passed = watch(lease(100), lease(110, view=View.WRIST))
    assert passed.permission(views, at(115)) == Permission(Verdict.PASS, "", 220 * MS, 100 * MS)
    severe = watch(lease(100, Verdict.HOLD), lease(110, Verdict.REJECT, View.WRIST, reason="dark"))
    assert severe.permission(views, at(115)) == Permission(Verdict.REJECT, "wrist: dark", 0, 110 * MS)


def test_the_newest_frame_counts_whatever_comes_later() -> None:
    held = watch(lease(100), lease(130, Verdict.HOLD), lease(110), now=at(140))
    assert held.permission((View.TOP,), at(140)).verdict is Verdict.HOLD
    assert held.newest(View.TOP) == lease(130, Verdict.HOLD)
    assert held.newest(View.WRIST) is None


@pytest.mark.parametrize("turned", [False, True])
def test_of_one_frame_the_more_severe_verdict_counts(turned: bool) -> None:
    both = (lease(100), lease(100, Verdict.HOLD))
    made = watch(*(both[::-1] if turned else both))
    assert made.permission((View.TOP,), at(100)).verdict is Verdict.HOLD


def test_a_lease_ends_by_the_steady_clock_where_ros_time_stands_still() -> None:
    made = watch(lease(100), now=at(110, 5000))
    assert made.permission((View.TOP,), at(110, 5110)).verdict is Verdict.PASS
    ended = made.permission((View.TOP,), at(110, 5111))
    assert (ended.verdict, ended.expires_ns) == (Verdict.HOLD, 0)
    assert ended.reason == "the lease of the top view ran out 1 ms ago, and the clock stands still"


def test_a_lease_lives_a_second_after_its_arrival_at_most() -> None:
    made = watch(lease(100, expires_ns=90_000 * MS), now=at(200, 0))
    assert made.permission((View.TOP,), at(1200, 0)).verdict is Verdict.PASS
    assert made.permission((View.TOP,), at(1201, 0)).verdict is Verdict.HOLD
    assert made.permission((View.TOP,), at(200, 1001)).verdict is Verdict.HOLD
    short = LeaseWatch(LeaseOptions(longest_s=0.2)).with_lease(lease(100, expires_ns=90_000 * MS), at(200))
    assert short.permission((View.TOP,), at(401)).verdict is Verdict.HOLD


def test_a_verdict_to_stop_that_nothing_follows_says_since_when_the_gate_is_silent() -> None:
    made = watch(lease(100, Verdict.REJECT, reason="dark"), now=at(110, 5000))
    assert made.permission((View.TOP,), at(1110, 6000)) == Permission(Verdict.REJECT, "dark", 0, 100 * MS)
    words = "no lease of the top view for 61 s: gate or camera is silent; the last one: dark"
    for later in (at(61_120, 66_001), at(110, 66_001)):  # also where ROS time stands still
        assert made.permission((View.TOP,), later) == Permission(Verdict.REJECT, words, 0, 100 * MS)
    again = made.with_lease(lease(61_000, Verdict.REJECT, reason="dark"), at(61_120, 66_001))
    assert again.permission((View.TOP,), at(61_130, 66_011)).reason == "dark"


def test_a_lease_that_is_sent_again_does_not_last_longer() -> None:
    made = watch(lease(100), now=at(110, 5000))
    again = made.with_lease(lease(100, expires_ns=900 * MS), at(110, 5100))
    assert again.permission((View.TOP,), at(110, 5110)).expires_ns == 220 * MS
    assert again.permission((View.TOP,), at(110, 5111)).verdict is Verdict.HOLD
    stricter = made.with_lease(lease(100, needs_decision=True), at(110, 5000))
    for one in (stricter, stricter.with_lease(lease(100), at(110, 5000))):
        assert "verdict of its own" in one.permission((View.TOP,), at(110, 5000)).reason


def test_after_the_clock_was_set_back_nothing_moves_until_a_new_frame_passes() -> None:
    made = watch(lease(1000), now=at(1000))
    back = made.permission((View.TOP,), at(500, 1010))
    reason = "the lease of the top view is on a frame 500 ms in the future"
    assert (back.verdict, back.reason) == (Verdict.HOLD, reason)
    assert made.with_lease(lease(510), at(505, 1015)) is made, "it is from the future"
    again = made.with_lease(lease(505), at(510, 1020))
    assert again.permission((View.TOP,), at(510, 1020)).verdict is Verdict.PASS


def test_a_verdict_to_stop_that_is_ahead_of_the_clock_counts_at_once() -> None:
    made = watch(lease(100), now=at(110))
    held = made.with_lease(lease(140, verdict=Verdict.REJECT), at(130))
    assert held.permission((View.TOP,), at(130)).verdict is Verdict.REJECT
    again = held.with_lease(lease(160), at(165))
    assert again.permission((View.TOP,), at(165)).verdict is Verdict.PASS


@pytest.mark.parametrize("stamp_ms", [135, 140])
def test_a_stop_ahead_of_the_clock_outranks_frames_up_to_its_own(stamp_ms: int) -> None:
    held = watch(lease(140, Verdict.REJECT), now=at(130))
    older = held.with_lease(lease(stamp_ms), at(145))
    assert older.permission((View.TOP,), at(145)).verdict is Verdict.REJECT
    assert older.with_lease(lease(141), at(145)).permission((View.TOP,), at(145)).verdict is Verdict.PASS
    hour = watch(lease(3_600_000, Verdict.HOLD), now=at(1000))
    for now_ms, expected in ((4000, Verdict.HOLD), (4001, Verdict.PASS), (900, Verdict.PASS)):
        later = hour.with_lease(lease(now_ms), at(now_ms, 5000))
        assert later.permission((View.TOP,), at(now_ms, 5000)).verdict is expected


def test_a_motion_needs_a_verdict_of_its_own_where_the_lease_says_so() -> None:
    made = watch(lease(100, needs_decision=True))
    reason = "a motion on the top frame also needs a verdict of its own"
    assert made.permission((View.TOP,), at(100)) == Permission(Verdict.HOLD, reason, 0, 100 * MS)
    passed = made.with_lease(lease(100, decision=1), at(101))
    assert passed.permission((View.TOP,), at(102)).verdict is Verdict.PASS
    refused = passed.with_lease(lease(100, Verdict.HOLD, decision=2, reason="no target"), at(102))
    assert refused.permission((View.TOP,), at(102)).reason == "no target"
    assert (
        refused.with_lease(lease(100, decision=1), at(103)).permission((View.TOP,), at(103)).verdict
        is Verdict.HOLD
    ), "an older motion does not speak for the newest"
    newer = passed.with_lease(lease(120, needs_decision=True), at(120))
    assert newer.permission((View.TOP,), at(120)).verdict is Verdict.HOLD


def test_after_the_clock_was_set_back_a_motion_of_the_time_before_does_not_outrank_a_new_one() -> None:
    before = watch(lease(1000, needs_decision=True)).with_lease(lease(1000, decision=7), at(1000))
    again = before.with_lease(lease(500, needs_decision=True), at(505, 1010))
    assert again.permission((View.TOP,), at(506, 1011)).verdict is Verdict.HOLD
    judged = again.with_lease(lease(500, decision=8), at(506, 1011))
    assert judged.permission((View.TOP,), at(507, 1012)).verdict is Verdict.PASS


@pytest.mark.parametrize("now_ms", [100, 104])
def test_the_newest_motion_counts_in_whatever_order_verdicts_on_motions_arrive(now_ms: int) -> None:
    made = watch(lease(100, needs_decision=True))
    first = lease(100, Verdict.HOLD, decision=0, reason="no target")
    second = lease(100, decision=1)
    for late in ((first, second), (second, first)):
        judged = made.with_lease(late[0], at(now_ms)).with_lease(late[1], at(now_ms))
        assert judged.permission((View.TOP,), at(now_ms)).verdict is Verdict.PASS
    refused = lease(100, Verdict.HOLD, decision=1, reason="too far")
    for late in ((refused, second), (second, refused)):
        judged = made.with_lease(late[0], at(now_ms)).with_lease(late[1], at(now_ms))
        assert judged.permission((View.TOP,), at(now_ms)).reason == "too far", "of one motion the more severe"
    again = made.with_lease(refused, at(now_ms)).with_lease(replace(refused, reason="dark"), at(now_ms))
    assert again.permission((View.TOP,), at(now_ms)).reason == "dark", "an equal verdict is news"
