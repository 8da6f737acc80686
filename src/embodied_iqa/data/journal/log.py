"""File of a journal: one JSON line a record, checked, appended under a lock and synced to the disk.

The checksum of a line covers the line and the checksum of the line before, so that a line that is changed,
missing or moved is found. A line without its end was cut while it was written: its writer was never told
that it is accepted. The next writer moves its bytes to a file beside the journal.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any, Final

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.locks import wait_for_lock

MAX_LINE_BYTES: Final = 1 << 16
"""Longest line, its end included."""
_CHECKSUM: Final = "checksum"
_DIGITS: Final = 16


@dataclass(frozen=True, slots=True)
class Position:
    """A place between two lines.

    Attributes:
        offset: Bytes before it.
        lines: Lines before it.
        checksum: Of the line before it; empty at the start.
    """

    offset: int = 0
    lines: int = 0
    checksum: str = ""


class JournalFile:
    """Reader and writer of a journal's lines; several processes may use the same file.

    Args:
        path: The file; it need not exist.

    Attributes:
        position: The end of what was read or written.
        checksums: Of the lines before it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.position = Position()
        self.checksums: list[str] = []

    @property
    def cut_file(self) -> Path:
        """Bytes of lines that were cut while they were written."""
        return self.path.with_suffix(".cut")

    def read(self) -> list[dict[str, Any]]:
        """Return the complete lines since the last call.

        Raises:
            InputError: A line is damaged, or the file is shorter than before or cannot be read.
        """
        try:
            with self.path.open("rb", buffering=0) as stream:
                return self._read(stream)
        except FileNotFoundError:
            if not self.position.lines:
                return []
            raise InputError(f"{self.path} is gone", expected=f"{self.position.lines} lines") from None
        except OSError as error:
            raise InputError(f"cannot read {self.path}: {error.strerror}") from None

    def cut_bytes(self) -> int:
        """Return the number of bytes after the last complete line that `read` returned."""
        size = self.path.stat().st_size if self.path.is_file() else 0
        return max(0, size - self.position.offset)

    @contextmanager
    def writing(self) -> Iterator[FileIO]:
        """Exclude other writers; the system releases the lock of a killed process.

        Raises:
            InputError: The file cannot be written, or another writer keeps the lock for too long.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            is_new = not self.path.exists()
            stream = self.path.open("a+b", buffering=0)
        except OSError as error:
            raise InputError(f"cannot write {self.path}: {error.strerror}") from None
        with stream:
            wait_for_lock(stream, self.path)
            if is_new:
                _sync_folder(self.path.parent)
            yield stream

    def catch_up(self, stream: FileIO) -> list[dict[str, Any]]:
        """Return new lines of a locked file; set the bytes of a cut last line aside."""
        found = self._read(stream)
        size = os.fstat(stream.fileno()).st_size
        if size > self.position.offset:
            stream.seek(self.position.offset)
            with self.cut_file.open("ab") as aside:
                aside.write(stream.readall() + b"\n")
                aside.flush()
                os.fsync(aside.fileno())
            stream.truncate(self.position.offset)
        return found

    def append(self, stream: FileIO, trees: Sequence[dict[str, Any]]) -> None:
        """Write lines to a locked file that `catch_up` has read; return when the disk has them.

        They are written at once: an error leaves none of them.

        Raises:
            UsageError: A line would be too long.
            InputError: The disk is full or fails; the file is as before.
        """
        before, lines, checksums = self.position, list[bytes](), list[str]()
        for tree in trees:
            checksums.append(_checksum(checksums[-1] if checksums else before.checksum, tree))
            line = _text({**tree, _CHECKSUM: checksums[-1]}) + b"\n"
            if len(line) > MAX_LINE_BYTES:
                expected = f"up to {MAX_LINE_BYTES} bytes"
                raise UsageError("an edit is too long", expected=expected, got=len(line))
            lines.append(line)
        data = b"".join(lines)
        try:
            written = stream.write(data)
            os.fsync(stream.fileno())
        except OSError as error:
            stream.truncate(before.offset)
            raise InputError(f"cannot write {self.path}: {error.strerror}") from None
        if written != len(data):
            stream.truncate(before.offset)
            raise InputError(f"cannot write {self.path}: {written} of {len(data)} bytes fit")
        for line, checksum in zip(lines, checksums, strict=True):
            self._pass(checksum, len(line))

    def _read(self, stream: FileIO) -> list[dict[str, Any]]:
        size = os.fstat(stream.fileno()).st_size
        if size < self.position.offset:
            raise InputError(f"{self.path} is shorter than before", expected=f"{self.position.offset} bytes")
        stream.seek(self.position.offset)
        data = bytearray()
        while len(data) < size - self.position.offset and (more := stream.read(size)):
            data += more
        found = []
        for line in bytes(data).split(b"\n")[:-1]:
            tree = self._checked(line)
            checksum = str(tree.pop(_CHECKSUM))
            self._pass(checksum, len(line) + 1)
            found.append(tree)
        return found

    def _pass(self, checksum: str, size: int) -> None:
        """Move the position behind a line."""
        self.checksums.append(checksum)
        self.position = Position(self.position.offset + size, self.position.lines + 1, checksum)

    def _checked(self, line: bytes) -> dict[str, Any]:
        """Return the content of a line whose checksum is right."""
        where = f"{self.path}:{self.position.lines + 1}"
        try:
            tree = json.loads(line)
        except ValueError:
            raise InputError(f"{where} is not JSON: the journal is damaged") from None
        if not isinstance(tree, dict) or len(line) >= MAX_LINE_BYTES:
            raise InputError(f"{where} is not a line of a journal")
        rest = {name: value for name, value in tree.items() if name != _CHECKSUM}
        if tree.get(_CHECKSUM) != _checksum(self.position.checksum, rest):
            raise InputError(f"{where} has a wrong checksum: this line or the one before was changed")
        return tree


def _checksum(before: str, tree: dict[str, Any]) -> str:
    return hashlib.sha256(before.encode() + _text(tree)).hexdigest()[:_DIGITS]


def _text(tree: dict[str, Any]) -> bytes:
    """Return JSON in ASCII: line ends inside of texts are escaped."""
    return json.dumps(tree, sort_keys=True, allow_nan=False, separators=(",", ":")).encode("ascii")


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
