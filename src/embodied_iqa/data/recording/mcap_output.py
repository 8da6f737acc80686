"""MCAP file under construction: every call appends whole records, or nothing."""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from mcap.records import (
    Attachment,
    AttachmentIndex,
    Channel,
    DataEnd,
    Header,
    MessageIndex,
    Metadata,
    MetadataIndex,
    Schema,
)

from embodied_iqa.base.errors import InternalError
from embodied_iqa.base.files import Buffer
from embodied_iqa.data.recording.disk_reserve import FULL, DiskReserve, disk_text
from embodied_iqa.data.recording.errors import RecordingWriteError
from embodied_iqa.data.recording.framing import MAGIC, encode
from embodied_iqa.data.recording.mcap_summary import ChunkContent, Summary
from embodied_iqa.data.recording.write_lock import mark_as_written

_INDEX_OF_CHUNK_BYTES: Final = 64 * 1024
"""More than the index of one chunk, statistics and footer."""
_MOST_PARTS: Final = 512  # of one write; below every system's IOV_MAX


class McapOutput:
    """A new MCAP file with profile ``ros2``. Not thread-safe.

    Schemas and channels are written outside chunks: they precede the first message and survive a damaged
    chunk. When a write fails (disk full), the file is truncated to the last whole record, so that records
    written later are readable. The space of the index is reserved, so that a full disk holds it too.

    Args:
        path: The file; it must not exist.
        library: Name of the writing program.

    Raises:
        RecordingWriteError: The file exists or cannot be created.
    """

    def __init__(self, path: Path, library: str) -> None:
        self.path = path
        self._descriptor: int | None = _create(path)
        self._rests = False
        self._offset = 0
        self._crc = 0
        self._summary = Summary()
        self._reserve: DiskReserve | None = None
        try:
            self._reserve = DiskReserve(path.parent)
            self._append([MAGIC, encode(Header("ros2", library))])
        except (OSError, RecordingWriteError) as error:
            self.abandon()
            path.unlink(missing_ok=True)
            raise _write_failed(path, error) if isinstance(error, OSError) else error from error

    @property
    def messages(self) -> int:
        """Messages written."""
        return sum(self._summary.counts.values())

    @property
    def is_open(self) -> bool:
        """Whether more records can be written."""
        return self._descriptor is not None or self._rests

    def rest(self) -> None:
        """Close the file until the next record, with nothing reserved: a process has few files open."""
        if self._descriptor is not None:
            self.abandon()
            self._rests = True

    def add_schema(self, schema: Schema) -> None:
        """Append a schema."""
        encoded = encode(schema)
        self._append([encoded])
        self._summary.schemas.append(encoded)

    def add_channel(self, channel: Channel) -> None:
        """Append a channel; its schema was appended before."""
        encoded = encode(channel)
        self._append([encoded])
        self._summary.channels.append(encoded)
        self._summary.counts.setdefault(channel.id, 0)

    def add_metadata(self, name: str, values: Mapping[str, str]) -> None:
        """Append a metadata record."""
        offset, encoded = self._offset, encode(Metadata(name, dict(values)))
        self._append([encoded])
        self._summary.metadata.append(encode(MetadataIndex(offset, len(encoded), name)))

    def add_attachment(self, attachment: Attachment) -> None:
        """Append an attachment."""
        offset, encoded = self._offset, encode(attachment)
        self._append([encoded])
        index = AttachmentIndex(
            offset=offset,
            length=len(encoded),
            log_time=attachment.log_time,
            create_time=attachment.create_time,
            data_size=len(attachment.data),
            name=attachment.name,
            media_type=attachment.media_type,
        )
        self._summary.attachments.append(encode(index))

    def add_chunk(self, content: ChunkContent) -> None:
        """Append a chunk and the index of its messages."""
        self._hold_index()
        prefix = content.prefix()
        indexes = [encode(MessageIndex(key, list(entries))) for key, entries in content.index.items()]
        offset = self._offset
        self._append([prefix, *content.parts, *indexes])
        index_sizes = [len(index) for index in indexes]
        self._summary.add_chunk(content, offset, len(prefix) + content.data_size, index_sizes)

    def sync(self) -> None:
        """Wait until the disk has everything written so far, to survive a loss of power."""
        try:
            os.fsync(self._open_descriptor())
        except OSError as error:
            raise _write_failed(self.path, error) from error

    def finish(self, *, sync: bool = False) -> None:
        """Append the index and close the file; may be called twice.

        Args:
            sync: Also wait for the disk.

        Raises:
            RecordingWriteError: The disk is full: the file is closed without an index and can be recovered.
        """
        if not self.is_open:
            return
        self._release()
        try:
            data_end = encode(DataEnd(self._crc))
            self._append([data_end, self._summary.encode(self._offset + len(data_end)), MAGIC])
            if sync:
                self.sync()
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Close the file as it is, without an index; may be called twice."""
        self._release()
        descriptor, self._descriptor, self._rests = self._descriptor, None, False
        if descriptor is not None:
            os.close(descriptor)

    def _hold_index(self) -> None:
        """Reserve space for the index.

        Raises:
            RecordingWriteError: The disk is full.
        """
        if self._reserve is not None:
            try:
                self._reserve.hold(self._summary.size + _INDEX_OF_CHUNK_BYTES)
            except OSError as error:
                raise _write_failed(self.path, error) from error

    def _release(self) -> None:
        reserve, self._reserve = self._reserve, None
        if reserve is not None:
            reserve.release()

    def _append(self, parts: Sequence[Buffer]) -> None:
        descriptor = self._open_descriptor()
        try:
            written = _write_all(descriptor, parts)
        except OSError as error:
            os.ftruncate(descriptor, self._offset)
            os.lseek(descriptor, self._offset, os.SEEK_SET)
            raise _write_failed(self.path, error) from error
        self._offset += written
        for part in parts:
            self._crc = zlib.crc32(part, self._crc)

    def _open_descriptor(self) -> int:
        if self._descriptor is None:
            if not self._rests:
                raise InternalError(f"{self.path} is closed")
            self._descriptor, self._rests = _reopened(self.path, self._offset), False
        return self._descriptor


def _create(path: Path) -> int:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    except FileExistsError:
        raise RecordingWriteError(path, "already exists; a recording never overwrites") from None
    except OSError as error:
        raise RecordingWriteError(path, f"cannot create the recording: {error.strerror}") from error
    mark_as_written(descriptor)
    return descriptor


def _reopened(path: Path, offset: int) -> int:
    """Open a file that rested, at the end of what was written."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        if os.fstat(descriptor).st_size != offset:
            os.close(descriptor)
            raise RecordingWriteError(path, "was changed while it was written")
        os.lseek(descriptor, offset, os.SEEK_SET)
    except OSError as error:
        raise _write_failed(path, error) from error
    mark_as_written(descriptor)
    return descriptor


def _write_failed(path: Path, error: OSError) -> RecordingWriteError:
    reason = disk_text(path) if error.errno in FULL else error.strerror
    return RecordingWriteError(path, f"cannot write the recording: {reason}")


def _write_all(descriptor: int, parts: Sequence[Buffer]) -> int:
    """Write all parts in as many calls as needed; return the number of bytes."""
    pending = [memoryview(part) for part in parts if len(part)]
    total = sum(len(part) for part in pending)
    while pending:
        written = os.writev(descriptor, pending[:_MOST_PARTS])
        while pending and written >= len(pending[0]):
            written -= len(pending.pop(0))
        if written:
            pending[0] = pending[0][written:]
    return total
