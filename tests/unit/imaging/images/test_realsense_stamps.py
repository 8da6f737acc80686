"""Camera clocks to ROS time: strictly rising, never early, never much younger than they are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.images.realsense.capture import Pairing, SetStamp
from embodied_iqa.imaging.images.realsense.stamps import ClockDomain, StampMapper, check_domains

MS = 1_000_000
PERIOD_NS = 33_333_333
ROS_ZERO_NS = 1_700_000_000_000_000_000


def arrivals(delays_ns: np.ndarray, drift_ppm: float = 0.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Stamps by the camera's clock, true times and arrivals of images with these delays."""
    device = 5_000 * MS + PERIOD_NS * np.arange(len(delays_ns), dtype=np.int64)
    true = ROS_ZERO_NS + (device * (1 + drift_ppm * 1e-6)).astype(np.int64)
    return device, true, true + delays_ns.astype(np.int64)


def mapped(device: np.ndarray, arrival: np.ndarray, mapper: StampMapper | None = None) -> np.ndarray:
    mapper = mapper or StampMapper()
    return np.array([mapper.to_ros_ns(int(d), int(a)) for d, a in zip(device, arrival, strict=True)])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 200 * MS), min_size=2, max_size=80),
    st.floats(-100, 100),
)
def test_stamps_rise_and_are_never_after_their_arrival(delays: list[int], drift_ppm: float) -> None:
    device, _, arrival = arrivals(np.array(delays), drift_ppm)
    arrival = np.maximum.accumulate(arrival)  # images come in order
    stamps = mapped(device, arrival)
    assert (np.diff(stamps) > 0).all()
    assert (stamps <= arrival + np.arange(len(stamps))).all()  # a nanosecond each where arrivals coincide


@pytest.mark.parametrize("drift_ppm", [-80.0, 0.0, 80.0])
def test_jitter_is_taken_out_and_drift_followed(drift_ppm: float) -> None:
    rng = np.random.default_rng(3)
    delays = 4 * MS + rng.exponential(6 * MS, 20_000)  # 11 minutes
    device, true, arrival = arrivals(delays, drift_ppm)
    late_ns = mapped(device, arrival)[300:] - true[300:]
    assert late_ns.min() >= 0
    assert late_ns.max() < 7 * MS
    assert np.std(late_ns) < 0.1 * np.std(delays)


def test_a_backlog_keeps_its_age() -> None:
    device, true, arrival = arrivals(np.full(3000, 5 * MS))
    arrival[100:] += 800 * MS  # from here on everything is read 0.8 s late, for a minute and a half
    stamps = mapped(device, arrival)
    assert (stamps - true).max() < 5 * MS + 0.0003 * 100e9
    assert (arrival - stamps)[110:].min() > 760 * MS


def test_a_camera_that_starts_again_is_followed_and_stamps_still_rise() -> None:
    mapper = StampMapper()
    device, _, arrival = arrivals(np.full(50, 5 * MS))
    before = mapped(device, arrival, mapper)
    after = mapped(device - 5_000 * MS, arrival + 60_000 * MS, mapper)
    assert after[0] > before[-1]
    assert (np.diff(after) == PERIOD_NS).all()
    assert after[0] == arrival[0] + 60_000 * MS


def test_ros_time_that_is_set_back_starts_stamps_again() -> None:
    mapper = StampMapper()
    device, _, arrival = arrivals(np.full(10, 5 * MS))
    mapped(device, arrival, mapper)
    again = mapped(device + 400 * MS, arrival - 3_600_000 * MS, mapper)
    assert (again <= arrival - 3_600_000 * MS).all()


def test_clock_domains() -> None:
    hardware, host = ClockDomain.HARDWARE, ClockDomain.HOST
    check_domains(hardware, hardware, allow_host_stamps=False)
    check_domains(ClockDomain.GLOBAL, None, allow_host_stamps=False)
    check_domains(host, host, allow_host_stamps=True)
    with pytest.raises(InputError, match=r"different clocks.*hardware_clock.*global_time"):
        check_domains(hardware, ClockDomain.GLOBAL, allow_host_stamps=True)
    with pytest.raises(InputError, match="allow_host_stamps"):
        check_domains(host, host, allow_host_stamps=False)


def test_each_colour_image_once_with_the_depth_of_its_time() -> None:
    pairing = Pairing(33.3, with_depth=True)
    sets = [
        (0, 0.0, 0.0),
        (1, 33.3, 0.0),
        (1, 33.3, 33.3),
        (1, 33.3, 66.6),
        (2, 66.6, 66.6),
        (5, 166.5, 160.0),
    ]
    assert [pairing.accept(SetStamp(*item)) for item in sets] == [True, False, True, False, True, True]
    assert pairing.lost == 2
    pairing.restart()
    assert pairing.accept(SetStamp(0, 0.0, 0.0))
    assert pairing.lost == 2
    assert not pairing.accept(SetStamp(9, 300.0, None))
