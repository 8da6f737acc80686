"""Recovery: a valid, indexed recording from one that was cut short at any byte or is damaged."""

from __future__ import annotations

import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from mcap.opcode import Opcode
from mcap.records import Channel, Header

from embodied_iqa.data.recording.disk_reserve import FULL, disk_text
from embodied_iqa.data.recording.errors import RecordingReadError, RecordingWriteError
from embodied_iqa.data.recording.framing import MAGIC, RECORD_PREFIX, ChunkParts, DamagedRecordError
from embodied_iqa.data.recording.mcap_output import McapOutput
from embodied_iqa.data.recording.mcap_summary import statistics_counts
from embodied_iqa.data.recording.opening import open_recording, recording_file, still_written
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.data.recording.repair.chunks import open_chunk
from embodied_iqa.data.recording.repair.salvage import Salvage
from embodied_iqa.data.recording.repair.scan import Gap, scan
from embodied_iqa.data.recording.scanned_record import ScannedRecord, summary_section
from embodied_iqa.data.recording.write_lock import is_being_written
from embodied_iqa.data.recording.writer import LIBRARY

Progress = Callable[[int, int], None]
"""Gets bytes done and bytes in all."""


@dataclass(frozen=True, slots=True)
class RecoveryReport:
    """Result of a recovery.

    Attributes:
        source: The file that was read.
        output: The file that was written; None where the source needs no repair.
        messages: Messages in the recovered file, by topic.
        metadata: Metadata records kept.
        attachments: Attachments kept.
        cut_short: Whether the source ends before its footer.
        damaged_chunks: Chunks left out because their checksum or contents are wrong.
        lost_messages: Messages known to be lost: in damaged chunks, or without a channel.
        skipped_bytes: Bytes of the source that belong to no whole record.
        compression: What ``ros2 bag`` compressed in an undamaged one, "files" or "messages", or empty.
    """

    source: Path
    output: Path | None
    messages: Mapping[str, int]
    metadata: int
    attachments: int
    cut_short: bool = False
    damaged_chunks: int = 0
    lost_messages: int = 0
    skipped_bytes: int = 0
    compression: str = ""

    @property
    def kept_messages(self) -> int:
        """Messages in the recovered file."""
        return sum(self.messages.values())


def recovered_name(path: Path) -> Path:
    """Return the default place of a recording's recovered copy: `<stem>.recovered.mcap` beside it."""
    return path.with_name(f"{Path(path.name.removesuffix('.zstd')).stem}.recovered.mcap")


def readable_file(path: Path) -> Path:
    """Return a recording, or if it is not whole its recovered copy beside it.

    Raises:
        RecordingReadError: Neither can be read.
    """
    try:
        TrialReader(path).close()
    except RecordingReadError:
        if not recovered_name(path).is_file():
            raise
        return recovered_name(path)
    return path


def recover(path: Path, output: Path | None = None, progress: Progress | None = None) -> RecoveryReport:
    """Write a valid, indexed file with everything that whole records of ``path`` hold.

    Whole chunks are copied as they are, chunks with a wrong checksum are left out, and a chunk that was cut
    short is used up to the cut. After damage to the file's structure, the next whole chunk is searched.

    Args:
        path: The file to repair, or a folder of ``ros2 bag`` with one; it is not changed.
        output: The file to write, whole or not at all; None for ``<stem>.recovered.mcap`` beside ``path``.
        progress: Gets bytes done and bytes in all.

    Returns:
        What was kept and lost; its ``output`` is None, and nothing is written, where ``path`` is undamaged.

    Raises:
        RecordingReadError: The file is missing, still being recorded, not an MCAP file, of another profile,
            or holds nothing.
        RecordingWriteError: The output exists or cannot be written.
    """
    path = recording_file(path)
    if is_being_written(path):
        raise still_written(path)
    target = output if output is not None else recovered_name(path)
    step = progress or (lambda _done, _total: None)
    with open_recording(path) as file:
        size = file.seek(0, os.SEEK_END)
        _check_profile(path, file, size)
        counts = verified_counts(file, size, step)
        if counts is not None:
            return _undamaged_report(path, file, size, counts)
        _check_free(target)
        return _rewrite(path, target, file, size, step)


def _check_free(target: Path) -> None:
    if target.exists():
        raise RecordingWriteError(target, "already exists; choose another name with --out")


def _check_profile(path: Path, file: BinaryIO, size: int) -> None:
    first = next(scan(file, size), None)
    if not isinstance(first, ScannedRecord) or not isinstance(first.value, Header):
        raise RecordingReadError(path, "was cut short before its first record: there is nothing to recover")
    if first.value.profile != "ros2":
        profile = first.value.profile
        raise RecordingReadError(path, "is another kind of MCAP", expected="profile 'ros2'", got=profile)


def _undamaged_report(path: Path, file: BinaryIO, size: int, counts: Mapping[int, int]) -> RecoveryReport:
    summary = summary_section(file, size)
    channels = [record.value for record in summary if isinstance(record.value, Channel)]
    kinds = Counter(record.opcode for record in summary)
    return RecoveryReport(
        source=path,
        output=None,
        messages=_by_topic(channels, counts),
        metadata=kinds[Opcode.METADATA_INDEX],
        attachments=kinds[Opcode.ATTACHMENT_INDEX],
        compression=_compression(path),
    )


def _compression(path: Path) -> str:
    with TrialReader(path) as reader:
        return reader.compression()


def _by_topic(channels: Iterable[Channel], counts: Mapping[int, int]) -> dict[str, int]:
    messages: Counter[str] = Counter()
    for channel in channels:
        messages[channel.topic] += counts.get(channel.id, 0)
    return dict(sorted(messages.items()))


def _salvaged(output: McapOutput, file: BinaryIO, size: int, progress: Progress) -> Salvage:
    """Write what can be read, and finish the output."""
    try:
        salvage = Salvage(output, summary_section(file, size))
        for item in scan(file, size):
            salvage.add(item)
            progress(item.offset, size)
        salvage.finish()
        output.finish(sync=True)
    finally:
        output.abandon()
    return salvage


def _rewrite(path: Path, target: Path, file: BinaryIO, size: int, progress: Progress) -> RecoveryReport:
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        output = McapOutput(partial, LIBRARY)
        salvage = _salvaged(output, file, size, progress)
        _check_free(target)
        partial.replace(target)
    except RecordingWriteError as error:
        if isinstance(error.__cause__, OSError) and error.__cause__.errno in FULL:
            raise RecordingWriteError(target, disk_text(target), expected="--out on another disk") from error
        raise
    finally:
        partial.unlink(missing_ok=True)
    progress(size, size)
    return RecoveryReport(
        source=path,
        output=target,
        messages=_by_topic(salvage.channels, salvage.counts),
        metadata=salvage.metadata,
        attachments=salvage.attachments,
        cut_short=salvage.cut_short,
        damaged_chunks=salvage.damaged_chunks,
        lost_messages=salvage.lost_messages,
        skipped_bytes=salvage.skipped_bytes,
    )


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
