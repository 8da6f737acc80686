"""Images of several cameras are paired by their stamps alone."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embodied_iqa.imaging.images.assembler import FrameAssembler, Source
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.pairing import Arrived, missing_pair, nearest_ns, paired_stamps

FRONT, WRIST = View("front"), View("wrist")
MS = 1_000_000
STAMPS = st.lists(st.integers(0, 300), unique=True, max_size=12).map(sorted)


def whole(stamps_ns: list[int]) -> Arrived:
    return Arrived(stamps_ns, stamps_ns)


def pairs_of(front: list[int], wrist: list[int], tolerance_ns: int, from_ns: int = 0) -> dict[int, int]:
    arrived = {FRONT: whole(front), WRIST: whole(wrist)}
    found = paired_stamps(arrived, tolerance_ns, from_ns)
    assert all(pair[FRONT] == anchor_ns for anchor_ns, pair in found.items())
    return {anchor_ns: pair[WRIST] for anchor_ns, pair in found.items()}


@given(STAMPS, STAMPS, st.integers(0, 80), st.integers(0, 300))
def test_a_pair_is_the_nearest_and_never_further_apart_than_the_tolerance(
    front: list[int], wrist: list[int], tolerance_ns: int, from_ns: int
) -> None:
    found = pairs_of(front, wrist, tolerance_ns, from_ns)
    assert list(found) == sorted(found), "oldest first"
    for anchor_ns, partner_ns in found.items():
        apart_ns = abs(partner_ns - anchor_ns)
        assert apart_ns <= tolerance_ns
        assert apart_ns == min(abs(stamp_ns - anchor_ns) for stamp_ns in wrist)
        assert partner_ns == anchor_ns or partner_ns >= from_ns


@given(STAMPS, STAMPS, st.integers(0, 80))
def test_equal_stamps_pair_as_without_a_tolerance(
    front: list[int], wrist: list[int], tolerance_ns: int
) -> None:
    equal = {stamp_ns: stamp_ns for stamp_ns in front if stamp_ns in wrist}
    assert pairs_of(front, wrist, 0) == equal
    assert equal.items() <= pairs_of(front, wrist, tolerance_ns).items()


@given(STAMPS, STAMPS, st.integers(0, 80), st.randoms(use_true_random=False))
def test_a_pair_that_was_found_stays_whatever_comes_later(
    front: list[int], wrist: list[int], tolerance_ns: int, chance: Random
) -> None:
    """Each camera's images come in order; how the two interleave is chance."""
    order = [FRONT] * len(front) + [WRIST] * len(wrist)
    chance.shuffle(order)
    waiting = {FRONT: list(front), WRIST: list(wrist)}
    seen: dict[View, list[int]] = {FRONT: [], WRIST: []}
    found: dict[int, int] = {}
    for view in order:
        seen[view].append(waiting[view].pop(0))
        now = pairs_of(seen[FRONT], seen[WRIST], tolerance_ns)
        assert found.items() <= now.items()
        found |= now
    recorded = {one: nearest_ns(one, wrist, tolerance_ns) for one in found}
    assert found == recorded, "rescoring finds the same in the recording"


def test_two_cameras_of_15_hz_pair_with_the_nearest_image() -> None:
    period_ns = 66_666_667
    front = [1_000 * MS + n * period_ns for n in range(4)]
    wrist = [stamp_ns - 20 * MS for stamp_ns in front]
    assert pairs_of(front, wrist, 50 * MS) == dict(zip(front[:3], wrist[:3], strict=True))
    assert pairs_of(front, wrist, 19 * MS) == {}
    ahead = [stamp_ns + 20 * MS for stamp_ns in front]
    assert pairs_of(front, ahead, 50 * MS) == dict(zip(front, ahead, strict=True))


def test_of_two_images_as_near_the_newer_one_counts() -> None:
    assert nearest_ns(10, [5, 15], 5) == 15
    assert nearest_ns(10, [5, 15], 4) is None
    assert nearest_ns(10, [], 100) is None


def test_an_image_from_before_the_run_belongs_to_no_pair() -> None:
    assert pairs_of([100, 200], [95, 198, 260], 10) == {100: 95, 200: 198}
    assert pairs_of([100, 200], [95, 198, 260], 10, from_ns=97) == {200: 198}


@pytest.mark.parametrize("gone", [Source.RAW, Source.DISTORTED])
def test_an_image_that_is_nearest_and_not_whole_is_not_replaced(gone: Source) -> None:
    frames = FrameAssembler(8)
    add(frames, FRONT, 100)
    add(frames, WRIST, 98, *({*Source} - {gone}))
    add(frames, WRIST, 105)
    arrived = {view: frames.arrived(view, *Source) for view in (FRONT, WRIST)}
    assert paired_stamps(arrived, 20) == {}
    frames.add_image(WRIST, gone, 98, np.zeros((2, 2, 3), np.uint8))
    arrived = {view: frames.arrived(view, *Source) for view in (FRONT, WRIST)}
    assert paired_stamps(arrived, 20) == {100: {FRONT: 100, WRIST: 98}}


def test_a_bounded_store_makes_no_pair_with_an_image_that_is_not_the_nearest() -> None:
    """The nearest image was dropped before the anchor came."""
    frames, kept = FrameAssembler(2), FrameAssembler(8)
    for store in (frames, kept):
        for stamp_ns in (98, 104, 110):
            add(store, WRIST, stamp_ns)
        add(store, FRONT, 100)
    found = [
        paired_stamps({view: store.arrived(view, *Source) for view in (FRONT, WRIST)}, 20)
        for store in (frames, kept)
    ]
    assert found == [{}, {100: {FRONT: 100, WRIST: 98}}]
    assert len(frames.arrived(WRIST, *Source).stamps_ns) == 3, "those kept, and the newest that is not"
    frames.clear()
    assert frames.arrived(WRIST, *Source) == Arrived([], set())


def add(frames: FrameAssembler, view: View, stamp_ns: int, *sources: Source) -> None:
    frames.add_intrinsics(view, None)
    frames.add_pose(view, stamp_ns, None)
    for source in sources or Source:
        frames.add_image(view, source, stamp_ns, np.zeros((2, 2, 3), np.uint8))


def test_what_a_policy_waits_for_is_named() -> None:
    front, wrist = whole([100 * MS, 167 * MS]), whole([229 * MS])
    said = missing_pair({FRONT: front, WRIST: whole([])}, 50 * MS)
    assert said == "the policy waits for images of wrist"
    said = missing_pair({FRONT: front, WRIST: wrist}, 50 * MS)
    assert said == (
        "the policy waits for images of front and wrist at most 0.05 s apart "
        "(vla_node.policy.pairing_tolerance_s); the nearest are 0.062 s apart"
    )
    assert "nearest" not in missing_pair({FRONT: front, WRIST: whole([160 * MS])}, 50 * MS), "it may come"
