"""Compression of chunks (zstd, lz4 or none), and of single messages by ``ros2 bag`` (zstd)."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final

import lz4.frame  # type: ignore[import-untyped]
import zstandard

from embodied_iqa.base.files import Buffer

ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
"""Start of compressed data; a serialised message begins with another word, 00 and 00 or 01."""
_MOST_MESSAGE_BYTES: Final = 1 << 30
DEFAULT_ZSTD_LEVEL = 1
"""A third of the time of the library's default (3) on camera images, for files 1-2 % larger."""


class Compression(StrEnum):
    """Compression of a chunk."""

    ZSTD = "zstd"
    LZ4 = "lz4"
    NONE = "none"

    @property
    def mcap_name(self) -> str:
        """Name in a chunk record: empty for none."""
        return "" if self is Compression.NONE else self.value


def compress(parts: Sequence[Buffer], compression: Compression, zstd_level: int) -> list[Buffer]:
    """Compress the concatenation of ``parts`` without joining them first.

    Args:
        parts: The plain bytes.
        compression: The format.
        zstd_level: Level of zstd, -50 (fast) to 22 (small).

    Returns:
        Parts whose concatenation is the compressed data.
    """
    size = sum(len(part) for part in parts)
    match compression:
        case Compression.NONE:
            return list(parts)
        case Compression.LZ4:
            frame = lz4.frame.LZ4FrameCompressor()
            return [frame.begin(size), *(frame.compress(part) for part in parts), frame.flush()]
        case Compression.ZSTD:
            stream = zstandard.ZstdCompressor(level=zstd_level).compressobj(size=size)
            return [*(stream.compress(part) for part in parts), stream.flush()]


def decompress(data: Buffer, mcap_name: str, size: int) -> Buffer:
    """Return the plain bytes of a whole chunk.

    Args:
        data: Compressed data.
        mcap_name: The compression's name in the chunk record.
        size: Plain size in bytes.

    Raises:
        ValueError: The data is damaged or the compression unknown.
    """
    plain: Buffer
    try:
        match mcap_name:
            case "":
                plain = data
            case "lz4":
                plain = lz4.frame.decompress(data)
            case "zstd":
                declared = zstandard.frame_content_size(data)
                if declared not in {-1, size}:
                    raise ValueError(f"plain data has {declared} bytes instead of {size}")
                plain = zstandard.ZstdDecompressor().decompress(data, max_output_size=size)
            case _:
                raise ValueError(f"unknown compression {mcap_name!r}")
    except (zstandard.ZstdError, RuntimeError, MemoryError) as error:
        raise ValueError(f"damaged {mcap_name} data: {error}") from error
    if len(plain) != size:
        raise ValueError(f"plain data has {len(plain)} bytes instead of {size}")
    return plain


def decompress_start(data: Buffer, mcap_name: str) -> Buffer:
    """Return what can be decompressed of a chunk whose end is missing; empty where nothing can."""
    try:
        match mcap_name:
            case "":
                return data
            case "lz4":
                return bytes(lz4.frame.LZ4FrameDecompressor().decompress(data))
            case "zstd":
                return zstandard.ZstdDecompressor().decompressobj().decompress(data)
            case _:
                return b""
    except (zstandard.ZstdError, RuntimeError, MemoryError):
        return b""


def is_compressed_file(path: Path) -> bool:
    """Return whether a file begins as zstd does: ``ros2 bag`` compressed it.

    Raises:
        OSError: It cannot be read.
    """
    with path.open("rb") as file:
        return file.read(len(ZSTD_MAGIC)) == ZSTD_MAGIC


def is_compressed_message(data: Buffer) -> bool:
    """Return whether ``ros2 bag`` compressed a message (``--compression-mode message``)."""
    return bytes(data[: len(ZSTD_MAGIC)]) == ZSTD_MAGIC


def plain_message(data: bytes) -> bytes:
    """Return a serialised message that ``ros2 bag`` may have compressed.

    Raises:
        ValueError: The compressed data is damaged, or claims more than 1 GiB.
    """
    if not is_compressed_message(data):
        return data
    try:
        size = zstandard.frame_content_size(data)
        if size > _MOST_MESSAGE_BYTES:
            raise ValueError(f"a compressed message claims {size} bytes")
        stream = zstandard.ZstdDecompressor()
        return stream.decompress(data, max_output_size=_MOST_MESSAGE_BYTES if size < 0 else 0)
    except (zstandard.ZstdError, MemoryError) as error:
        raise ValueError(f"damaged message, compressed by ros2 bag: {error}") from error
