"""Images of somebody else's node: what is passed on, and what is refused, by name and counted."""

from __future__ import annotations

import contextlib
import struct
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.images.frame import LensCalibration, View
from embodied_iqa.imaging.images.hand_eye import PoseAt
from embodied_iqa.imaging.images.image_cdr import image_to_cdr
from embodied_iqa.imaging.images.live_camera import CameraLostError, RgbdFrame
from embodied_iqa.imaging.images.topic_camera import TopicCamera, TopicOptions
from manual_clock import PATIENCE_S, ManualClock

NOW_NS = 5_000_000_000
MS = 1_000_000
RGB = np.random.default_rng(1).integers(0, 256, (120, 160, 3), dtype=np.uint8)
K = (200.0, 0.0, 80.0, 0.0, 210.0, 60.0, 0.0, 0.0, 1.0)
EYE = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
P = (180.0, 0.0, 78.0, 0.0, 0.0, 190.0, 61.0, 0.0, 0.0, 0.0, 1.0, 0.0)
D = (-0.3, 0.1, 0.002, -0.001, 0.0)


def info(**changes: Any) -> SimpleNamespace:
    sound = {"width": 160, "height": 120, "distortion_model": "plumb_bob", "d": D, "k": K, "r": EYE, "p": P}
    return SimpleNamespace(**sound | changes)


def image(stamp_ns: int = NOW_NS) -> bytes:
    return image_to_cdr(RGB, stamp_ns, "lens")


def depth(stamp_ns: int, value: int, width: int = 160) -> bytes:
    data = np.full((120, width), value, "<u2").tobytes()
    head = b"\0\1\0\0" + struct.pack("<iII4s", *divmod(stamp_ns, 10**9), 4, b"top")
    return head + struct.pack("<III6s2xII", 120, width, 6, b"16UC1", 2 * width, len(data)) + data


@dataclass
class Bench:
    """A camera with a clock of the test's own."""

    options: TopicOptions = field(default_factory=lambda: TopicOptions("/lens"))
    pose_at: PoseAt | None = None

    def __post_init__(self) -> None:
        self.said: list[str] = []
        self.why_none = ""
        self.clock = ManualClock()
        self.camera = TopicCamera(
            View.TOP,
            self.options,
            self.pose_at,
            lambda: NOW_NS,
            report=self.said.append,
            missed=lambda: 4,
            why_none=lambda: self.why_none,
            clock=self.clock,
        )

    def shown(self, *cdrs: bytes) -> RgbdFrame | None:
        """Give it messages one after the other; return what came of the last."""
        found = None
        for cdr in cdrs:
            self.camera.take_image(cdr)
            found = self.camera.read_rgbd(0.0)
        return found

    def wrong(self) -> dict[str, int]:
        return {name: count for name, count in self.camera.counts().items() if count and name != "lost"}


def test_an_image_passes_with_its_calibration() -> None:
    bench = Bench()
    bench.camera.take_info(info())
    both = bench.shown(image())
    assert both is not None
    frame = both.frame
    assert (frame.view, frame.stamp_ns, both.depth, frame.T_base_camera) == (View.TOP, NOW_NS, None, None)
    assert np.array_equal(frame.rgb, RGB)
    assert frame.lens == LensCalibration(160, 120, "plumb_bob", D, K, EYE, P)
    assert frame.needed_intrinsics() == frame.lens.pinhole
    assert bench.camera.counts()["lost"] == 4
    assert not bench.wrong()
    assert bench.camera.remark == "images of /lens, as they come; pose not known"


@pytest.mark.parametrize(
    "state", [None, info(k=(0.0,) * 9), info(k=(np.nan, *K[1:])), info(p=(np.inf, *P[1:]))]
)
def test_what_is_not_known_of_the_lens_stays_unknown(state: SimpleNamespace | None) -> None:
    bench = Bench()
    if state is not None:
        bench.camera.take_info(info())
        bench.camera.take_info(state)
    both = bench.shown(image())
    assert both is not None
    assert (both.frame.intrinsics, both.frame.lens) == (None, None)
    damaged = state is not None and state.k[0] != 0.0
    assert bench.wrong() == ({"damaged_info": 1} if damaged else {})


def test_the_newest_image_wins_and_the_others_are_counted() -> None:
    bench = Bench()
    for late_ms in (3, 2, 1):
        bench.camera.take_image(image(NOW_NS - late_ms * MS))
    both = bench.camera.read_rgbd(0.0)
    assert both is not None
    assert both.frame.stamp_ns == NOW_NS - MS
    assert bench.wrong() == {"overtaken": 2}
    assert bench.camera.read_rgbd(0.0) is None


@pytest.mark.parametrize(
    ("stamps_ns", "reason", "said"),
    [
        ([0], "stamp_zero", "an image has no stamp; got 0"),
        ([-5], "stamp_zero", "an image has no stamp; got -5"),
        ([NOW_NS, NOW_NS], "stamp_repeated", "not newer than the last"),
        ([NOW_NS, NOW_NS - 1], "stamp_backwards", "not newer than the last"),
        ([NOW_NS + 21 * MS], "stamp_ahead", "in the future; expected at most 0.02 s; got '0.021 s'"),
        ([NOW_NS - 2001 * MS], "too_old", "an image is old; expected at most 2 s; got '2.001 s'"),
    ],
)
def test_stamps_that_cannot_date_a_lease(stamps_ns: list[int], reason: str, said: str) -> None:
    bench = Bench()
    assert bench.shown(*(image(stamp_ns) for stamp_ns in stamps_ns)) is None
    assert bench.wrong() == {reason: 1}
    (line,) = bench.said
    assert line.startswith(f"top: {reason}: ")
    assert said in line
    assert "\n" not in line


def test_stamps_at_the_limits_pass() -> None:
    bench = Bench()
    assert bench.shown(image(NOW_NS - 2000 * MS), image(NOW_NS + 20 * MS)) is not None
    assert not bench.wrong()


def test_a_line_for_the_first_the_tenth_and_the_hundredth() -> None:
    bench = Bench()
    bench.shown(*[image(0)] * 120)
    assert bench.wrong() == {"stamp_zero": 120}
    assert [line.rpartition(" (")[2] for line in bench.said[1:]] == ["10 times)", "100 times)"]


def test_an_image_of_another_size_than_its_info_is_refused() -> None:
    bench = Bench()
    bench.camera.take_info(info(width=320))
    assert bench.shown(image()) is None
    assert bench.wrong() == {"wrong_size": 1}
    assert "expected 320 x 120; got '160 x 120'" in bench.said[0]


def test_a_pose_is_that_of_the_stamp_or_the_image_is_refused() -> None:
    pose = np.eye(4)
    bench = Bench(pose_at=lambda stamp_ns: pose if stamp_ns == NOW_NS else None)
    assert bench.shown(image(NOW_NS - 1)) is None
    assert bench.wrong() == {"without_pose": 1}
    both = bench.shown(image())
    assert both is not None
    assert both.frame.needed_pose() is pose


def test_rectified_images_have_the_projection_of_p() -> None:
    bench = Bench(TopicOptions("/lens", rectify=True, depth=True), lambda _stamp_ns: np.eye(4))
    assert bench.shown(image(NOW_NS - 2)) is None, "how to rectify is not known yet"
    bench.camera.take_info(info(distortion_model="kannala"))
    assert bench.shown(image(NOW_NS - 1)) is None
    assert bench.wrong() == {"uncalibrated": 2}
    bench.camera.take_info(info())
    bench.camera.take_depth(depth(NOW_NS, 700))
    both = bench.shown(image())
    assert both is not None
    assert both.frame.lens is not None
    assert (both.frame.lens.d, both.frame.lens.p) == ((0.0,) * 5, P)
    assert both.frame.needed_intrinsics().fx_px == P[0]
    assert not np.array_equal(both.frame.rgb, RGB)
    assert both.depth is not None
    assert set(np.unique(both.depth)) <= {0, 700}
    assert both.depth[60, 80] == 700


WITH_DEPTH = TopicOptions("/lens", depth=True)


def test_the_depth_nearest_in_time_goes_with_an_image() -> None:
    bench = Bench(WITH_DEPTH)
    for offset_ms, value in ((-15, 100), (-4, 200), (9, 300)):
        bench.camera.take_depth(depth(NOW_NS + offset_ms * MS, value))
    both = bench.shown(image())
    assert both is not None
    assert both.depth is not None
    assert np.unique(both.depth).tolist() == [200]
    assert both.depth_unit_m == 1e-3
    assert not bench.wrong()


def test_an_image_waits_for_its_depth_which_comes_40_ms_later() -> None:
    bench = Bench(WITH_DEPTH)
    bench.camera.take_depth(depth(NOW_NS - 33 * MS, 400))  # that of the image before
    bench.camera.take_image(image())
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(bench.camera.read_rgbd, 0.0)
        bench.clock.await_waiting()
        bench.clock.advance(0.04)
        bench.camera.take_depth(depth(NOW_NS, 500))
        both = reading.result(PATIENCE_S)
    assert both is not None
    assert both.depth is not None
    assert np.unique(both.depth).tolist() == [500]


@pytest.mark.parametrize(("before_ms", "waits_s"), [(4, 0.02), (21, 0.05)])
def test_an_image_waits_longer_where_it_has_no_depth_yet(before_ms: int, waits_s: float) -> None:
    bench = Bench(WITH_DEPTH)
    bench.camera.take_depth(depth(NOW_NS - before_ms * MS, 400))
    bench.camera.take_image(image())
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(bench.camera.read_rgbd, 0.0)
        bench.clock.outlast(reading, waits_s)
    both = reading.result()
    assert both is not None
    assert (both.depth is None) == (before_ms > 20)


@pytest.mark.parametrize(
    ("cdr", "reason"),
    [
        (depth(NOW_NS + 21 * MS, 5), "without_depth"),
        (depth(NOW_NS, 5, width=80), "damaged_depth"),
        (depth(NOW_NS, 5)[:-1], "damaged_depth"),
        (image(), "damaged_depth"),
    ],
)
def test_an_image_passes_without_a_depth_that_does_not_fit(cdr: bytes, reason: str) -> None:
    bench = Bench(WITH_DEPTH)
    bench.camera.take_depth(cdr)
    both = bench.shown(image())
    assert both is not None
    assert both.depth is None
    assert bench.wrong() == {reason: 1}


def test_a_silent_topic_is_a_dead_camera() -> None:
    bench = Bench(TopicOptions("/lens", give_up_s=30.0))
    bench.clock.advance(2.1)
    assert bench.camera.read_rgbd(0.0) is None
    assert bench.said == ["no image of top on /lens for 2 s (none came)"]
    assert bench.shown(image()) is not None
    assert bench.camera.silence == ""
    bench.clock.advance(2.1)
    assert bench.camera.read_rgbd(0.0) is None
    assert bench.said[1:] == ["no image of top on /lens for 2 s (none since 00:00:05 UTC)"]
    bench.why_none = "nobody publishes it"
    why = "nobody publishes it; none since 00:00:05 UTC"
    assert bench.camera.silence == f"no image of top on /lens for 2 s ({why})"
    bench.why_none = ""
    bench.clock.advance(27.8)
    assert bench.shown(image()) is None, "a repeated image is no sign of life"
    bench.clock.advance(0.2)
    with pytest.raises(CameraLostError, match=r"was silent for over 30 s \(stamp_repeated: .* within 30 s"):
        bench.camera.read_rgbd(0.0)
    bench.clock.advance(10.0)
    assert bench.shown(image(NOW_NS + MS)) is not None, "it is back"
    assert bench.camera.silence == ""
    assert bench.camera.read_rgbd(0.0) is None


def test_another_kind_of_damage_is_said_and_another_number_is_not() -> None:
    bench = Bench()
    for number, cdr in enumerate((image()[:-1], image()[:-2], depth(NOW_NS, 5), depth(NOW_NS, 5)), 1):
        assert bench.shown(cdr) is None
        assert bench.wrong() == {"damaged": number}
    first, other = bench.said
    assert first.startswith("top: damaged: ")
    assert "16UC1" in other
    assert other.endswith(" (3 times)")


def test_what_was_refused_before_the_last_image_is_not_why_none_comes() -> None:
    bench = Bench()
    bench.clock.advance(3.0)
    assert bench.shown(image(0)) is None
    assert "(stamp_zero: " in bench.camera.silence
    assert bench.shown(image()) is not None
    bench.clock.advance(3.0)
    assert "(none since 00:00:05 UTC)" in bench.camera.silence


def test_a_topic_that_comes_back_is_a_camera_again() -> None:
    bench = Bench()
    assert bench.camera.silence == ""
    bench.clock.advance(29.0)
    assert bench.camera.read_rgbd(0.0) is None
    assert bench.shown(image()) is not None
    assert bench.camera.silence == ""
    bench.clock.advance(29.0)
    assert bench.camera.read_rgbd(0.0) is None
    bench.camera.close()
    bench.camera.take_image(image(NOW_NS + 1))
    bench.camera.take_image(image(NOW_NS + 2))
    assert bench.camera.read_rgbd(0.0) is None
    assert not bench.wrong()


FLOATS = st.floats(width=64)


@settings(max_examples=150, deadline=None)
@given(
    data=st.data(),
    width=st.sampled_from([0, 160, 2**32 - 1]),
    model=st.sampled_from(["plumb_bob", "rational_polynomial", "equidistant", "", "x"]),
)
def test_hostile_messages_never_raise(data: st.DataObject, width: int, model: str) -> None:
    bench = Bench(TopicOptions("/lens", rectify=True, depth=True, depth_wait_s=0.0))
    lists = {name: st.lists(FLOATS, min_size=size, max_size=size) for name, size in (("r", 9), ("p", 12))}
    for name, sound in (("k", K), ("r", EYE), ("p", P)):
        strange = data.draw(lists.get(name, lists["r"]))
        lists[name] = st.just(sound) if data.draw(st.booleans()) else st.just(strange)
    values = {name: data.draw(chosen) for name, chosen in lists.items()}
    bench.camera.take_info(info(width=width, distortion_model=model, d=data.draw(st.lists(FLOATS)), **values))
    cdrs = [bytearray(image(NOW_NS)), bytearray(depth(NOW_NS, 5))]
    for cdr in cdrs:
        for _ in range(data.draw(st.integers(0, 3))):
            cdr[data.draw(st.integers(0, 79))] = data.draw(st.integers(0, 255))
        del cdr[data.draw(st.integers(0, len(cdr))) :]
    with contextlib.suppress(InputError):
        bench.camera.take_depth(bytes(cdrs[1]))
        bench.shown(bytes(cdrs[0]))
    assert all("\n" not in line for line in bench.said)
