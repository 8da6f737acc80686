"""Freezes all processes of a test run at once, as a host does whose processors are given to somebody else.

Busy processes slow everything down evenly; a frozen machine lets every deadline pass between two
instructions. Tests that compare a measured time, count what a timer has done or expect one message to
overtake another show themselves this way and in no other.
"""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

__all__ = ["MARK", "Freezes", "frozen_at_times"]

MARK = "EMBODIED_IQA_STRESS_RUN"
"""Variable that all processes of a run inherit, those of another session or process group too."""


@dataclass(frozen=True, slots=True)
class Freezes:
    """How long everything stands still, and how often.

    Attributes:
        length_s: Length of a freeze; 0: there are none.
        every_s: Mean time from the end of a freeze to the next.
    """

    length_s: float = 0.0
    every_s: float = 6.0


@contextmanager
def frozen_at_times(run: str, freezes: Freezes, seed: str) -> Iterator[None]:
    """Freeze the processes of a run at random times until the block ends.

    Args:
        run: Value of `MARK` in the processes' environment.
        freezes: Length and rate.
        seed: The times between freezes depend on nothing else.
    """
    if freezes.length_s <= 0:
        yield
        return
    ended = threading.Event()
    thread = threading.Thread(target=_freeze, args=(run, freezes, seed, ended))
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _freeze(run: str, freezes: Freezes, seed: str, ended: threading.Event) -> None:
    times = random.Random(seed)
    while not ended.wait(times.uniform(0, 2 * freezes.every_s)):
        frozen = [number for number in _running(run) if _signal(number, signal.SIGSTOP)]
        try:
            ended.wait(freezes.length_s)
        finally:
            for number in frozen:
                _signal(number, signal.SIGCONT)


def _running(run: str) -> list[int]:
    """The processes of a run, without those that a test has frozen itself: those stay as they are."""
    variable, found = f"{MARK}={run}".encode(), []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with suppress(OSError):  # it has ended, or is another user's
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            if state not in "TtZX" and variable in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
    return found


def _signal(number: int, what: signal.Signals) -> bool:
    try:
        os.kill(number, what)
    except ProcessLookupError:
        return False
    return True
