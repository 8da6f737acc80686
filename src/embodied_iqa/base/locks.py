"""Exclusive locks of files; the system releases those of a killed process."""

from __future__ import annotations

import fcntl
import time
from pathlib import Path
from typing import IO, Any, Final

from embodied_iqa.base.errors import InputError

_WAIT_S: Final = 5.0
_POLL_S: Final = 0.005


def take_lock(stream: IO[Any] | int, *, wait_s: float = 0.0) -> bool:
    """Exclude others from an open file until it is closed; return False where another process keeps it.

    Args:
        stream: The open file or its descriptor, or one beside the file that stands for it.
        wait_s: For how long to try again [s].

    Raises:
        OSError: The file system has no locks.
    """
    until_s = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until_s:
                return False
            time.sleep(_POLL_S)
        else:
            return True


def wait_for_lock(stream: IO[Any], path: Path) -> None:
    """Exclude others from a file that is written briefly, until the stream is closed.

    Args:
        stream: The open file, or one beside it that stands for it.
        path: The file, for the message.

    Raises:
        InputError: Another process keeps the lock for 5 s.
    """
    if not take_lock(stream, wait_s=_WAIT_S):
        raise InputError(f"another process keeps {path} locked for {_WAIT_S:g} s")
