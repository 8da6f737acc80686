"""Verification of a recording: every checksum, every count, every index entry."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable
from typing import BinaryIO

from mcap.opcode import Opcode

from embodied_iqa.data.recording.framing import MAGIC, RECORD_PREFIX, ChunkParts, DamagedRecordError
from embodied_iqa.data.recording.mcap_summary import statistics_counts
from embodied_iqa.data.recording.repair.chunks import open_chunk
from embodied_iqa.data.recording.repair.scan import Gap, scan
from embodied_iqa.data.recording.scanned_record import summary_section


def verified_counts(file: BinaryIO, size: int, progress: Callable[[int, int], None]) -> dict[int, int] | None:
    """Return how many messages each channel of a whole, indexed file has; None where it needs repair.

    Args:
        file: An MCAP file.
        size: Its size in bytes.
        progress: Gets bytes done and bytes in all.
    """
    summary = summary_section(file, size)
    statistics = next((record.body for record in summary if record.opcode == Opcode.STATISTICS), None)
    if statistics is None:
        return None
    indexed_chunks = sum(record.opcode == Opcode.CHUNK_INDEX for record in summary)
    counted = _count(file, size, progress)
    return counted[1] if counted == (indexed_chunks, statistics_counts(statistics)) else None


def _count(
    file: BinaryIO, size: int, progress: Callable[[int, int], None]
) -> tuple[int, dict[int, int]] | None:
    """Return the number of chunks and each channel's messages; None at the first damage."""
    chunks, counts = 0, Counter[int]()
    crc = zlib.crc32(MAGIC)
    for record in scan(file, size):
        if isinstance(record, Gap) or record.damaged or not record.whole:
            return None
        progress(record.end, size)
        if record.opcode == Opcode.DATA_END:
            stored_crc = int.from_bytes(record.body, "little")
            return (chunks, dict(counts)) if stored_crc in {0, crc} else None
        crc = zlib.crc32(record.body, zlib.crc32(RECORD_PREFIX.pack(record.opcode, len(record.body)), crc))
        if record.opcode == Opcode.MESSAGE:
            return None  # outside a chunk: no index leads to it
        if isinstance(record.value, ChunkParts):
            try:
                opened = open_chunk(record.value)
            except DamagedRecordError:
                return None
            chunks += 1
            counts.update(message.channel_id for message in opened.messages)
    return None
