"""SIGTERM and SIGHUP like Ctrl-C, so that what a command must undo is undone."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import parent_process


@contextmanager
def terminable() -> Iterator[None]:
    """Raise KeyboardInterrupt at SIGTERM and SIGHUP in a block.

    Nothing changes for a signal that is ignored (``nohup``), outside the main thread, and in a worker, which
    its pool ends by SIGTERM.
    """
    if threading.current_thread() is not threading.main_thread() or parent_process() is not None:
        yield
        return
    numbers = (signal.SIGTERM, signal.SIGHUP)
    heard = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, _interrupt) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt
