"""The log of holds: when a line is due, what it says, and how many there are."""

from __future__ import annotations

from collections.abc import Callable

from embodied_iqa.arm.verdict import GateMode, Verdict
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.hold_log import HoldLog

MS = 1_000_000
START_NS = 5_000 * MS


class Log:
    """A hold log, its lines, and a clock in ms."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []
        self.log = HoldLog(View.TOP, START_NS, self._taker("warning"), self._taker("info"))

    def _taker(self, level: str) -> Callable[[str], None]:
        return lambda line: self.lines.append((level, line))

    def judged(
        self, at_ms: float, verdict: Verdict, mode: GateMode = GateMode.ON, pause_ms: float = 500.0
    ) -> None:
        now_ns = START_NS + round(at_ms * MS)
        self.log.judged(now_ns, verdict, "" if verdict is Verdict.PASS else "blurred", mode, pause_ms * MS)

    def run(self, *verdicts: Verdict, from_ms: float = 0.0, period_ms: float = 33.0) -> None:
        for number, verdict in enumerate(verdicts):
            self.judged(from_ms + number * period_ms, verdict)


def test_a_hold_has_a_line_when_it_begins_and_one_when_it_ends() -> None:
    log = Log()
    log.run(Verdict.PASS, *[Verdict.REJECT] * 10, *[Verdict.PASS] * 5, period_ms=100.0)
    assert log.lines == [
        ("warning", "top: a hold begins, REJECT: blurred"),
        ("info", "top: the hold ends after 1.00 s"),
    ]


def test_a_verdict_that_changes_within_a_hold_has_no_line() -> None:
    log = Log()
    log.run(Verdict.HOLD, Verdict.REJECT, Verdict.HOLD, Verdict.PASS)
    assert [line for _, line in log.lines] == [
        "top: a hold begins, HOLD: blurred",
        "top: the hold ends after 0.10 s",
    ]


def test_a_mode_that_holds_nothing_says_so() -> None:
    log = Log()
    log.judged(0.0, Verdict.HOLD, GateMode.SHADOW)
    assert log.lines == [("warning", "top: a hold would begin (mode shadow), HOLD: blurred")]


def test_a_camera_that_stops_and_starts_has_a_pair_of_lines_a_second() -> None:
    log = Log()
    log.run(*[Verdict.REJECT, Verdict.PASS] * 150, period_ms=10.0)
    began = [line for level, line in log.lines if level == "warning"]
    assert len(log.lines) == 2 * len(began) == 6
    assert began[1:] == ["top: a hold begins, REJECT: blurred (49 shorter holds before it)"] * 2


def test_a_long_hold_soon_after_another_one_is_said_once_that_is_due() -> None:
    log = Log()
    log.run(Verdict.REJECT, Verdict.PASS, *[Verdict.REJECT] * 20, Verdict.PASS, period_ms=100.0)
    assert [line for _, line in log.lines] == [
        "top: a hold begins, REJECT: blurred",
        "top: the hold ends after 0.10 s",
        "top: a hold begins, REJECT: blurred",
        "top: the hold ends after 2.00 s",
    ], "from its beginning, not from its line"


def test_images_that_never_came_are_a_hold() -> None:
    log = Log()
    log.run(*[Verdict.PASS] * 3)
    log.judged(1046.0, Verdict.PASS)
    assert log.lines == [("info", "top: a hold of 0.98 s ends, in which no image was judged")]
    log.judged(1500.0, Verdict.PASS)
    assert len(log.lines) == 1, "a pause that a lease may outlast"
    log.judged(3000.0, Verdict.REJECT)
    log.judged(3100.0, Verdict.PASS)
    assert log.lines[-1] == ("info", "top: the hold ends after 1.60 s"), "from the last image before it"


def test_of_a_silent_camera_the_end_is_said() -> None:
    log = Log()
    log.run(*[Verdict.PASS] * 2, period_ms=100.0)
    for at_ms in (2200, 3200, 4200):
        log.log.silent(START_NS + at_ms * MS)
    assert not log.lines, "the camera has reported it"
    log.run(Verdict.PASS, Verdict.PASS, from_ms=4300.0)
    assert log.lines == [("info", "top: the hold ends after 4.20 s")]


def test_a_camera_that_was_silent_from_the_start_is_held_since_then() -> None:
    log = Log()
    log.log.silent(START_NS + 2500 * MS)
    log.judged(3000.0, Verdict.PASS)
    assert log.lines == [("info", "top: the hold ends after 3.00 s")]
