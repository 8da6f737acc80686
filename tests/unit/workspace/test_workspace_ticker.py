"""Set-up shows that it works while its commands are silent."""

import io
import queue
import threading
from pathlib import Path

import pytest

from live_process import COMPLETION_S
from workspace.ticker import Ticker, last_line


def test_last_line_of_a_log(tmp_path: Path) -> None:
    log = tmp_path / "setup.log"
    assert last_line(log) == ""
    log.write_text("x" * 9000 + "\n [ 45%] Building\n\n")
    assert last_line(log) == "[ 45%] Building"


class Printed(io.StringIO):
    """Standard output whose lines another thread waits for; `capsys` loses what is printed while it reads."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: queue.Queue[str] = queue.Queue()

    def write(self, text: str) -> int:
        self.lines.put(text)
        return len(text)


def test_seconds_and_the_last_line_are_printed_until_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, printed = tmp_path / "setup.log", Printed()
    threads = set(threading.enumerate())
    log.write_text("Downloading torch\n")
    monkeypatch.setattr("sys.stdout", printed)
    with Ticker(log, interval_s=0.01):
        said = ""
        while said.count(" s\n") < 2:
            said += printed.lines.get(timeout=COMPLETION_S)
        log.write_text("Downloading numpy\n")
        while "numpy" not in said:
            said += printed.lines.get(timeout=COMPLETION_S)
    assert "0 s  Downloading torch\n" in said
    assert said.count("torch") == said.count("numpy") == 1, "a line that stays is not said again"
    assert not set(threading.enumerate()) - threads, "nothing follows"
