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
from contextlib import contextmanager
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
        frozen: list[int] = []
        try:
            frozen.extend(number for number in _running(run) if _signal(number, signal.SIGSTOP))
            ended.wait(freezes.length_s)
        finally:
            for number in frozen:
                _signal(number, signal.SIGCONT)


def _running(run: str) -> Iterator[int]:
    """The processes of a run, without those that a test has frozen itself: those stay as they are.

    They come by their ids, one after another: a test is mostly older than what it could freeze meanwhile.
    """
    for number in sorted(int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()):
        if _runs(Path(f"/proc/{number}"), f"{MARK}={run}".encode()):
            yield number


def _runs(process: Path, variable: bytes) -> bool:
    try:
        state = (process / "stat").read_bytes().rpartition(b")")[2].split()[0]  # a name may hold any bytes
        variables = (process / "environ").read_bytes().split(b"\0")
    except (OSError, IndexError):  # it has ended, or is another user's
        return False
    return state not in b"TtZX" and variable in variables


def _signal(number: int, what: signal.Signals) -> bool:
    try:
        os.kill(number, what)
    except ProcessLookupError:
        return False
    return True
