"""Lock of a database: one writer at a time."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from embodied_iqa.base.errors import InputError


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Exclude other writers from a database; the system releases the lock of a killed process.

    Raises:
        InputError: Another builder works in it, or the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / ".lock").open("w", encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write to {folder}: {error.strerror}") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(f"another builder works in {folder}", expected="one at a time") from None
        yield
