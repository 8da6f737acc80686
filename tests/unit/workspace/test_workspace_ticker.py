"""Set-up shows that it works while its commands are silent."""

import time
from pathlib import Path

import pytest

from workspace.ticker import Ticker, last_line


def test_last_line_of_a_log(tmp_path: Path) -> None:
    log = tmp_path / "setup.log"
    assert last_line(log) == ""
    log.write_text("x" * 9000 + "\n [ 45%] Building\n\n")
    assert last_line(log) == "[ 45%] Building"


def test_seconds_and_the_last_line_are_printed_until_the_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "setup.log"
    log.write_text("Downloading torch\n")
    said, deadline = "", time.monotonic() + 30
    with Ticker(log, interval_s=0.01):
        while "Downloading torch" not in said and time.monotonic() < deadline:
            said += capsys.readouterr().out
    assert "0 s  Downloading torch\n" in said
    capsys.readouterr()
    assert not capsys.readouterr().out, "nothing follows"
