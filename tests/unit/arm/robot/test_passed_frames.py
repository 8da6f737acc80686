"""The frames of a motion that nobody decides on images for: every camera's newest one has passed."""

from __future__ import annotations

from embodied_iqa.arm.robot.passed_frames import PassedFrames
from embodied_iqa.arm.verdict import GateLease, Verdict
from embodied_iqa.imaging.images.frame import View


def lease(view: View, stamp_ns: int, reason: str = "", decision: int | None = None) -> GateLease:
    verdict = Verdict.HOLD if reason else Verdict.PASS
    return GateLease(view, stamp_ns, verdict, verdict, stamp_ns + 100, reason, decision=decision)


def test_the_newest_frame_of_every_camera_has_to_pass() -> None:
    passed = PassedFrames((View.TOP, View.WRIST))
    for one in (lease(View.TOP, 1), lease(View.SIDE, 2), lease(View.WRIST, 3, decision=1)):
        passed.take(one)
        assert passed.frames == ()
    assert passed.problem == "the gate passes no image of wrist"
    passed.take(lease(View.WRIST, 4, "too dark"))
    assert passed.problem == "the gate passes no image of wrist (too dark)"
    passed.take(lease(View.WRIST, 5))
    assert passed.frames == ((View.WRIST, 5), (View.TOP, 1))
    assert passed.problem == ""
    passed.take(lease(View.TOP, 6, "blurred"))
    assert passed.frames == ()


def test_the_next_goal_is_on_new_frames_and_a_reason_stays_until_a_frame_passes() -> None:
    passed = PassedFrames((View.TOP, View.WRIST))
    passed.take(lease(View.TOP, 1))
    passed.take(lease(View.WRIST, 2, "too dark"))
    passed.expect_new()
    assert passed.problem == "the gate passes no image of top, wrist (too dark)"
    passed.take(lease(View.WRIST, 3))
    assert passed.frames == ()
    passed.take(lease(View.TOP, 4))
    assert passed.frames == ((View.TOP, 4), (View.WRIST, 3))
