"""Frames are put together from parts that arrive in any order."""

from __future__ import annotations

import threading

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from embodied_iqa.imaging.images.assembler import FrameAssembler, Source
from embodied_iqa.imaging.images.frame import Intrinsics, View

INTRINSICS = Intrinsics(4, 3, 5.0, 5.0, 1.5, 1.0)
BOTH = (Source.RAW, Source.DISTORTED)


def rgb(value: int) -> np.ndarray:
    return np.full((3, 4, 3), value, dtype=np.uint8)


def add(frames: FrameAssembler, stamp_ns: int, part: str, view: View = View.TOP) -> None:
    if part == "info":
        frames.add_intrinsics(view, INTRINSICS)
    elif part == "pose":
        frames.add_pose(view, stamp_ns, stamp_ns * np.eye(4))
    else:
        source = Source[part.upper()]
        frames.add_image(view, source, stamp_ns, rgb((stamp_ns + 100 * source) % 256))


@given(st.permutations(["info", "pose", "raw", "distorted"]))
def test_the_order_of_arrival_does_not_matter(order: list[str]) -> None:
    frames = FrameAssembler(4)
    for index, part in enumerate(order):
        for source in BOTH:
            done = {"info", "pose", source.name.lower()} <= set(order[:index])
            assert (frames.frame(View.TOP, source, 7) is not None) == done
        add(frames, 7, part)
    for source in BOTH:
        frame = frames.frame(View.TOP, source, 7)
        assert frame is not None
        assert (frame.stamp_ns, frame.view, frame.intrinsics) == (7, View.TOP, INTRINSICS)
        assert np.array_equal(frame.rgb, rgb(7 + 100 * source))
        assert np.array_equal(frame.T_base_camera, 7 * np.eye(4))


def test_unknown_geometry_completes_a_frame() -> None:
    frames = FrameAssembler(4)
    add(frames, 7, "raw")
    frames.add_intrinsics(View.TOP, None)
    assert frames.frame(View.TOP, Source.RAW, 7) is None
    assert not frames.has_pose(View.TOP, 7)
    frames.add_pose(View.TOP, 7, None)
    assert frames.has_pose(View.TOP, 7)
    frame = frames.frame(View.TOP, Source.RAW, 7)
    assert frame is not None
    assert (frame.intrinsics, frame.T_base_camera) == (None, None)


def test_parts_of_different_stamps_or_views_never_meet() -> None:
    frames = FrameAssembler(4)
    add(frames, 0, "info")
    add(frames, 7, "pose")
    add(frames, 8, "raw")
    add(frames, 7, "raw", View.WRIST)
    assert all(frames.frame(View.TOP, Source.RAW, stamp) is None for stamp in (7, 8))
    assert frames.frame(View.WRIST, Source.RAW, 7) is None


def test_the_oldest_goes_first_whatever_the_order_of_arrival() -> None:
    frames = FrameAssembler(2)
    for stamp in (5, 3, 9):
        add(frames, stamp, "pose")
        add(frames, stamp, "raw")
    assert frames.stamps_ns(View.TOP) == [5, 9]
    add(frames, 1, "pose")
    assert frames.stamps_ns(View.TOP) == [5, 9], "too late"


def test_what_went_incomplete_is_counted() -> None:
    frames = FrameAssembler(1)
    add(frames, 1, "pose")
    add(frames, 2, "pose")
    assert frames.dropped == 1
    add(frames, 2, "raw")
    add(frames, 3, "pose")
    assert frames.dropped == 1


def test_the_newest_complete_stamp_is_found() -> None:
    frames = FrameAssembler(4)
    assert frames.newest_stamp_ns(View.TOP, *BOTH) is None
    add(frames, 0, "info")
    for stamp, parts in {
        1: ("pose", "raw", "distorted"),
        2: ("pose", "raw"),
        3: ("raw", "distorted"),
    }.items():
        for part in parts:
            add(frames, stamp, part)
    assert frames.newest_stamp_ns(View.TOP, *BOTH) == 1
    assert frames.newest_stamp_ns(View.TOP, Source.RAW) == 2
    assert (frames.has_pose(View.TOP, 2), frames.has_pose(View.TOP, 3)) == (True, False)


def test_clearing_keeps_the_intrinsics() -> None:
    frames = FrameAssembler(4)
    add(frames, 0, "info")
    add(frames, 1, "raw")
    frames.clear()
    assert frames.stamps_ns(View.TOP) == []
    add(frames, 2, "pose")
    add(frames, 2, "raw")
    assert frames.frame(View.TOP, Source.RAW, 2) is not None


def test_several_threads_may_add_and_look() -> None:
    frames, failures = FrameAssembler(8), []
    add(frames, 0, "info")

    def work(part: str) -> None:
        try:
            for stamp in range(2000):
                add(frames, stamp, part)
                frames.newest_stamp_ns(View.TOP, *BOTH)
                assert len(frames.stamps_ns(View.TOP)) <= 8
        except Exception as error:  # noqa: BLE001 - told below
            failures.append(error)

    threads = [threading.Thread(target=work, args=(part,)) for part in ("pose", "raw", "distorted")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    for stamp in range(1992, 2000):
        frame = frames.frame(View.TOP, Source.DISTORTED, stamp)
        assert frame is not None
        assert frame.rgb[0, 0, 0] == (stamp + 100) % 256
