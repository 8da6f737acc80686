"""Lock that marks a recording as being written, so that readers do not take it for an interrupted one.

Not that of `base.locks`, which nobody can look at without taking it.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from struct import Struct
from typing import Final

_LOCK: Final = Struct("hhqqi0q")
"""`struct flock` of Linux: type, whence, start, length, process."""


def mark_as_written(descriptor: int) -> None:
    """Mark a file as being written until its descriptor is closed; the system does so for a killed process.

    A file system without locks leaves it unmarked.
    """
    with suppress(OSError):
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, _whole_file(fcntl.F_WRLCK))


def is_being_written(path: Path) -> bool:
    """Return whether a process has marked a file; it is opened for reading only.

    The lock is queried and never taken: a recorder that starts meanwhile can still mark its file.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        found = fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, _whole_file(fcntl.F_RDLCK))
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return bool(_LOCK.unpack(found)[0] != fcntl.F_UNLCK)


def _whole_file(kind: int) -> bytes:
    return _LOCK.pack(kind, os.SEEK_SET, 0, 0, 0)
