"""Text of a file, of limited size and in UTF-8, and what the messages about its content share."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from embodied_iqa.base.errors import InputError

_CHUNK_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a text; line and column are counted from 1."""

    line: int
    column: int

    def in_file(self, where: str) -> str:
        """Return the place as compilers write it."""
        return f"{where}:{self.line}:{self.column}"


def read_text(path: Path, what: str = "", *, most_bytes: int) -> str:
    """Return the text of a file, without a byte-order mark.

    Args:
        path: The file.
        what: What the file holds, for the message: ``the model card``.
        most_bytes: Largest size; no more is read, also from a pipe or a device.

    Raises:
        InputError: The file cannot be read, is too large, or is not UTF-8.
    """
    named = f"{what} {path}".lstrip()
    content = bytearray()  # grows in place: the text of a large file is in memory once
    too_large = InputError(f"{named} is too large", expected=f"at most {_size(most_bytes)}")
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size > most_bytes:
                raise too_large
            while chunk := file.read(_CHUNK_BYTES):
                content += chunk
                if len(content) > most_bytes:
                    raise too_large
    except OSError as error:
        raise InputError(f"cannot read {named}: {error.strerror}") from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        got = bytes(content[error.start : error.start + 1])
        raise InputError(f"{named} is not text: line {line}", expected="UTF-8", got=got) from None


def check_size(text: str, path: Path, what: str, *, most_bytes: int) -> None:
    """Check that a text that is to be written can be read again with the same limit.

    Raises:
        InputError: It is too large.
    """
    size = len(text.encode("utf-8"))
    if size > most_bytes:
        raise InputError(
            f"{what} {path} would be too large to be read again",
            expected=f"at most {_size(most_bytes)}",
            got=f"{size} bytes",
        )


def _size(count: int) -> str:
    """Return a number of bytes in the largest unit of which it is a multiple."""
    units = [(30, "GiB"), (20, "MiB"), (10, "KiB")]
    return next(
        (f"{count >> bits} {unit}" for bits, unit in units if not count % (1 << bits)), f"{count} bytes"
    )


def path_of(keys: Iterable[str | int]) -> str:
    """Return the way from the top of a file to a value: ``tasks[2].rank``."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys).removeprefix(".")


def doubled(where: str, keys: Iterable[str | int], first: Place, second: Place) -> InputError:
    """Return the error about a key that is written twice."""
    return InputError(
        f"{second.in_file(where)}: key {path_of(keys)} is written twice, "
        f"first in line {first.line}, column {first.column}"
    )
