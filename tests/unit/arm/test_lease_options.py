"""Times of a lease: each has its limits, and those that cannot hold together are refused with the limits."""

from __future__ import annotations

import math

import pytest

from embodied_iqa.arm.lease_options import LeaseOptions
from embodied_iqa.arm.robot.controller_options import ControllerOptions
from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.number_range import NumberRange
from embodied_iqa.base.units import SECOND_NS

RANGES = {
    "ttl_s": (0.001, 1.0),
    "longest_s": (0.001, 1.0),
    "remember_s": (0.001, 10.0),
    "overrun_s": (0.0, 0.1),
    "wait_s": (0.0, 10.0),
    "window_s": (0.0, 1.0),
}
WIDE = {"ttl_s": 1.0, "longest_s": 1.0, "remember_s": 10.0}
"""Leave room for the largest value of each other time."""
NARROW = {"ttl_s": 0.001, "longest_s": 0.001, "wait_s": 0.0, "window_s": 0.0}
"""Leave room for the smallest value of each other time."""


def test_every_time_has_a_limit_here() -> None:
    assert list(RANGES) == list(LeaseOptions.__slots__)


@pytest.mark.parametrize("name", RANGES)
def test_a_time_out_of_its_range_is_refused_with_the_range(name: str) -> None:
    low, high = RANGES[name]
    words = f"parameter {name} in LeaseOptions; expected {NumberRange(low, high)}; got"
    for beyond in (math.nextafter(low, -1.0), math.nextafter(high, 20.0), -math.inf, math.inf, math.nan):
        with pytest.raises(UsageError, match=words) as caught:
            LeaseOptions(**{name: beyond})
        assert caught.value.exit_code == 2
    assert getattr(LeaseOptions(**{**NARROW, name: low}), name) == low
    most = high if name != "window_s" else math.nextafter(high, 0.0)
    assert getattr(LeaseOptions(**{**WIDE, name: most}), name) == most


@pytest.mark.parametrize(
    ("shorter", "longer"), [("ttl_s", "longest_s"), ("longest_s", "remember_s"), ("wait_s", "remember_s")]
)
def test_a_time_that_another_one_cuts_short_is_refused_with_that_limit(shorter: str, longer: str) -> None:
    room = {"ttl_s": 0.1, "longest_s": 0.2, "wait_s": 0.0} | {longer: 0.4}
    assert getattr(LeaseOptions(**{**room, shorter: 0.4}), shorter) == 0.4
    words = rf"lease\.{shorter} is too long: .*; expected at most lease\.{longer}, 0\.4 s; got 0\.400"
    with pytest.raises(UsageError, match=words) as caught:
        LeaseOptions(**{**room, shorter: math.nextafter(0.4, 1.0)})
    assert "\n" not in str(caught.value)


def test_a_window_ends_before_the_lease_does() -> None:
    assert LeaseOptions(ttl_s=0.12, window_s=math.nextafter(0.12, 0.0)).window_s < 0.12
    with pytest.raises(
        UsageError, match=r"window_s is too long.* less than lease\.ttl_s, 0\.12 s; got 0\.12"
    ):
        LeaseOptions(ttl_s=0.12, window_s=0.12)


def test_the_age_of_a_goals_frame_lies_between_its_wait_and_its_memory() -> None:
    lease = LeaseOptions(wait_s=0.5, remember_s=3.0)
    for age_ns in (SECOND_NS // 2, 3 * SECOND_NS):
        assert ControllerOptions(max_frame_age_ns=age_ns, lease=lease).max_frame_age_ns == age_ns
    words = r"expected 500000000 \(lease.wait_s\) to 3000000000 \(lease.remember_s\)"
    for age_ns in (SECOND_NS // 2 - 1, 3 * SECOND_NS + 1):
        with pytest.raises(UsageError, match=words):
            ControllerOptions(max_frame_age_ns=age_ns, lease=lease)


def test_nanoseconds_are_those_of_the_seconds() -> None:
    times = LeaseOptions()
    assert {name: getattr(times, name.replace("_s", "_ns")) for name in RANGES} == {
        "ttl_s": 120_000_000,
        "longest_s": 1_000_000_000,
        "remember_s": 3_000_000_000,
        "overrun_s": 70_000_000,
        "wait_s": 500_000_000,
        "window_s": 16_000_000,
    }


def test_a_lease_counts_from_its_frame_and_a_frame_from_the_future_gains_nothing() -> None:
    times = LeaseOptions(ttl_s=0.2)
    assert times.end_ns(1000, 5000) == 1000 + 200_000_000
    assert times.end_ns(5000, 1000) == 1000 + 200_000_000


def test_a_lease_lasts_until_the_next_frame_from_a_rate_on() -> None:
    assert LeaseOptions(ttl_s=0.125).least_rate_hz == 8.0
