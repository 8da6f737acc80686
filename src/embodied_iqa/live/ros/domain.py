"""A separate ROS domain for each session on a machine."""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.locks import take_lock

_DOMAINS = range(1, 102)
"""Domains outside of the ephemeral ports of Linux; 0 is the default of all."""


@contextmanager
def own_domain(folder: Path | None = None) -> Iterator[int]:
    """Reserve a domain that no other session on this machine has reserved or uses.

    The reservation is a file lock, which ends with its process.

    Args:
        folder: Folder of the locks; None for one in the temporary folder of the machine.

    Raises:
        InputError: All domains are reserved, or the folder is not writable.
    """
    folder = folder or _shared_folder()
    try:
        domain, handle = _claim(folder)
    except OSError as error:
        raise InputError(f"cannot reserve a ROS domain in {folder}: {error.strerror}") from error
    try:
        yield domain
    finally:
        os.close(handle)


@contextmanager
def session_on(domain: str, folder: Path | None = None) -> Iterator[None]:
    """Allow one session at a time on a domain that the user has chosen: the nodes of two would mix.

    Args:
        domain: The domain.
        folder: As for `own_domain`.

    Raises:
        InputError: Another session on this machine uses it, or the folder is not writable.
    """
    folder = folder or _shared_folder()
    try:
        handle = _lock(folder, _session_name(domain))
    except OSError as error:
        raise InputError(f"cannot reserve a ROS domain in {folder}: {error.strerror}") from error
    if handle is None:
        raise InputError(
            f"another session on this machine uses ROS domain {domain}",
            expected="another ROS_DOMAIN_ID, or none where no cameras or drivers of others take part: "
            "`embodied-iqa trial` then takes a free one",
        )
    try:
        yield
    finally:
        os.close(handle)


def _shared_folder() -> Path:
    return Path(tempfile.gettempdir()) / "embodied_iqa_domains"


def _lock(folder: Path, name: str) -> int | None:
    """Return the handle of a lock file, or None where another process holds the lock."""
    if not folder.exists():
        folder.mkdir(exist_ok=True)
        folder.chmod(0o1777)  # shared by all users
    path = folder / name
    if not path.exists():
        path.touch()
        path.chmod(0o666)
    handle = os.open(path, os.O_RDWR)
    if not take_lock(handle):
        os.close(handle)
        return None
    return handle


def _session_name(domain: int | str) -> str:
    """Return the name of the lock of sessions on a domain that their user has chosen."""
    return f"{domain}.session"


def _claim(folder: Path) -> tuple[int, int]:
    """Return a free domain and the handle of its lock."""
    for domain in random.SystemRandom().sample(_DOMAINS, len(_DOMAINS)):
        handle = _lock(folder, str(domain))
        if handle is None:
            continue
        session = _lock(folder, _session_name(domain))
        if session is not None:
            os.close(session)
            return domain, handle
        os.close(handle)  # a session whose user has chosen this domain
    raise InputError("all ROS domains of this machine are reserved", expected="a free one; set ROS_DOMAIN_ID")
