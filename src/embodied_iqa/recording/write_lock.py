"""Lock that marks a recording as being written, so that readers do not take it for an interrupted one."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path


def mark_as_written(descriptor: int) -> None:
    """Mark a file as being written until its descriptor is closed; the system does so for a killed process.

    A file system without locks leaves it unmarked.
    """
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_being_written(path: Path) -> bool:
    """Return whether a process has marked a file; it is opened for reading only."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    else:
        return False
    finally:
        os.close(descriptor)
