"""Opens chunks that may be damaged, and packs messages into new ones."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mcap.records import Channel, McapRecord, Schema

from embodied_iqa.recording.compression import Buffer, Compression, compress, decompress, decompress_start
from embodied_iqa.recording.framing import ChunkParts, DamagedRecordError, MessageParts, messages_and_others
from embodied_iqa.recording.mcap_summary import ChunkContent

__all__ = ["OpenChunk", "open_chunk", "open_cut_chunk", "pack_chunk"]


@dataclass(frozen=True, slots=True)
class OpenChunk:
    """The plain contents of a chunk.

    Attributes:
        plain: The bytes of its records.
        messages: Where its messages lie.
        definitions: Its schemas and channels.
    """

    plain: Buffer
    messages: Sequence[MessageParts]
    definitions: Sequence[Schema | Channel]

    def message_bytes(self, message: MessageParts) -> memoryview:
        """Return a message's whole record."""
        return memoryview(self.plain)[message.offset : message.end]


def open_chunk(chunk: ChunkParts) -> OpenChunk:
    """Decompress and check a whole chunk.

    Raises:
        DamagedRecordError: Its checksum is wrong, or its contents make no sense.
    """
    try:
        plain = decompress(chunk.data, chunk.compression, chunk.plain_size)
    except ValueError as error:
        raise DamagedRecordError(str(error)) from error
    if chunk.crc and zlib.crc32(plain) != chunk.crc:
        raise DamagedRecordError("chunk with wrong checksum")
    return _sorted(plain, messages_and_others(plain))


def open_cut_chunk(chunk: ChunkParts) -> OpenChunk:
    """Return the whole messages at the beginning of a chunk whose end is missing: there may be none."""
    plain = decompress_start(chunk.data, chunk.compression)
    try:
        return _sorted(plain, messages_and_others(plain))
    except DamagedRecordError:
        return OpenChunk(b"", (), ())


def _sorted(plain: Buffer, found: Iterable[MessageParts | McapRecord]) -> OpenChunk:
    messages: list[MessageParts] = []
    definitions: list[Schema | Channel] = []
    for item in found:
        if isinstance(item, MessageParts):
            messages.append(item)
        elif isinstance(item, Schema | Channel):
            definitions.append(item)
    return OpenChunk(plain, messages, definitions)


def pack_chunk(
    parts: Sequence[Buffer],
    index: Mapping[int, Sequence[tuple[int, int]]],
    compression: Compression,
    zstd_level: int,
) -> ChunkContent:
    """Compress the records of a new chunk.

    Args:
        parts: Buffers whose concatenation is the chunk's records.
        index: Channel to ``(log_time_ns, offset)`` of each message.
        compression: How.
        zstd_level: Level of zstd.
    """
    crc = 0
    for part in parts:
        crc = zlib.crc32(part, crc)
    return ChunkContent(
        parts=compress(parts, compression, zstd_level),
        compression=compression.mcap_name,
        plain_size=sum(len(part) for part in parts),
        crc=crc,
        index=index,
    )
