"""Jobs of a build's workers: apart from the tests, so that a worker imports nothing else for them."""

from __future__ import annotations

import os
from pathlib import Path

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.jobs.engine import BlockReport


def die_once(mark: Path, number: int) -> BlockReport:
    """End the worker with the third job, unless the file says that this has happened."""
    if number == 2 and not mark.exists():
        mark.touch()
        os._exit(9)
    return BlockReport(number, 1)


def no_space(number: int) -> BlockReport:
    """Fail with the fourth job as on a full disk."""
    if number == 3:
        raise InputError("cannot write /db/part: No space left on device", expected="room", got=0)
    return BlockReport(number, 1)


def sign(folder: Path, number: int) -> BlockReport:
    """Leave a file that says which worker did the job."""
    (folder / f"{os.getpid()}-{number}").touch()
    return BlockReport(number, 1)
