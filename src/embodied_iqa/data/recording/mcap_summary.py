"""Summary section of an MCAP file: the index by which readers seek."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import Self

from mcap.data_stream import ReadDataStream
from mcap.opcode import Opcode
from mcap.records import ChunkIndex, Footer, Statistics, SummaryOffset

from embodied_iqa.base.files import Buffer
from embodied_iqa.data.recording.compression import Compression, compress
from embodied_iqa.data.recording.framing import CHUNK_PREFIX, LENGTH, RECORD_PREFIX, encode


@dataclass(frozen=True, slots=True)
class ChunkContent:
    """A compressed chunk and the positions of its messages.

    Attributes:
        parts: Buffers whose concatenation is the compressed data.
        compression: The compression's name in the format: ``""``, ``"lz4"`` or ``"zstd"``.
        plain_size: Bytes before compression.
        crc: CRC-32 of the plain bytes.
        index: Channel to ``(log_time_ns, offset in the plain bytes)`` of each message.
    """

    parts: Sequence[Buffer]
    compression: str
    plain_size: int
    crc: int
    index: Mapping[int, Sequence[tuple[int, int]]]

    @classmethod
    def pack(
        cls,
        plain: Sequence[Buffer],
        index: Mapping[int, Sequence[tuple[int, int]]],
        compression: Compression,
        zstd_level: int,
    ) -> Self:
        """Compress the records of a new chunk, the concatenation of the buffers in ``plain``."""
        crc = 0
        for part in plain:
            crc = zlib.crc32(part, crc)
        parts = compress(plain, compression, zstd_level)
        return cls(parts, compression.mcap_name, sum(len(part) for part in plain), crc, index)

    @property
    def data_size(self) -> int:
        """Bytes of the compressed data."""
        return sum(len(part) for part in self.parts)

    @property
    def start_ns(self) -> int:
        """First log time; 0 without messages."""
        return min((time_ns for entries in self.index.values() for time_ns, _ in entries), default=0)

    @property
    def end_ns(self) -> int:
        """Last log time; 0 without messages."""
        return max((time_ns for entries in self.index.values() for time_ns, _ in entries), default=0)

    def prefix(self) -> bytes:
        """Return all bytes of the chunk record that come before its compressed data."""
        name, size = self.compression.encode(), self.data_size
        body = CHUNK_PREFIX.pack(self.start_ns, self.end_ns, self.plain_size, self.crc, len(name))
        body += name + LENGTH.pack(size)
        return RECORD_PREFIX.pack(Opcode.CHUNK, len(body) + size) + body


@dataclass(slots=True)
class Summary:
    """Contents of the summary section. Indexes are kept encoded: 100 bytes instead of an object each."""

    schemas: list[bytes] = field(default_factory=list)
    channels: list[bytes] = field(default_factory=list)
    chunks: list[bytes] = field(default_factory=list)
    attachments: list[bytes] = field(default_factory=list)
    metadata: list[bytes] = field(default_factory=list)
    counts: dict[int, int] = field(default_factory=dict)
    chunks_size: int = 0
    start_ns: int | None = None
    end_ns: int = 0

    @property
    def size(self) -> int:
        """Bytes of the indexes so far."""
        others = (*self.schemas, *self.channels, *self.attachments, *self.metadata)
        return self.chunks_size + sum(map(len, others))

    def add_chunk(
        self, content: ChunkContent, offset: int, chunk_size: int, index_sizes: Sequence[int]
    ) -> None:
        """Add a chunk that was written at ``offset``, followed by message indexes of these sizes."""
        offsets, position = {}, offset + chunk_size
        for channel_id, size in zip(content.index, index_sizes, strict=True):
            offsets[channel_id] = position
            position += size
        record = ChunkIndex(
            chunk_length=chunk_size,
            chunk_start_offset=offset,
            compression=content.compression,
            compressed_size=content.data_size,
            message_end_time=content.end_ns,
            message_index_length=sum(index_sizes),
            message_index_offsets=offsets,
            message_start_time=content.start_ns,
            uncompressed_size=content.plain_size,
        )
        self.chunks.append(encode(record))
        self.chunks_size += len(self.chunks[-1])
        self._count(content)

    def _count(self, content: ChunkContent) -> None:
        if content.index:
            self.start_ns = (
                content.start_ns if self.start_ns is None else min(content.start_ns, self.start_ns)
            )
            self.end_ns = max(content.end_ns, self.end_ns)
        for channel_id, entries in content.index.items():
            self.counts[channel_id] = self.counts.get(channel_id, 0) + len(entries)

    def statistics(self) -> Statistics:
        """Return the statistics record."""
        return Statistics(
            attachment_count=len(self.attachments),
            channel_count=len(self.channels),
            channel_message_counts=self.counts,
            chunk_count=len(self.chunks),
            message_count=sum(self.counts.values()),
            message_end_time=self.end_ns,
            message_start_time=self.start_ns or 0,
            metadata_count=len(self.metadata),
            schema_count=len(self.schemas),
        )

    def encode(self, offset: int) -> bytes:
        """Return summary, summary offsets and footer of a file whose data section ends at ``offset``."""
        groups = {
            Opcode.SCHEMA: self.schemas,
            Opcode.CHANNEL: self.channels,
            Opcode.STATISTICS: [encode(self.statistics())],
            Opcode.CHUNK_INDEX: self.chunks,
            Opcode.ATTACHMENT_INDEX: self.attachments,
            Opcode.METADATA_INDEX: self.metadata,
        }
        section, offsets = bytearray(), bytearray()
        for opcode, records in groups.items():
            start = len(section)
            section += b"".join(records)
            if records:
                offsets += encode(SummaryOffset(opcode, offset + start, len(section) - start))
        offsets_start = offset + len(section)
        section += offsets
        head = struct.pack("<BQQQ", Opcode.FOOTER, 20, offset, offsets_start)
        return bytes(section) + encode(Footer(offset, offsets_start, zlib.crc32(head, zlib.crc32(section))))


def statistics_counts(body: bytes) -> dict[int, int]:
    """Return each channel's number of messages, where above 0, from the body of a statistics record."""
    counts = Statistics.read(ReadDataStream(BytesIO(body))).channel_message_counts
    return {channel_id: count for channel_id, count in counts.items() if count}
