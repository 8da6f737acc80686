"""Atomic writing of files, also if the power fails or the disk is full."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from embodied_iqa.base.errors import InputError

Buffer = bytes | bytearray | memoryview
"""Contiguous bytes that can be written to a file."""

PART_SUFFIX: Final = ".part"
IMAGE_PART_SUFFIX: Final = ".partial"
"""Of images that `imaging.images.codecs` has not finished."""
_CHUNK_BYTES: Final = 1 << 20


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let ``write`` fill a new file, sync it to the disk, and rename it.

    The unfinished file is beside the target, with this process's id in its name, so that two processes may
    write the same file: the last one wins.

    Args:
        path: The file; a missing folder is created.
        write: Called with the path to write.

    Raises:
        InputError: The file cannot be written; nothing is left behind.
    """
    fresh = path.with_name(f".{path.name}.{os.getpid()}{PART_SUFFIX}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(fresh)
        with fresh.open("rb") as stream:
            os.fsync(stream.fileno())
        os.replace(fresh, path)  # noqa: PTH105 - one call that says what it is for
    except OSError as error:
        with suppress(OSError):  # also where the folder is a file
            fresh.unlink()
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def require_writable(path: Path) -> None:
    """Check that a file or folder can be written, before long work whose result would be lost.

    Args:
        path: It need not exist, and neither do the folders above it.

    Raises:
        InputError: The nearest folder that exists cannot be written to.
    """
    folder = path
    while not folder.is_dir() and folder != folder.parent:
        folder = folder.parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from error


def require_empty(out: Path, what: str = "a new or empty folder") -> None:
    """Check that results get a folder of their own.

    Args:
        out: The folder; it need not exist.
        what: What is expected.

    Raises:
        InputError: It holds something, or is a file.
    """
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file", expected=what)
    if out.exists() and any(out.iterdir()):
        raise InputError(f"{out} is not empty", expected=what)


def write_text_whole(path: Path, text: str) -> None:
    """Write UTF-8 text."""
    write_whole(path, lambda fresh: fresh.write_text(text, encoding="utf-8"))


def json_text(tree: Any) -> str:
    """Return JSON with sorted keys: the same tree gives the same bytes."""
    return json.dumps(tree, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


def write_json_whole(path: Path, tree: Any) -> None:
    """Write JSON as `json_text` makes it."""
    write_text_whole(path, json_text(tree))


def remove_parts(folder: Path) -> int:
    """Remove unfinished files of killed writers; return their number."""
    found = [file for suffix in (PART_SUFFIX, IMAGE_PART_SUFFIX) for file in folder.rglob(f".*{suffix}")]
    for file in found:
        file.unlink(missing_ok=True)
    return len(found)


def is_pipe(path: Path) -> bool:
    """Return whether a path is a pipe or a device: one without a writer is read for ever."""
    try:
        mode = path.stat().st_mode
    except OSError:  # reported where it is read
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def refuse_pipe(path: Path) -> None:
    """Refuse a pipe or a device, see `is_pipe`.

    Raises:
        InputError: It is one.
    """
    if is_pipe(path):
        raise InputError(f"{str(path)!r} is no file, but a pipe or a device")


def sha256_of(path: Path) -> str:
    """Return the hash of a file's bytes, 64 hexadecimal digits.

    Raises:
        InputError: The file cannot be read.
    """
    refuse_pipe(path)
    digest = hashlib.sha256()
    try:
        with path.open("rb") as stream:
            while chunk := stream.read(_CHUNK_BYTES):
                digest.update(chunk)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    return digest.hexdigest()
