"""Contents of chunks that may be damaged."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mcap.opcode import Opcode
from mcap.records import Channel, Schema

from embodied_iqa.base.files import Buffer
from embodied_iqa.data.recording.compression import decompress, decompress_start
from embodied_iqa.data.recording.framing import (
    MESSAGE_PREFIX,
    RECORD_PREFIX,
    ChunkParts,
    DamagedRecordError,
    decode,
)


@dataclass(frozen=True, slots=True)
class MessageParts:
    """Position of a message in the plain bytes of a chunk.

    Attributes:
        channel_id: Its channel.
        log_time_ns: When it was recorded.
        offset: First byte of its record.
        end: First byte after its record.
    """

    channel_id: int
    log_time_ns: int
    offset: int
    end: int


@dataclass(frozen=True, slots=True)
class OpenChunk:
    """Plain contents of a chunk.

    Attributes:
        plain: The bytes of its records.
        messages: Positions of its messages.
        definitions: Its schemas and channels.
    """

    plain: Buffer
    messages: Sequence[MessageParts] = ()
    definitions: Sequence[Schema | Channel] = ()

    def message_bytes(self, message: MessageParts) -> memoryview:
        """Return a message's whole record."""
        return memoryview(self.plain)[message.offset : message.end]


def open_chunk(chunk: ChunkParts) -> OpenChunk:
    """Decompress and check a whole chunk.

    Raises:
        DamagedRecordError: Its checksum or its contents are wrong.
    """
    try:
        plain = decompress(chunk.data, chunk.compression, chunk.plain_size)
    except ValueError as error:
        raise DamagedRecordError(str(error)) from error
    if chunk.crc and zlib.crc32(plain) != chunk.crc:
        raise DamagedRecordError("chunk with wrong checksum")
    return parse_chunk(plain)


def open_cut_chunk(chunk: ChunkParts) -> OpenChunk:
    """Return the whole messages at the beginning of a chunk whose end is missing; there may be none."""
    try:
        return parse_chunk(decompress_start(chunk.data, chunk.compression))
    except DamagedRecordError:
        return OpenChunk(b"")


def parse_chunk(plain: Buffer) -> OpenChunk:
    """Find the records in the plain bytes of a chunk, up to the first one that is not whole.

    Raises:
        DamagedRecordError: A record is damaged.
    """
    found = list(_records(plain))
    return OpenChunk(
        plain,
        [item for item in found if isinstance(item, MessageParts)],
        [item for item in found if isinstance(item, Schema | Channel)],
    )


def _records(plain: Buffer) -> Iterator[object]:
    view = memoryview(plain)
    offset = 0
    while offset + RECORD_PREFIX.size <= len(view):
        opcode, size = RECORD_PREFIX.unpack_from(view, offset)
        body = offset + RECORD_PREFIX.size
        end = body + size
        if end > len(view):
            return
        if opcode == Opcode.MESSAGE:
            if size < MESSAGE_PREFIX.size:
                raise DamagedRecordError("message record with wrong lengths")
            channel_id, _, log_time_ns, _ = MESSAGE_PREFIX.unpack_from(view, body)
            yield MessageParts(channel_id, log_time_ns, offset, end)
        else:
            yield decode(opcode, view[body:end])
        offset = end
