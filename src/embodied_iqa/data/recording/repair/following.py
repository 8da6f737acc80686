"""Reading of a recording while it is being written: every call reads what was appended since the last one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from mcap.opcode import Opcode
from mcap.records import Channel, Metadata, Schema

from embodied_iqa.data.recording.decoding import RecordedTypes
from embodied_iqa.data.recording.errors import RecordingReadError
from embodied_iqa.data.recording.framing import (
    MAGIC,
    MESSAGE_PREFIX,
    RECORD_PREFIX,
    ChunkParts,
    DamagedRecordError,
)
from embodied_iqa.data.recording.opening import open_recording
from embodied_iqa.data.recording.recorded import RecordedMessage
from embodied_iqa.data.recording.repair.chunks import MessageParts, OpenChunk, open_chunk
from embodied_iqa.data.recording.scanned_record import ScannedRecord, record_at


@dataclass(frozen=True, slots=True)
class MessagePlace:
    """Where a recording holds a message.

    Attributes:
        chunk: Offset of its chunk in the file.
        parts: Its place in the plain bytes of the chunk.
    """

    chunk: int
    parts: MessageParts


class RecordingFollower:
    """A recording that grows. Whole records are read; one that is being written waits for the next call.

    The file is open only during a call, for reading. Not thread-safe.

    Args:
        path: The file; it may hold nothing yet.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._types = RecordedTypes(path)
        self._schemas: dict[int, Schema] = {}
        self._definitions: dict[str, str] = {}
        self._channels: dict[int, Channel] = {}
        self._metadata: dict[str, dict[str, str]] = {}
        self._position = len(MAGIC)

    @property
    def position(self) -> int:
        """Bytes of the file that were read."""
        return self._position

    @property
    def metadata(self) -> dict[str, dict[str, str]]:
        """The metadata records so far, by name."""
        return self._metadata

    @property
    def has_shrunk(self) -> bool:
        """Whether what was read is no longer there: a write to a full disk was taken back."""
        return len(MAGIC) < self._position and self._size() < self._position

    def read(self, most_bytes: int) -> Iterator[tuple[RecordedMessage, MessagePlace]]:
        """Iterate over the messages that were appended, in the order of the file.

        Args:
            most_bytes: The rest is left for the next call where at least this much was read.

        Raises:
            RecordingReadError: The file cannot be read.
        """
        if self._size() <= self._position:
            return
        with open_recording(self.path) as file:
            size = file.seek(0, os.SEEK_END)
            until = self._position + most_bytes
            while self._position < min(size, until):
                record = record_at(file, self._position, size)
                if record is None or not record.whole:
                    return
                self._position = record.end
                yield from self._messages(record)

    def cdr_at(self, place: MessagePlace) -> bytes:
        """Return the serialised message at a place that was read before.

        Raises:
            RecordingReadError: It is not there any more.
        """
        with open_recording(self.path) as file:
            opened = _chunk_at(file, place.chunk)
        if opened is None:
            raise RecordingReadError(self.path, "changed while it was read")
        return bytes(opened.message_bytes(place.parts)[RECORD_PREFIX.size + MESSAGE_PREFIX.size :])

    def decode(self, message: RecordedMessage) -> Any:
        """Return a message's fields as attributes (see `RecordedTypes`).

        Raises:
            RecordingReadError: The definition or the bytes are damaged.
        """
        return self._types.decode(message, self._definitions[message.type_name])

    def _size(self) -> int:
        try:
            return self.path.stat().st_size
        except OSError as error:
            raise RecordingReadError(self.path, f"cannot be read: {error.strerror}") from error

    def _messages(self, record: ScannedRecord) -> Iterator[tuple[RecordedMessage, MessagePlace]]:
        self._learn(record.value)
        if isinstance(record.value, Metadata):
            self._metadata.setdefault(record.value.name, {}).update(record.value.metadata)
        if not isinstance(record.value, ChunkParts):
            return
        try:
            opened = open_chunk(record.value)
        except DamagedRecordError:
            return
        for definition in opened.definitions:
            self._learn(definition)
        for parts in opened.messages:
            if (message := self._message(opened, parts)) is not None:
                yield message, MessagePlace(record.offset, parts)

    def _learn(self, value: object) -> None:
        if isinstance(value, Schema):
            self._schemas.setdefault(value.id, value)
            self._definitions.setdefault(value.name, value.data.decode("utf-8", "replace"))
        elif isinstance(value, Channel):
            self._channels.setdefault(value.id, value)

    def _message(self, opened: OpenChunk, parts: MessageParts) -> RecordedMessage | None:
        """Return a message; None without a channel or schema of it."""
        channel = self._channels.get(parts.channel_id)
        schema = self._schemas.get(channel.schema_id) if channel is not None else None
        if channel is None or schema is None or channel.message_encoding != "cdr":
            return None
        whole = opened.message_bytes(parts)
        _, sequence, log_ns, publish_ns = MESSAGE_PREFIX.unpack_from(whole, RECORD_PREFIX.size)
        cdr = bytes(whole[RECORD_PREFIX.size + MESSAGE_PREFIX.size :])
        return RecordedMessage(channel.topic, schema.name, log_ns, publish_ns, sequence, cdr)


def _chunk_at(file: BinaryIO, offset: int) -> OpenChunk | None:
    record = record_at(file, offset, file.seek(0, os.SEEK_END))
    if record is None or record.opcode != Opcode.CHUNK or not isinstance(record.value, ChunkParts):
        return None
    try:
        return open_chunk(record.value)
    except DamagedRecordError:
        return None
