"""A ROS domain of one's own: sessions on one machine must not hear each other."""

from __future__ import annotations

import fcntl
import os
import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from embodied_iqa.errors import InputError

__all__ = ["own_domain"]

_DOMAINS = range(1, 102)
"""What Linux leaves free of its ephemeral ports; 0 is everybody's."""


@contextmanager
def own_domain(folder: Path | None = None) -> Iterator[int]:
    """Hold a domain that no other session of ours on this machine holds.

    A file lock says who holds which; it goes with its process, whatever ends that.

    Args:
        folder: Where the locks are; None for the machine's folder for such things.

    Raises:
        InputError: All are taken, or the folder cannot be written.
    """
    folder = folder or Path(tempfile.gettempdir()) / "embodied_iqa_domains"
    try:
        domain, handle = _claim(folder)
    except OSError as error:
        raise InputError(f"cannot hold a ROS domain in {folder}: {error.strerror}") from error
    try:
        yield domain
    finally:
        os.close(handle)


def _claim(folder: Path) -> tuple[int, int]:
    """Return a free domain and the handle of its lock."""
    if not folder.exists():
        folder.mkdir(exist_ok=True)
        folder.chmod(0o1777)  # every user's sessions keep out of each other's way
    for domain in random.SystemRandom().sample(_DOMAINS, len(_DOMAINS)):
        path = folder / str(domain)
        if not path.exists():
            path.touch()
            path.chmod(0o666)
        handle = os.open(path, os.O_RDWR)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            continue
        return domain, handle
    raise InputError("all ROS domains of this machine are taken", expected="a free one; set ROS_DOMAIN_ID")
