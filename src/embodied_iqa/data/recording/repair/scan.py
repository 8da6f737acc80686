"""Sequential scan of an MCAP file that may be damaged; resumes at the next chunk after damage."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final

from mcap.opcode import Opcode

from embodied_iqa.data.recording.framing import CHUNK_PREFIX, LENGTH, MAGIC, RECORD_PREFIX
from embodied_iqa.data.recording.scanned_record import ScannedRecord, record_at

_WINDOW_BYTES: Final = 8 << 20
_CHUNK_START: Final = re.compile(rb"\x06(?=.{36}(?:\x04\0\0\0zstd|\x03\0\0\0lz4|\0\0\0\0))", re.DOTALL)
"""Opcode, then length, times, size and CRC (36 bytes), then the compression's name."""
_CHUNK_START_BYTES: Final = RECORD_PREFIX.size + CHUNK_PREFIX.size + 4


@dataclass(frozen=True, slots=True)
class Gap:
    """Bytes that do not form a record.

    Attributes:
        offset: The first of them.
        size: Their number.
    """

    offset: int
    size: int


def scan(file: BinaryIO, size: int) -> Iterator[ScannedRecord | Gap]:
    """Read a file from its first record to its footer, or to its end.

    Args:
        file: An MCAP file.
        size: Its size in bytes.

    Yields:
        Whole records, gaps where the file is damaged, and a chunk that is cut short at the end.
    """
    offset = len(MAGIC)
    while offset < size:
        record = record_at(file, offset, size)
        if record is not None and record.whole:
            yield record
            offset = record.end
            if record.opcode == Opcode.FOOTER and not record.damaged:
                return
            continue
        found = _next_chunk(file, offset + 1, size)
        if found is None:
            yield record if record is not None else Gap(offset, size - offset)
            return
        yield Gap(offset, found - offset)
        offset = found


def _next_chunk(file: BinaryIO, start: int, size: int) -> int | None:
    """Return the offset of the next chunk record with consistent lengths that ends within the file."""
    for base in range(start, size, _WINDOW_BYTES):
        file.seek(base)
        window = file.read(_WINDOW_BYTES + _CHUNK_START_BYTES + 4)
        for match in _CHUNK_START.finditer(window):
            if match.start() < _WINDOW_BYTES and _is_chunk(file, base + match.start(), size):
                return base + match.start()
    return None


def _is_chunk(file: BinaryIO, offset: int, size: int) -> bool:
    file.seek(offset)
    head = file.read(_CHUNK_START_BYTES + 4 + LENGTH.size)
    try:
        _, length = RECORD_PREFIX.unpack_from(head)
        name_size = CHUNK_PREFIX.unpack_from(head, RECORD_PREFIX.size)[4]
        data_at = RECORD_PREFIX.size + CHUNK_PREFIX.size + name_size
        (data_size,) = LENGTH.unpack_from(head, data_at)
    except struct.error:
        return False
    fits = offset + RECORD_PREFIX.size + int(length) <= size
    return fits and bool(length == CHUNK_PREFIX.size + name_size + LENGTH.size + data_size)
