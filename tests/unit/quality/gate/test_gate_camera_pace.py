"""The pace of a camera: which leases end before its next image, and how long they should last."""

from __future__ import annotations

import pytest

from embodied_iqa.arm.lease_options import LeaseOptions
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.camera_pace import CameraPace

START_NS = 1_700_000_000_000_000_000


def _pace(*periods_ms: float, ttl_s: float = 0.12, longest_s: float = 1.0) -> CameraPace:
    pace = CameraPace(View.TOP, LeaseOptions(ttl_s=ttl_s, longest_s=longest_s), "judge.lease.ttl_s")
    stamp_ns = START_NS
    pace.add(stamp_ns)
    for period_ms in periods_ms:
        stamp_ns += round(period_ms * 1e6)
        pace.add(stamp_ns)
    return pace


@pytest.mark.parametrize(
    ("period_ms", "rate", "ttl_s"),
    [
        (200.0, "5.0", "0.6"),
        (201.0, "5.0", "0.6"),
        (125.0, "8.0", "0.4"),
        (400.0, "2.5", "1"),
        (140, "7.1", "0.45"),
    ],
)
def test_a_lease_shorter_than_the_period_is_named_with_one_that_lasts(
    period_ms: float, rate: str, ttl_s: str
) -> None:
    said = f"top arrives at {rate} Hz and its leases last 0.12 s: set judge.lease.ttl_s to {ttl_s}"
    assert _pace(*[period_ms] * 6).warning() == said


@pytest.mark.parametrize(
    ("period_ms", "longest_s", "end"),
    [
        (700.0, 1.0, "1.4 Hz and its leases last 0.12 s: too slow for a lease, which lasts at most 1 s; "),
        (4000.0, 1.0, "0.25 Hz and its leases last 0.12 s: too slow for a lease, which lasts at most 1 s; "),
    ],
)
def test_a_camera_may_be_too_slow_for_any_lease(period_ms: float, longest_s: float, end: str) -> None:
    said = _pace(*[period_ms] * 6, longest_s=longest_s).warning()
    assert said == f"top arrives at {end}expected at least 2 Hz"


def test_the_advice_is_a_lease_that_may_be_set() -> None:
    pace = _pace(*[200.0] * 6, longest_s=0.5)
    assert pace.warning().endswith("set judge.lease.ttl_s to 0.5")


def test_a_lease_that_lasts_is_not_remarked_on() -> None:
    assert not _pace(*[33.3] * 30).warning()
    assert not _pace(*[120.0] * 6).warning(), "as long as the period"
    assert not _pace(*[200.0] * 6, ttl_s=0.6).warning()


@pytest.mark.parametrize(
    ("age_ms", "ttl_s", "end"),
    [
        (600, 0.4, "set judge.lease.ttl_s to 1"),
        (320, 0.4, "set judge.lease.ttl_s to 0.7"),
        (900, 0.4, "too old for a lease, which lasts at most 1 s, or a clock is wrong"),
    ],
)
def test_images_so_old_that_their_leases_end_before_the_next_one(age_ms: int, ttl_s: float, end: str) -> None:
    pace = _pace(*[125.0] * 6, ttl_s=ttl_s)
    for number in range(7, 20):
        pace.add(START_NS + number * 125_000_000, age_ms * 1_000_000)
    old = f"its images are {age_ms / 1000:.2f} s old when judged"
    assert pace.warning() == f"top arrives at 8.0 Hz, {old}, and its leases last 0.4 s: {end}"
    for number in range(20, 40):
        pace.add(START_NS + number * 125_000_000, 30_000_000)
    assert not pace.warning()


def test_late_images_alone_are_not_the_pace() -> None:
    assert not _pace(*[200.0] * 4).warning(), "too few to know"
    assert _pace(*[200.0] * 4).period_ns is None
    assert not _pace(33.3, 33.3, 5000.0, 33.3, 33.3, 33.3).warning()
    assert not _pace(*[33.3, 33.3, 33.3, 200.0] * 10).warning()


def test_only_the_newest_images_count() -> None:
    pace = _pace(*[200.0] * 100, *[33.0] * 8)
    assert pace.period_ns == 33e6
    assert not pace.warning(), "the camera is fast again"
    assert _pace(*[33.0] * 100, *[200.0] * 8).warning()
