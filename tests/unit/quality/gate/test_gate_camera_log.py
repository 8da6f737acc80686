"""The log of a camera, whichever node judges it: its holds, and leases that end before its next image."""

from __future__ import annotations

import pytest

from embodied_iqa.arm.verdict import Verdict
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.camera_log import CameraLog
from embodied_iqa.quality.gate.judge import GateOptions, ImageQuality
from embodied_iqa.quality.gate.judgement import Judgement

MS = 1_000_000
START_NS = 5_000 * MS
SETTING = "gate_node.judge.lease.ttl_s"


class Camera:
    """Images every so many ms, and the lines that they leave."""

    def __init__(self, *, stops_time: bool = False) -> None:
        self.lines: list[tuple[str, str]] = []
        self.now_ns = START_NS
        self.options = GateOptions()
        self.log = CameraLog(
            View.TOP,
            self.options.lease,
            self.now_ns,
            lambda line: self.lines.append(("warning", line)),
            lambda line: self.lines.append(("info", line)),
            setting=SETTING,
            stops_time=stops_time,
        )

    def show(self, *reasons: str, period_ms: int = 50) -> None:
        for reason in reasons:
            self.now_ns += period_ms * MS
            verdict = Verdict.REJECT if reason else Verdict.PASS
            judgement = Judgement(verdict, reason)
            quality = ImageQuality(View.TOP, self.now_ns, judgement, verdict, verdict, reason)
            self.log.judged(quality, self.options, self.now_ns)


def test_a_hold_has_a_line_when_it_begins_and_one_when_it_ends() -> None:
    camera = Camera()
    camera.show("", "dark", "dark", "")
    assert camera.lines == [
        ("warning", "top: a hold begins, REJECT: dark"),
        ("info", "top: the hold ends after 0.10 s"),
    ]
    assert camera.log.why_slow() == ""


def test_leases_that_are_shorter_than_the_period_are_named_once_with_a_value_to_set() -> None:
    camera = Camera()
    camera.show(*[""] * 8, period_ms=200)
    slow = f"top arrives at 5.0 Hz and its leases last 0.12 s: set {SETTING} to 0.6"
    assert [camera.log.why_slow() for _ in range(3)] == [slow] * 3
    assert camera.lines == [("warning", slow)]
    camera.show(*[""] * 15)
    assert camera.log.why_slow() == ""


def test_where_many_images_are_lost_no_longer_lease_is_advised() -> None:
    camera = Camera()
    camera.show(*[""] * 8, period_ms=200)
    assert camera.log.why_slow(lost=8).startswith("top: 8 of 16 images were lost on the way: ")
    assert len(camera.lines) == 1
    assert "set" not in camera.lines[0][1].replace("offset", "")


@pytest.mark.parametrize("stops_time", [False, True])
def test_a_pause_without_an_image_is_a_hold_where_time_goes_on(*, stops_time: bool) -> None:
    camera = Camera(stops_time=stops_time)
    camera.show(*[""] * 8)
    camera.show("", period_ms=2000)
    ended = [] if stops_time else [("info", "top: a hold of 2.00 s ends, in which no image was judged")]
    assert camera.lines == ended


def test_a_camera_that_is_reported_as_silent_is_held_from_its_last_image_on() -> None:
    camera = Camera()
    camera.show("")
    camera.log.silent(camera.now_ns + 1000 * MS)
    camera.show("", period_ms=3000)
    assert camera.lines == [("info", "top: the hold ends after 3.00 s")]
