"""MCAP records as bytes: framing, and the parts of a chunk without copying its data.

Format: https://mcap.dev/spec. Small records use the types of the `mcap` library.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from io import BytesIO
from typing import Any, Protocol

from mcap.data_stream import ReadDataStream, RecordBuilder
from mcap.exceptions import EndOfFile
from mcap.opcode import Opcode
from mcap.records import Attachment, Channel, Footer, Header, McapRecord, Metadata, Schema

from embodied_iqa.base.files import Buffer

MAGIC = b"\x89MCAP0\r\n"
RECORD_PREFIX = struct.Struct("<BQ")
"""Opcode and length of what follows."""
CHUNK_PREFIX = struct.Struct("<QQQII")
"""First and last log time (ns), plain size, CRC-32 of the plain bytes, length of the compression's name."""
MESSAGE_PREFIX = struct.Struct("<HIQQ")
"""Channel, sequence, log time (ns), publish time (ns)."""
FOOTER_BYTES = RECORD_PREFIX.size + 20
LENGTH = struct.Struct("<Q")


class DamagedRecordError(ValueError):
    """The bytes of a record do not form a record of its kind."""


class _Readable(Protocol):
    @staticmethod
    def read(stream: ReadDataStream) -> McapRecord: ...


_READERS: dict[int, type[_Readable]] = {
    Opcode.HEADER: Header,
    Opcode.FOOTER: Footer,
    Opcode.SCHEMA: Schema,
    Opcode.CHANNEL: Channel,
    Opcode.ATTACHMENT: Attachment,
    Opcode.METADATA: Metadata,
}


@dataclass(frozen=True, slots=True)
class ChunkParts:
    """Parts of a chunk record.

    Attributes:
        start_ns: Log time of its first message.
        end_ns: Log time of its last message.
        plain_size: Bytes of the records in it before compression.
        crc: CRC-32 of those bytes; 0 for none.
        compression: ``""``, ``"lz4"`` or ``"zstd"``.
        data: The compressed bytes; fewer than ``data_size`` where the record was cut short.
        data_size: Bytes that ``data`` should have.
    """

    start_ns: int
    end_ns: int
    plain_size: int
    crc: int
    compression: str
    data: memoryview
    data_size: int


def encode(record: McapRecord) -> bytes:
    """Return the bytes of a record, framing included."""
    builder: Any = RecordBuilder()  # its methods have no types
    record.write(builder)
    return bytes(builder.end())


def decode(opcode: int, body: Buffer) -> McapRecord | None:
    """Return a header, footer, schema, channel, attachment or metadata record; None for other kinds.

    Raises:
        DamagedRecordError: The body is not a record of this kind.
    """
    reader = _READERS.get(opcode)
    if reader is None:
        return None
    stream = ReadDataStream(BytesIO(body))
    try:
        record = reader.read(stream)
    except (struct.error, UnicodeDecodeError, EndOfFile, OverflowError, MemoryError) as error:
        raise DamagedRecordError(f"damaged {Opcode(opcode).name.lower()} record") from error
    if stream.count != len(body):
        raise DamagedRecordError(f"{Opcode(opcode).name.lower()} record with wrong lengths")
    return record


def message_prefix(
    channel_id: int, sequence: int, log_time_ns: int, publish_time_ns: int, cdr_bytes: int
) -> bytes:
    """Return all bytes of a message record that come before its serialised message."""
    return RECORD_PREFIX.pack(Opcode.MESSAGE, MESSAGE_PREFIX.size + cdr_bytes) + MESSAGE_PREFIX.pack(
        channel_id, sequence & 0xFFFFFFFF, log_time_ns, publish_time_ns
    )


def split_chunk(body: Buffer) -> ChunkParts:
    """Split the body of a chunk record into its parts; its data may be cut short.

    Raises:
        DamagedRecordError: The body is not a chunk.
    """
    view = memoryview(body)
    try:
        start_ns, end_ns, plain_size, crc, name_size = CHUNK_PREFIX.unpack_from(view)
        name_end = CHUNK_PREFIX.size + name_size
        compression = str(view[CHUNK_PREFIX.size : name_end], "ascii")
        (data_size,) = LENGTH.unpack_from(view, name_end)
    except (struct.error, UnicodeDecodeError) as error:
        raise DamagedRecordError("damaged chunk record") from error
    data = view[name_end + LENGTH.size :]
    if len(data) > data_size:
        raise DamagedRecordError("chunk record with wrong lengths")
    return ChunkParts(start_ns, end_ns, plain_size, crc, compression, data, data_size)
