"""Reading of single records from an MCAP file that may be cut short or damaged."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import BinaryIO, Final

from mcap.opcode import Opcode
from mcap.records import Attachment, Footer, McapRecord

from embodied_iqa.data.recording.framing import (
    FOOTER_BYTES,
    MAGIC,
    MESSAGE_PREFIX,
    RECORD_PREFIX,
    ChunkParts,
    DamagedRecordError,
    decode,
    split_chunk,
)

_LARGEST_RECORD: Final = 1 << 30
_KNOWN_OPCODES: Final = range(Opcode.HEADER, Opcode.DATA_END + 1)
_INDEX_HEAD: Final = struct.Struct("<HI")
_INDEX_ENTRY_BYTES: Final = 16
_DATA_END_BYTES: Final = 4
_LAST_CDR_KIND: Final = 0x0B  # of the representation identifiers in DDS-XTypes 1.3, table 60


@dataclass(frozen=True, slots=True)
class ScannedRecord:
    """A record of the file.

    Attributes:
        offset: Its first byte.
        end: First byte after it.
        opcode: Its kind.
        body: Its bytes without framing.
        value: Its content; None for kinds that are not needed and where it is damaged.
        damaged: Its bytes are not a valid record.
        whole: False for a chunk that is cut short.
    """

    offset: int
    end: int
    opcode: int
    body: bytes
    value: McapRecord | ChunkParts | None
    damaged: bool = False
    whole: bool = True

    @property
    def index_entries(self) -> int:
        """Number of messages in a message index; 0 for other kinds."""
        is_index = self.opcode == Opcode.MESSAGE_INDEX and not self.damaged
        return (len(self.body) - _INDEX_HEAD.size) // _INDEX_ENTRY_BYTES if is_index else 0


def summary_section(file: BinaryIO, size: int) -> list[ScannedRecord]:
    """Return the records of the summary section; empty where there is none or its checksum is wrong."""
    file.seek(max(0, size - len(MAGIC) - FOOTER_BYTES))
    tail = file.read()
    if len(tail) != FOOTER_BYTES + len(MAGIC) or not tail.endswith(MAGIC) or tail[0] != Opcode.FOOTER:
        return []
    footer = decode(Opcode.FOOTER, tail[RECORD_PREFIX.size : FOOTER_BYTES])
    end = size - len(tail)
    if not isinstance(footer, Footer) or not len(MAGIC) <= footer.summary_start < end:
        return []
    file.seek(footer.summary_start)
    section = file.read(end - footer.summary_start)
    head = tail[: FOOTER_BYTES - 4]
    if footer.summary_crc and zlib.crc32(head, zlib.crc32(section)) != footer.summary_crc:
        return []
    found: list[ScannedRecord] = []
    offset = footer.summary_start
    while offset < end:
        record = record_at(file, offset, end)
        if record is None or not record.whole:
            return []
        found.append(record)
        offset = record.end
    return found


def record_at(file: BinaryIO, offset: int, size: int) -> ScannedRecord | None:
    """Return the record at ``offset``, or None where the bytes there cannot be one."""
    file.seek(offset)
    head = file.read(RECORD_PREFIX.size)
    if len(head) < RECORD_PREFIX.size:
        return None
    opcode, length = RECORD_PREFIX.unpack(head)
    if opcode not in _KNOWN_OPCODES or length > _LARGEST_RECORD:
        return None
    body = file.read(length)
    end = offset + RECORD_PREFIX.size + length
    whole = len(body) == length
    try:
        value = _parse(opcode, body, whole=whole)
    except DamagedRecordError:
        if whole and _may_be_record(file, end, size):
            return ScannedRecord(offset, end, opcode, body, None, damaged=True)
        return None
    if opcode == Opcode.MESSAGE and not _may_be_record(file, end, size):
        return None
    return ScannedRecord(offset, end, opcode, body, value, whole=whole)


def _parse(opcode: int, body: bytes, *, whole: bool) -> McapRecord | ChunkParts | None:
    if opcode == Opcode.CHUNK:
        chunk = split_chunk(body)
        if whole and len(chunk.data) != chunk.data_size:
            raise DamagedRecordError("chunk record with wrong lengths")
        return chunk
    if not whole:
        raise DamagedRecordError("record is cut short")
    if opcode == Opcode.MESSAGE_INDEX:
        _check_message_index(body)
    elif opcode == Opcode.MESSAGE:
        _check_message(body)
    elif opcode == Opcode.DATA_END and len(body) != _DATA_END_BYTES:
        raise DamagedRecordError("data end with wrong length")
    value = decode(opcode, body)
    if isinstance(value, Attachment):
        _check_attachment(body)
    return value


def _check_message_index(body: bytes) -> None:
    if len(body) < _INDEX_HEAD.size or _INDEX_HEAD.unpack_from(body)[1] != len(body) - _INDEX_HEAD.size:
        raise DamagedRecordError("message index with wrong lengths")


def _check_message(body: bytes) -> None:
    """Check the beginning of the serialised data: a message outside a chunk has no checksum."""
    start = body[MESSAGE_PREFIX.size : MESSAGE_PREFIX.size + 2]
    if len(start) < 2 or start[0] != 0 or start[1] > _LAST_CDR_KIND:
        raise DamagedRecordError("message without serialised data")


def _check_attachment(body: bytes) -> None:
    crc = int.from_bytes(body[-4:], "little")
    if crc and crc != zlib.crc32(body[:-4]):
        raise DamagedRecordError("attachment with wrong checksum")


def _may_be_record(file: BinaryIO, offset: int, size: int) -> bool:
    if offset == size:
        return True
    file.seek(offset)
    head = file.read(RECORD_PREFIX.size)
    if len(head) < RECORD_PREFIX.size:
        return True
    opcode, length = RECORD_PREFIX.unpack(head)
    return opcode in _KNOWN_OPCODES and length <= _LARGEST_RECORD
