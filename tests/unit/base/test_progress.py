"""Progress bars: on a terminal, and as plain lines where there is none."""

from __future__ import annotations

import io
import sys

import pytest

from embodied_iqa.base import progress
from embodied_iqa.base.progress import ProgressBars, track


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_short_work_prints_nothing_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(track("abc", "letters")) == ["a", "b", "c"]
    assert capsys.readouterr().err == ""


def test_long_work_prints_plain_lines_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = iter(range(0, 1000, 10))
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(now_s)))
    with ProgressBars() as bars, bars.paused():
        for done in range(5):
            bars.update("pairs", done * 1000, 4000, note="9 rows/s")
        bars.advance("pairs")
        bars.update("bytes", 1)
        assert bars.per_second("bytes", 20) == 2.0
    assert capsys.readouterr().err.splitlines() == [
        "pairs: 2,000 of 4,000: 9 rows/s",
        "pairs: 4,000 of 4,000: 9 rows/s",
        "bytes: 1",
    ]


def test_long_work_names_a_stage_as_it_begins(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = iter([0.0, 10.0, 20.0, 21.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(now_s))
    with ProgressBars() as bars:
        for stage in ("references", "tasks", "annotate"):
            bars.update(stage, 0, 2)
        bars.update("annotate", 1)
    assert capsys.readouterr().err.splitlines() == ["annotate: 0 of 2"]


def test_a_plain_line_is_printed_once_until_it_changes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = iter([0.0, 20.0, 40.0, 41.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(now_s))
    with ProgressBars() as bars:
        for title in ("starting", "opening", "opening", "reset"):
            bars.update("trial", 5, 7, title=title)
    assert capsys.readouterr().err.splitlines() == ["opening: 5 of 7", "reset: 5 of 7"]


@pytest.mark.parametrize("in_bytes", [False, True])
def test_a_terminal_shows_title_count_and_note(monkeypatch: pytest.MonkeyPatch, *, in_bytes: bool) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with ProgressBars(transient=False, in_bytes=in_bytes) as bars:
        bars.update("pairs", 1, 4, title="all pairs", note="slow")
        bars.advance("pairs", note="slower")
        with bars.paused():
            terminal.write("question?")
    shown = terminal.getvalue()
    assert ("2/4 bytes" if in_bytes else "2/4") in shown
    assert "slower" in shown
    assert "question?" in shown
