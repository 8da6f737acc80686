"""Space on a disk that is kept for the end of a file, so that a full disk leaves the file whole."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path
from typing import Final

FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
"""Errors of a full disk or quota."""

_LEAST_BYTES: Final = 256 * 1024


class DiskReserve:
    """A file without a name beside another one: its blocks are free again when the process ends.

    Args:
        folder: On the disk.

    Raises:
        OSError: The folder cannot be written, or the disk is full.
    """

    def __init__(self, folder: Path) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - open until `release`
        self._held = 0
        try:
            self.hold(1)
        except BaseException:
            self.release()
            raise

    def hold(self, size: int) -> None:
        """Hold at least this many bytes.

        Raises:
            OSError: The disk is full; what is held stays so.
        """
        if size <= self._held:
            return
        wanted = max(_LEAST_BYTES, 2 * size)
        try:
            os.posix_fallocate(self._file.fileno(), 0, wanted)
        except OSError as error:
            if error.errno in FULL:
                raise
        self._held = wanted  # also on file systems that reserve nothing: it is not tried again

    def release(self) -> None:
        """Give the space back; may be called twice."""
        self._file.close()


def disk_text(path: Path) -> str:
    """Return the place and the free space of the disk that a file is on, in words."""
    mount = path.resolve()
    while not mount.is_mount():
        mount = mount.parent
    space = os.statvfs(mount)
    free_mb, total_mb = (space.f_frsize * blocks / 1e6 for blocks in (space.f_bavail, space.f_blocks))
    return f"the disk at {mount} is full ({free_mb:,.1f} of {total_mb:,.0f} MB free)"
