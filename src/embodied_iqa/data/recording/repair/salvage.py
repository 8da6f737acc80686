"""Copy of the whole records of a damaged recording into a new file."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Sequence

from mcap.opcode import Opcode
from mcap.records import Attachment, Channel, Metadata, Schema

from embodied_iqa.base.files import Buffer
from embodied_iqa.data.recording.compression import DEFAULT_ZSTD_LEVEL, Compression
from embodied_iqa.data.recording.framing import RECORD_PREFIX, ChunkParts, DamagedRecordError
from embodied_iqa.data.recording.mcap_output import McapOutput
from embodied_iqa.data.recording.mcap_summary import ChunkContent
from embodied_iqa.data.recording.repair.chunks import OpenChunk, open_chunk, open_cut_chunk, parse_chunk
from embodied_iqa.data.recording.repair.scan import Gap
from embodied_iqa.data.recording.scanned_record import ScannedRecord

_LOOSE_BYTES = 64 * 1024


class Salvage:
    """Copy of a recording's whole records, with counts of what is lost.

    Args:
        output: The new file.
        summary: The old file's summary section, if it is whole: its schemas and channels take precedence.

    Attributes:
        cut_short: Whether no footer was seen.
        counts: Messages kept, by channel.
        damaged_chunks: Chunks left out.
        lost_messages: Messages known to be lost.
        skipped_bytes: Bytes that belong to no whole record.
        metadata: Metadata records kept.
        attachments: Attachments kept.
    """

    def __init__(self, output: McapOutput, summary: Sequence[ScannedRecord]) -> None:
        self._output = output
        self._schemas: dict[int, Schema] = {}
        self._channels: dict[int, Channel] = {}
        self._written_schemas: set[int] = set()
        self._written_channels: set[int] = set()
        self._loose: list[bytes] = []
        self._loose_bytes = 0
        self._in_data = True
        self._after_damage = False
        self.cut_short = True
        self.counts: Counter[int] = Counter()
        self.damaged_chunks = 0
        self.lost_messages = 0
        self.skipped_bytes = 0
        self.metadata = 0
        self.attachments = 0
        for record in summary:
            self._learn(record.value)

    @property
    def channels(self) -> list[Channel]:
        """Channels of the new file."""
        return [self._channels[key] for key in sorted(self._written_channels)]

    def add(self, item: ScannedRecord | Gap) -> None:
        """Copy the next part of the old file.

        Raises:
            RecordingWriteError: The new file cannot be written.
        """
        if isinstance(item, Gap):
            self.skipped_bytes += item.size
        elif item.damaged:
            self.skipped_bytes += item.end - item.offset
        elif item.opcode == Opcode.FOOTER:
            self.cut_short = False
        elif item.opcode == Opcode.DATA_END:
            self._in_data = False
        elif self._in_data:
            self._add_data(item)

    def finish(self) -> None:
        """Write the rest: loose messages, and channels without messages.

        Raises:
            RecordingWriteError: The new file cannot be written.
        """
        self._write_loose()
        for channel_id in sorted(self._channels):
            self._ensure_channel(channel_id)

    def _add_data(self, record: ScannedRecord) -> None:
        value = record.value
        if record.opcode == Opcode.MESSAGE:
            self._add_loose(record)
        elif isinstance(value, ChunkParts):
            self._add_chunk(record, value)
        elif isinstance(value, Metadata):
            self._output.add_metadata(value.name, value.metadata)
            self.metadata += 1
        elif isinstance(value, Attachment):
            self._output.add_attachment(value)
            self.attachments += 1
        elif self._after_damage:
            self.lost_messages += record.index_entries
        else:
            self._learn(value)

    def _add_chunk(self, record: ScannedRecord, chunk: ChunkParts) -> None:
        self._write_loose()
        self._after_damage = False
        if not record.whole:
            opened = open_cut_chunk(chunk)
            self.skipped_bytes += 0 if opened.messages else len(record.body) + RECORD_PREFIX.size
            self._repack(opened)
            return
        try:
            opened = open_chunk(chunk)
        except DamagedRecordError:
            self._after_damage = True
            self.damaged_chunks += 1
            self.skipped_bytes += record.end - record.offset
            return
        self._learn_all(opened.definitions)
        if all(self._ensure_channel(message.channel_id) for message in opened.messages):
            self._copy(chunk, opened)
        else:
            self._repack(opened)

    def _copy(self, chunk: ChunkParts, opened: OpenChunk) -> None:
        """Write a whole chunk as it is."""
        index: dict[int, list[tuple[int, int]]] = {}
        for message in opened.messages:
            index.setdefault(message.channel_id, []).append((message.log_time_ns, message.offset))
        crc = chunk.crc or zlib.crc32(opened.plain)
        self._write(ChunkContent([chunk.data], chunk.compression, len(opened.plain), crc, index))

    def _repack(self, opened: OpenChunk) -> None:
        """Write those messages of a chunk that have a channel, as a new chunk."""
        self._learn_all(opened.definitions)
        parts: list[Buffer] = []
        index: dict[int, list[tuple[int, int]]] = {}
        offset = 0
        for message in opened.messages:
            if not self._ensure_channel(message.channel_id):
                self.lost_messages += 1
                continue
            part = opened.message_bytes(message)
            index.setdefault(message.channel_id, []).append((message.log_time_ns, offset))
            parts.append(part)
            offset += len(part)
        self._write(ChunkContent.pack(parts, index, Compression.ZSTD, DEFAULT_ZSTD_LEVEL))

    def _write(self, content: ChunkContent) -> None:
        if not content.index:
            return
        self._output.add_chunk(content)
        for channel_id, entries in content.index.items():
            self.counts[channel_id] += len(entries)

    def _add_loose(self, record: ScannedRecord) -> None:
        """Gather messages outside chunks into a chunk: an index needs that."""
        self._loose.append(RECORD_PREFIX.pack(record.opcode, len(record.body)) + record.body)
        self._loose_bytes += len(record.body)
        if self._loose_bytes >= _LOOSE_BYTES:
            self._write_loose()

    def _write_loose(self) -> None:
        plain = b"".join(self._loose)
        self._loose, self._loose_bytes = [], 0
        self._repack(parse_chunk(plain))

    def _learn_all(self, records: Iterable[Schema | Channel]) -> None:
        for record in records:
            self._learn(record)

    def _learn(self, record: object) -> None:
        if isinstance(record, Schema):
            self._schemas.setdefault(record.id, record)
        elif isinstance(record, Channel):
            self._channels.setdefault(record.id, record)

    def _ensure_channel(self, channel_id: int) -> bool:
        """Write a channel and its schema unless they are written; return whether the channel is known."""
        if channel_id in self._written_channels:
            return True
        channel = self._channels.get(channel_id)
        if channel is None or (channel.schema_id and channel.schema_id not in self._schemas):
            return False
        if channel.schema_id and channel.schema_id not in self._written_schemas:
            self._output.add_schema(self._schemas[channel.schema_id])
            self._written_schemas.add(channel.schema_id)
        self._output.add_channel(channel)
        self._written_channels.add(channel_id)
        return True
