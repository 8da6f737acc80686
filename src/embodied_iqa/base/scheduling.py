"""Scheduling of the threads of this process, kept from libraries that change it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_THREADS: Final = Path("/proc/self/task")


@contextmanager
def kept_scheduling() -> Iterator[None]:
    """Give this thread, and threads that start inside, the scheduling that this thread had before.

    SVT-AV1 asks for real-time priority for its threads and for the one that opens an encoder, which root
    gets: everything else on the machine waits, a robot's driver among it, and processes that start later
    inherit it.
    Does nothing where the system has no such scheduling.
    """
    if not hasattr(os, "sched_setscheduler") or not _THREADS.is_dir():
        yield
        return
    this = threading.get_native_id()
    policy, parameters = os.sched_getscheduler(this), os.sched_getparam(this)
    before = _threads()
    try:
        yield
    finally:
        for thread in (_threads() - before) | {this}:
            try:
                if os.sched_getscheduler(thread) != policy:
                    os.sched_setscheduler(thread, policy, parameters)
            except ProcessLookupError:  # it has ended
                continue


def _threads() -> set[int]:
    return {int(entry.name) for entry in _THREADS.iterdir()}
