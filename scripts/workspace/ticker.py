"""Shows that set-up works while its commands write to the log only."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Self

__all__ = ["Ticker", "last_line"]

_TAIL_BYTES = 4096
_LINE_S = 10.0
"""Seconds between two lines where the output is not a terminal; a terminal has one line that changes."""


def last_line(log: Path) -> str:
    """The last line of a log that is not empty, or "" where there is none."""
    try:
        with log.open("rb") as stream:
            stream.seek(max(0, log.stat().st_size - _TAIL_BYTES))
            lines = stream.read().decode(errors="replace").split("\n")
    except OSError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


class Ticker:
    """Prints the seconds since a step began, and the last line of its log, until the step ends.

    Where the output is not a terminal, a line that was printed is not printed again.

    Args:
        log: What the commands of the step print.
        interval_s: Seconds between two signs of life; None for 1 in a terminal, 10 elsewhere.
    """

    def __init__(self, log: Path, interval_s: float | None = None) -> None:
        self._log = log
        self._in_place = sys.stdout.isatty()
        self._interval_s = interval_s or (1.0 if self._in_place else _LINE_S)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Self:
        self._begun = time.monotonic()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()
        if self._in_place:
            sys.stdout.write("\r\033[K")
            sys.stdout.flush()

    def _tick(self) -> None:
        before, after = ("\r\033[K", "") if self._in_place else ("", "\n")
        said = ""
        while not self._ended.wait(self._interval_s):
            newest = last_line(self._log)
            shown = f"  {newest}" if self._in_place or newest != said else ""
            said = newest
            line = f"  {time.monotonic() - self._begun:3.0f} s{shown}"
            sys.stdout.write(before + line[: shutil.get_terminal_size().columns - 1] + after)
            sys.stdout.flush()
