"""The end of a process within a time, also where native code never returns."""

from __future__ import annotations

import faulthandler
import os


def end_within(seconds: float) -> None:
    """End this process with exit code 1 unless it has ended before.

    Where another process died while it held a lock of the shared memory, Fast DDS never returns from
    destroying its participant. It keeps the interpreter's lock, so that no Python code could end the process.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)  # stays open: what is written there is no traceback of a bug
    faulthandler.dump_traceback_later(seconds, exit=True, file=nowhere)
