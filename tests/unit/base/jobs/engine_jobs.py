"""Jobs of an engine's workers: apart from the tests, so that a worker imports nothing else for them."""

from __future__ import annotations

import os
from pathlib import Path

from embodied_iqa.base.errors import InputError


def die_once(mark: Path, number: int) -> int:
    """End the worker with the third job, unless the file says that this has happened."""
    if number == 2 and not mark.exists():
        mark.touch()
        os._exit(9)
    return number


def no_space(number: int) -> int:
    """Fail with the fourth job as on a full disk."""
    if number == 3:
        raise InputError("cannot write /db/part: No space left on device", expected="room", got=0)
    return number


class TwoPartError(Exception):
    """Like errors of other libraries: it cannot be made of its message again."""

    def __init__(self, what: str, where: str) -> None:
        super().__init__(f"{what} at {where}")


def fail_oddly(number: int) -> int:
    """Fail with an error that cannot be unpickled."""
    raise TwoPartError(f"job {number}", "home")


def sign(folder: Path, number: int) -> int:
    """Leave a file that says which worker did the job."""
    (folder / f"{os.getpid()}-{number}").touch()
    return number


def wait_for(folder: Path, number: int) -> int:
    """Return once the next job is done; the fourth one waits for nobody."""
    fifo = folder / f"{number}"
    if number < 3:
        fifo.read_bytes()  # until the writer has closed it
    if number > 0:
        with (folder / f"{number - 1}").open("wb"):
            pass
    return number
