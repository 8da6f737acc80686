"""Processes that keep processors busy, beside what a test does."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

BUSY = "while True: pass"


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """Keep ``count`` processors busy; the processes end with the block, whatever happens in it."""
    with ExitStack() as held:
        for _number in range(count):
            process = held.enter_context(subprocess.Popen([sys.executable, "-c", BUSY]))
            held.callback(process.kill)
        yield
