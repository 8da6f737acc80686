"""Moments of stored images of several cameras: each has the image of the nearest stamp."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.stored_images import StoredImage
from embodied_iqa.runs.offline.rescored_moments import Moment, Moments
from embodied_iqa.runs.offline.rescoring_plan import RescoringPlan

FRONT, WRIST = View("front"), View("wrist")
MS = 1_000_000
PLAN = RescoringPlan({"/front": FRONT, "/wrist": WRIST}, "pick the red cube", (), 0.0)
STAMPS = st.lists(st.integers(1, 2000), unique=True, max_size=20)


def moments_of(images: Sequence[tuple[str, int]]) -> tuple[list[Moment], Moments, Counter[str]]:
    """Return the moments of images by topic and stamp [ms], in this order."""
    stored = [
        StoredImage(f"{n}", f"{n}", topic, at_ms * MS, np.full((48, 64, 3), n % 256, np.uint8))
        for n, (topic, at_ms) in enumerate(images)
    ]
    frames: Any = SimpleNamespace(images=lambda _topics: iter(stored), kind="recording", path=Path("bag"))
    lost: Counter[str] = Counter()
    moments = Moments(frames, PLAN, lost)
    return list(moments.each(lambda _done: None)), moments, lost


@given(STAMPS, STAMPS)
def test_a_moment_has_the_nearest_image_of_the_other_camera(front: list[int], wrist: list[int]) -> None:
    front, wrist = sorted({*front, 1}), sorted({*wrist, 1})
    order = sorted(
        [("/front", ms) for ms in front] + [("/wrist", ms) for ms in wrist], key=lambda one: one[1]
    )
    found, moments, lost = moments_of(order)
    near_ms = {ms: min(abs(other - ms) for other in wrist) for ms in front}
    assert [one.stamp_ns // MS for one in found] == [ms for ms in front if near_ms[ms] <= 100]
    for number, one in enumerate(found):
        assert one.number == number
        assert abs(one.taken_ns[WRIST] - one.stamp_ns) == near_ms[one.stamp_ns // MS] * MS
        for topic, view in PLAN.cameras.items():
            place = order.index((topic, one.taken_ns[view] // MS))
            assert one.images[view][0, 0, 0] == place % 256, "the image of that stamp"
    assert sum(lost.values()) == len(front) - len(found)
    newest_ms = order[-1][1]
    assert all(newest_ms * MS - ns <= 100 * MS for ns in moments._others[WRIST]), "what is kept is bounded"


def test_a_camera_that_falls_silent_holds_up_no_moment() -> None:
    found, _, lost = moments_of([("/wrist", 5), *(("/front", ms) for ms in (10, 90, 200, 300))])
    assert [(one.stamp_ns // MS, one.taken_ns[WRIST] // MS) for one in found] == [(10, 5), (90, 5)]
    assert lost == {"left out: no image of camera wrist within 0.1 s": 2}
