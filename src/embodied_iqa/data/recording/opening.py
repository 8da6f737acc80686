"""Opening of recordings for reading, with one-line errors where that fails."""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

import zstandard
from mcap.exceptions import McapError
from mcap.reader import SeekingReader
from mcap.stream_reader import CRCValidationError
from mcap.summary import Summary

from embodied_iqa.data.recording.errors import RecordingReadError
from embodied_iqa.data.recording.framing import FOOTER_BYTES, MAGIC
from embodied_iqa.data.recording.scanned_record import summary_section

_DAMAGE: Final = (
    McapError,
    CRCValidationError,
    struct.error,
    UnicodeDecodeError,
    KeyError,
    ValueError,
    RuntimeError,
    MemoryError,
    OverflowError,
    zstandard.ZstdError,
)
"""Errors of the mcap library on damaged bytes."""


def recording_file(path: Path) -> Path:
    """Return the file of a recording: ``path`` itself, or the one ``.mcap`` in a folder of ``ros2 bag``.

    Raises:
        RecordingReadError: The folder holds no ``.mcap`` or several.
    """
    if not path.is_dir():
        return path
    files = sorted(path.glob("*.mcap"))
    if len(files) != 1:
        available = [file.name for file in files] or ["none"]
        expected = "a recording (.mcap), or a folder with one"
        raise RecordingReadError(path, "is a folder", expected=expected, available=available)
    return files[0]


def open_recording(path: Path) -> BinaryIO:
    """Open a file that begins as an MCAP file does.

    Raises:
        RecordingReadError: It cannot be opened, is empty, or has another format.
    """
    try:
        file = path.open("rb")
    except OSError as error:
        raise RecordingReadError(path, f"cannot be read: {error.strerror}") from error
    start = file.read(len(MAGIC))
    if start != MAGIC:
        file.close()
        message = "is not an MCAP file" if start else "is empty"
        raise RecordingReadError(path, message, expected="a recording (.mcap)")
    file.seek(0)
    return file


def checked_summary(path: Path, file: BinaryIO, reader: SeekingReader) -> Summary:
    """Return the summary of a whole, indexed recording with profile ``ros2``.

    Raises:
        RecordingReadError: It is cut short, of another profile, damaged, or has no index.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - len(MAGIC)))
    if size < 2 * len(MAGIC) + FOOTER_BYTES or file.read() != MAGIC:
        raise _repairable(path, "is cut short")
    with reporting_damage(path):
        profile = reader.get_header().profile
        summary = reader.get_summary()
        section = summary_section(file, size)
    if profile != "ros2":
        raise RecordingReadError(path, "is another kind of MCAP", expected="profile 'ros2'", got=profile)
    if summary is not None and not section:
        raise _repairable(path, "is damaged (the index has a wrong checksum)")
    if summary is None or not _is_index(summary):
        raise _repairable(path, "has no index")
    return summary


@contextmanager
def reporting_damage(path: Path) -> Iterator[None]:
    """Turn the mcap library's errors on damaged bytes into ours.

    Raises:
        RecordingReadError: The file is damaged.
    """
    try:
        yield
    except _DAMAGE as error:
        raise _repairable(path, f"is damaged ({error})") from error
    except OSError as error:
        if error.errno == errno.EINVAL:  # the bytes name a place beyond every file
            raise _repairable(path, f"is damaged ({error.strerror})") from error
        raise RecordingReadError(path, f"cannot be read: {error.strerror}") from error


def _repairable(path: Path, fault: str) -> RecordingReadError:
    return RecordingReadError(path, f"{fault}; repair it with: embodied-iqa recover {path}")


def _is_index(summary: Summary) -> bool:
    statistics = summary.statistics
    return statistics is not None and (statistics.message_count == 0 or bool(summary.chunk_indexes))
